//! What a flow matches: fields with values and masks, in one canonical form.
//!
//! Two matches that OVS takes for the same are equal here: registers are always the 32-bit ones, a VLAN is always its
//! TCI, DSCP its six bits, bits beyond the mask are zero, and the order is that of [`Field`].

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use antrea_types::{IpFamily, MacAddr, OfPort};
use ipnet::IpNet;

use crate::field::low_bits;
use crate::{CtState, Field, SubField, TcpFlags};

/// Ethertypes that matches name (IEEE 802 numbers).
pub mod ethertype {
    /// IPv4.
    pub const IPV4: u16 = 0x0800;
    /// ARP.
    pub const ARP: u16 = 0x0806;
    /// IPv6.
    pub const IPV6: u16 = 0x86dd;
    /// An 802.1Q tag.
    pub const VLAN: u16 = 0x8100;
}

/// IP protocols that matches name (IANA protocol numbers).
pub mod protocol {
    /// ICMP.
    pub const ICMP: u8 = 1;
    /// IGMP.
    pub const IGMP: u8 = 2;
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
    /// ICMPv6.
    pub const ICMPV6: u8 = 58;
    /// SCTP.
    pub const SCTP: u8 = 132;
}

/// The bit of a VLAN TCI that OVS sets where there is a tag (`OFPVID_PRESENT`).
const VLAN_PRESENT: u128 = 0x1000;

/// A protocol with ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// SCTP.
    Sctp,
}

impl Transport {
    /// The IP protocol number.
    pub const fn protocol(self) -> u8 {
        match self {
            Self::Tcp => protocol::TCP,
            Self::Udp => protocol::UDP,
            Self::Sctp => protocol::SCTP,
        }
    }

    /// The field of source ports.
    pub const fn source(self) -> Field {
        match self {
            Self::Tcp => Field::TcpSrc,
            Self::Udp => Field::UdpSrc,
            Self::Sctp => Field::SctpSrc,
        }
    }

    /// The field of destination ports.
    pub const fn destination(self) -> Field {
        match self {
            Self::Tcp => Field::TcpDst,
            Self::Udp => Field::UdpDst,
            Self::Sctp => Field::SctpDst,
        }
    }
}

/// One field of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MatchField {
    /// The field.
    pub field: Field,
    /// The bits to be found, zero where the mask is.
    pub value: u128,
    /// The bits that matter.
    pub mask: u128,
}

/// The packets that a flow is for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Match {
    /// Ordered by field, each field once.
    pub(crate) fields: Vec<MatchField>,
    /// OXM entries of fields that [`Field`] does not have, as read from a switch.
    pub(crate) foreign: Vec<Vec<u8>>,
}

impl Match {
    /// All packets.
    pub const fn new() -> Self {
        Self { fields: Vec::new(), foreign: Vec::new() }
    }

    /// The fields that matter, in order.
    pub fn fields(&self) -> &[MatchField] {
        &self.fields
    }

    /// What is demanded of `field`. Wider registers are kept as the 32-bit ones.
    pub fn get(&self, field: Field) -> Option<&MatchField> {
        self.fields
            .binary_search_by_key(&field, |entry| entry.field)
            .ok()
            .and_then(|index| self.fields.get(index))
    }

    /// Whether every packet matches.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.foreign.is_empty()
    }

    /// Demands that the bits of `mask` in `field` are those of `value`, beside what was demanded of its other bits.
    #[must_use]
    pub fn masked(mut self, field: Field, value: u128, mask: u128) -> Self {
        self.demand(field, value, mask);
        self
    }

    /// Demands that `field` is `value`.
    #[must_use]
    pub fn exact(self, field: Field, value: impl Into<u128>) -> Self {
        self.masked(field, value.into(), field.full_mask())
    }

    /// Demands that a range of bits holds `value`.
    #[must_use]
    pub fn bits(self, range: SubField, value: impl Into<u128>) -> Self {
        self.masked(range.field(), range.place(value.into()), range.mask())
    }

    pub(crate) fn demand(&mut self, field: Field, value: u128, mask: u128) {
        let registers = field.registers();
        if registers.is_empty() {
            return self.merge(canonical(field, value, mask));
        }
        for (index, register) in registers.iter().rev().enumerate() {
            let part = |whole: u128| whole >> (32 * index) & low_bits(32);
            self.merge(MatchField { field: *register, value: part(value), mask: part(mask) });
        }
    }

    fn merge(&mut self, entry: MatchField) {
        let MatchField { field, mask, .. } = entry;
        let value = entry.value & mask;
        if mask == 0 {
            return;
        }
        match self.fields.binary_search_by_key(&field, |old| old.field) {
            Err(index) => self.fields.insert(index, MatchField { field, value, mask }),
            Ok(index) => {
                if let Some(old) = self.fields.get_mut(index) {
                    old.value = old.value & !mask | value;
                    old.mask |= mask;
                }
            }
        }
    }
}

