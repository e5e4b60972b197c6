//! Matches on what stands in a packet: Ethernet, VLAN, IP and above.

use antrea_types::{IpFamily, MacAddr, OfPort};
use ipnet::IpNet;

use crate::matching::VLAN_PRESENT;
use crate::transport::{ethertype, protocol};
use crate::{Field, Match, PortMask, TcpFlags, Transport};

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

    pub(crate) fn net(self, net: IpNet, v4: Field, v6: Field) -> Self {
        let family = IpFamily::of_net(&net);
        self.ip(family).net_bits(net, v4, v6)
    }

    pub(crate) fn net_bits(self, net: IpNet, v4: Field, v6: Field) -> Self {
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

/// A MAC address as the value of a field.
pub(crate) fn mac_bits(address: MacAddr) -> u128 {
    address.octets().iter().fold(0, |bits, octet| bits << 8 | u128::from(*octet))
}
