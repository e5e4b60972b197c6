//! The layout of flow cookies: which run of the agent, which feature and which object a flow belongs to.
//!
//! ```text
//! 63        48 47      40 39      32 31                 0
//! |   round   | category | reserved |    object id      |
//! ```
//! The round is left 0 here. Whoever installs the flows stamps it, so that one round's flows can be told from the
//! last one's, and the same flows come out of the same input whatever the round.

use antrea_openflow::Cookie;

/// The feature that builds a flow, whatever the table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    /// The Root flows and the flows for packets that match nothing else.
    Default = 0,
    /// Pods, Nodes and the tunnel.
    PodConnectivity = 1,
    /// Network policies.
    NetworkPolicy = 2,
    /// Services.
    Service = 3,
    /// Egress.
    Egress = 4,
    /// Multicast.
    Multicast = 5,
    /// Multi-cluster.
    Multicluster = 6,
    /// Traceflow.
    Traceflow = 7,
    /// ExternalNodes.
    ExternalNodeConnectivity = 8,
}

impl Category {
    const SHIFT: u32 = 40;

    /// The cookie of a flow that belongs to the feature as a whole.
    pub fn cookie(self) -> Cookie {
        self.cookie_of(0)
    }

    /// The cookie of a flow that belongs to one object of the feature (a Service's group, say).
    pub fn cookie_of(self, object_id: u32) -> Cookie {
        Cookie((self as u64) << Self::SHIFT | u64::from(object_id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn category_and_object_stand_where_upstream_has_them() {
        assert_eq!(Category::PodConnectivity.cookie().0, 0x0000_0100_0000_0000);
        // Round 2, Service, group 10 is recorded as 0x203000000000a.
        assert_eq!(2 << 48 | Category::Service.cookie_of(10).0, 0x0002_0300_0000_000a);
    }
}
