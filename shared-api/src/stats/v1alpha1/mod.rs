//! `stats.antrea.io/v1alpha1`.

mod multicast_group;
mod policy_stats;
mod traffic;

pub use multicast_group::{MulticastGroup, PodReference};
pub use policy_stats::{AntreaClusterNetworkPolicyStats, AntreaNetworkPolicyStats, NetworkPolicyStats};
pub use traffic::{RuleTrafficStats, TrafficStats};

/// Group and version.
pub const API_VERSION: &str = "stats.antrea.io/v1alpha1";