/// VLAN fields become parts of the TCI.
fn canonical(field: Field, value: u128, mask: u128) -> MatchField {
    match field {
        Field::VlanVid => MatchField { field: Field::VlanTci, value, mask },
        Field::VlanPcp => MatchField {
            field: Field::VlanTci,
            value: value << 13 | VLAN_PRESENT,
            mask: mask << 13 | VLAN_PRESENT,
        },
        _ => MatchField { field, value, mask: mask & field.full_mask() },
    }
}

/// Fields that are always matched as a whole, and what they presuppose.
impl Match {
    /// From this port.
    #[must_use]
    pub fn in_port(self, port: OfPort) -> Self {
        self.exact(Field::InPort, port.0)
    }

    /// From this Ethernet address.
    #[must_use]
    pub fn eth_src(self, address: MacAddr) -> Self {
        self.exact(Field::EthSrc, mac_bits(address))
    }

    /// To this Ethernet address.
    #[must_use]
    pub fn eth_dst(self, address: MacAddr) -> Self {
        self.exact(Field::EthDst, mac_bits(address))
    }

    /// Of this ethertype.
    #[must_use]
    pub fn eth_type(self, ethertype: u16) -> Self {
        self.exact(Field::EthType, ethertype)
    }

    /// IPv4 or IPv6.
    #[must_use]
    pub fn ip(self, family: IpFamily) -> Self {
        self.eth_type(match family {
            IpFamily::V4 => ethertype::IPV4,
            IpFamily::V6 => ethertype::IPV6,
        })
    }

    /// ARP.
    #[must_use]
    pub fn arp(self) -> Self {
        self.eth_type(ethertype::ARP)
    }

    /// Tagged with this VLAN, of 12 bits.
    #[must_use]
    pub fn vlan(self, vlan: u16) -> Self {
        self.masked(Field::VlanTci, u128::from(vlan) | VLAN_PRESENT, 0x1fff)
    }

    /// Tagged with any VLAN.
    #[must_use]
    pub fn any_vlan(self) -> Self {
        self.masked(Field::VlanTci, VLAN_PRESENT, VLAN_PRESENT)
    }

    /// Not tagged.
    #[must_use]
    pub fn no_vlan(self) -> Self {
        self.masked(Field::VlanTci, 0, VLAN_PRESENT)
    }

    /// IP of this protocol.
    #[must_use]
    pub fn ip_proto(self, family: IpFamily, protocol: u8) -> Self {
        self.ip(family).exact(Field::IpProto, protocol)
    }

    /// TCP, UDP or SCTP.
    #[must_use]
    pub fn transport(self, family: IpFamily, transport: Transport) -> Self {
        self.ip_proto(family, transport.protocol())
    }

    /// IP from an address or network; its family is matched, too.
    #[must_use]
    pub fn ip_src(self, net: impl Into<IpNet>) -> Self {
        self.net(net.into(), Field::Ipv4Src, Field::Ipv6Src)
    }

    /// IP to an address or network; its family is matched, too.
    #[must_use]
    pub fn ip_dst(self, net: impl Into<IpNet>) -> Self {
        self.net(net.into(), Field::Ipv4Dst, Field::Ipv6Dst)
    }

    fn net(self, net: IpNet, v4: Field, v6: Field) -> Self {
        let family = IpFamily::of_net(&net);
        self.ip(family).net_bits(net, v4, v6)
    }

    fn net_bits(self, net: IpNet, v4: Field, v6: Field) -> Self {
        match net {
            IpNet::V4(net) => self.masked(v4, net.network().to_bits().into(), net.netmask().to_bits().into()),
            IpNet::V6(net) => self.masked(v6, net.network().to_bits(), net.netmask().to_bits()),
        }
    }

    /// The differentiated services codepoint, of 6 bits. Wants [`Match::ip`].
    #[must_use]
    pub fn ip_dscp(self, dscp: u8) -> Self {
        self.exact(Field::IpDscp, dscp)
    }

    /// From a port. Wants [`Match::transport`].
    #[must_use]
    pub fn port_src(self, transport: Transport, port: PortMask) -> Self {
        self.masked(transport.source(), port.value.into(), port.mask.into())
    }

    /// To a port. Wants [`Match::transport`].
    #[must_use]
    pub fn port_dst(self, transport: Transport, port: PortMask) -> Self {
        self.masked(transport.destination(), port.value.into(), port.mask.into())
    }

    /// Flags of a segment. Wants [`Match::transport`] with TCP.
    #[must_use]
    pub fn tcp_flags(self, flags: TcpFlags) -> Self {
        self.masked(Field::TcpFlags, flags.value().into(), flags.mask().into())
    }

