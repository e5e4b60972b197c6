//! Addresses that no interface has and that are the same on every Node, by which the host and the bridge hand Service
//! traffic to each other.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::IpFamily;

/// The next hop of the host to Services, and the source of packets that the bridge sends to the host in their name.
pub const fn service(family: IpFamily) -> IpAddr {
    match family {
        IpFamily::V4 => IpAddr::V4(Ipv4Addr::new(169, 254, 0, 253)),
        IpFamily::V6 => IpAddr::V6(Ipv6Addr::new(0xfc01, 0, 0, 0, 0, 0xaabb, 0xccdd, 0xeeff)),
    }
}

/// What the host makes of the destination of packets to NodePorts, so that the bridge gets them.
pub const fn node_port(family: IpFamily) -> IpAddr {
    match family {
        IpFamily::V4 => IpAddr::V4(Ipv4Addr::new(169, 254, 0, 252)),
        IpFamily::V6 => IpAddr::V6(Ipv6Addr::new(0xfc01, 0, 0, 0, 0, 0xaabb, 0xccdd, 0xeefe)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_addresses_are_those_of_upstream() {
        let texts = IpFamily::ALL.map(|family| format!("{} {}", service(family), node_port(family)));
        assert_eq!(texts, ["169.254.0.253 169.254.0.252", "fc01::aabb:ccdd:eeff fc01::aabb:ccdd:eefe"]);
    }
}
