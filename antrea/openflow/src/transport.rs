//! Numbers of protocols, and the protocols with ports.

use crate::Field;

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
    /// Generic Routing Encapsulation.
    pub const GRE: u8 = 47;
    /// ICMPv6.
    pub const ICMPV6: u8 = 58;
    /// SCTP.
    pub const SCTP: u8 = 132;
}

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