    /// ICMP of this type, and of this code if given; ICMPv6 for IPv6. Matches family and protocol, too.
    #[must_use]
    pub fn icmp(self, family: IpFamily, kind: u8, code: Option<u8>) -> Self {
        let (protocol, kind_field, code_field) = match family {
            IpFamily::V4 => (protocol::ICMP, Field::IcmpType, Field::IcmpCode),
            IpFamily::V6 => (protocol::ICMPV6, Field::Icmpv6Type, Field::Icmpv6Code),
        };
        let matching = self.ip_proto(family, protocol).exact(kind_field, kind);
        match code {
            Some(code) => matching.exact(code_field, code),
            None => matching,
        }
    }
}

/// ARP, tunnels, marks and connections.
impl Match {
    /// ARP of this operation (1 request, 2 reply).
    #[must_use]
    pub fn arp_op(self, operation: u16) -> Self {
        self.arp().exact(Field::ArpOp, operation)
    }

    /// ARP with this sender protocol address.
    #[must_use]
    pub fn arp_spa(self, address: Ipv4Addr) -> Self {
        self.arp().exact(Field::ArpSpa, address.to_bits())
    }

    /// ARP with this target protocol address.
    #[must_use]
    pub fn arp_tpa(self, address: Ipv4Addr) -> Self {
        self.arp().exact(Field::ArpTpa, address.to_bits())
    }

    /// ARP with this sender hardware address.
    #[must_use]
    pub fn arp_sha(self, address: MacAddr) -> Self {
        self.arp().exact(Field::ArpSha, mac_bits(address))
    }

    /// ICMPv6 neighbour discovery for this target. Wants [`Match::icmp`].
    #[must_use]
    pub fn nd_target(self, address: Ipv6Addr) -> Self {
        self.exact(Field::NdTarget, address.to_bits())
    }

    /// The key of the tunnel that the packet came from.
    #[must_use]
    pub fn tun_id(self, key: u64) -> Self {
        self.exact(Field::TunId, key)
    }

    /// The outer destination of the tunnel that the packet came from.
    #[must_use]
    pub fn tun_dst(self, address: IpAddr) -> Self {
        self.net_bits(address.into(), Field::TunDst, Field::TunIpv6Dst)
    }

    /// The outer source of the tunnel that the packet came from.
    #[must_use]
    pub fn tun_src(self, address: IpAddr) -> Self {
        self.net_bits(address.into(), Field::TunSrc, Field::TunIpv6Src)
    }

    /// The mark that the packet shares with the kernel (`SO_MARK`).
    #[must_use]
    pub fn pkt_mark(self, value: u32, mask: u32) -> Self {
        self.masked(Field::PktMark, value.into(), mask.into())
    }

    /// Packets that all clauses of this conjunction matched.
    #[must_use]
    pub fn conj_id(self, id: u32) -> Self {
        self.exact(Field::ConjId, id)
    }

    /// The state of the connection.
    #[must_use]
    pub fn ct_state(self, state: CtState) -> Self {
        self.masked(Field::CtState, state.value().into(), state.mask().into())
    }

    /// The mark of the connection.
    #[must_use]
    pub fn ct_mark(self, value: u32, mask: u32) -> Self {
        self.masked(Field::CtMark, value.into(), mask.into())
    }

    /// The label of the connection.
    #[must_use]
    pub fn ct_label(self, value: u128, mask: u128) -> Self {
        self.masked(Field::CtLabel, value, mask)
    }

    /// The zone that the connection was tracked in.
    #[must_use]
    pub fn ct_zone(self, zone: u16) -> Self {
        self.exact(Field::CtZone, zone)
    }

    /// The original source of the connection; its family is matched, too.
    /// OVS wants a positive [`Match::ct_state`] besides `trk` with it.
    #[must_use]
    pub fn ct_ip_src(self, net: impl Into<IpNet>) -> Self {
        self.net(net.into(), Field::CtNwSrc, Field::CtIpv6Src)
    }

    /// The original destination of the connection, as [`Match::ct_ip_src`].
    #[must_use]
    pub fn ct_ip_dst(self, net: impl Into<IpNet>) -> Self {
        self.net(net.into(), Field::CtNwDst, Field::CtIpv6Dst)
    }

    /// Demands that register `register` is `value`; registers are numbered from 0 to 15.
    #[must_use]
    pub fn reg(self, register: Field, value: u32) -> Self {
        self.exact(register, value)
    }
}

/// Ports that agree in the bits of a mask; a range of ports is a few of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PortMask {
    /// The bits to be found.
    pub value: u16,
    /// The bits that matter.
    pub mask: u16,
}

impl From<u16> for PortMask {
    fn from(port: u16) -> Self {
        Self { value: port, mask: u16::MAX }
    }
}

/// A MAC address as the value of a field.
pub(crate) fn mac_bits(address: MacAddr) -> u128 {
    address.octets().iter().fold(0, |bits, octet| bits << 8 | u128::from(*octet))
}
