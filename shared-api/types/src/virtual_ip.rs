//! Addresses that no interface has: the host sends Service traffic to them, through the gateway, and the pipeline
//! answers from them. They are the same on every Node.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::IpFamily;

/// An address for each IP family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VirtualIp {
    v4: Ipv4Addr,
    v6: Ipv6Addr,
}

impl VirtualIp {
    /// The address of a family.
    pub const fn of(self, family: IpFamily) -> IpAddr {
        match family {
            IpFamily::V4 => IpAddr::V4(self.v4),
            IpFamily::V6 => IpAddr::V6(self.v6),
        }
    }
}

/// The next hop of the host's routes to Services, and the source of connections that the host, or somebody behind it,
/// has to itself through a Service.
pub const SERVICE: VirtualIp = VirtualIp {
    v4: Ipv4Addr::new(169, 254, 0, 253),
    v6: Ipv6Addr::new(0xfc01, 0, 0, 0, 0, 0xaabb, 0xccdd, 0xeeff),
};

/// What the host makes the destination of packets to a NodePort, whichever of its addresses they came to.
pub const NODE_PORT: VirtualIp = VirtualIp {
    v4: Ipv4Addr::new(169, 254, 0, 252),
    v6: Ipv6Addr::new(0xfc01, 0, 0, 0, 0, 0xaabb, 0xccdd, 0xeefe),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_are_those_of_upstream() {
        let text = |address: VirtualIp| IpFamily::ALL.map(|family| address.of(family).to_string());
        assert_eq!(text(SERVICE), ["169.254.0.253", "fc01::aabb:ccdd:eeff"]);
        assert_eq!(text(NODE_PORT), ["169.254.0.252", "fc01::aabb:ccdd:eefe"]);
    }
}
