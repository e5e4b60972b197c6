//! How Pods of this Node and of its peers reach one another: decisions of the agent as pure functions.
//!
//! [`plan`] turns what Kubernetes says of all Nodes into what each peer needs in the switch and in the kernel, and into
//! a list of what is wrong with whom. [`gateway_ips`] and [`mtu`] say what the Node itself is set up with.

mod claims;
mod gateway;
mod mode;
pub mod mtu;
mod node;
mod plan;
mod problem;
mod tunnel;

pub use gateway::{gateway_ip, gateway_ips};
pub use mode::TrafficMode;
pub use node::{Eligibility, MAX_TUNNEL_SOURCES, NodeFacts, NodeRecord, OwnNode};
pub use plan::{KnownNetworks, NodeRoutes, OwnSources, PeerPlan, plan};
pub use problem::Problem;
pub use tunnel::{NoUnderlay, TunnelProtocol};
