//! Matches on ARP, and on what comes with a packet: tunnel, marks, registers, connection.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use antrea_types::MacAddr;
use ipnet::IpNet;

use crate::match_packet::mac_bits;
use crate::{CtState, Field, Match};

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
