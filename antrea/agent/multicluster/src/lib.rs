//! Multi-cluster on a Node, as decisions: from Gateways and ClusterInfoImports to what the pipeline has to know of this Node
//! and of the other clusters, and to what is wrong with those objects. Pure: no client, no switch, no clock.
//!
//! [`LocalGateway`] and [`OtherCluster`] read the Kubernetes objects, [`plan`] makes of them what the switch has. All Nodes
//! come to the same result from the same objects. [`NodeProbes`] and [`PeerProbes`] are what a Gateway finds of the other
//! Nodes and of the Gateways of other clusters.

mod claims;
mod exported;
mod flow_source;
mod gateway;
mod other_cluster;
mod own_cluster;
mod own_gateways;
mod plan;
mod probe;
mod problem;
mod read;
mod rounds;

pub use claims::Claimant;
pub use flow_source::FlowSource;
pub use gateway::LocalGateway;
pub use other_cluster::OtherCluster;
pub use own_cluster::{OwnCluster, PodToPod};
pub use own_gateways::OwnGateways;
pub use plan::{ClusterSetPlan, Subject, plan};
pub use probe::{NodeProbes, PeerGateway, PeerProbes};
pub use problem::Problem;
pub use rounds::Rounds;
