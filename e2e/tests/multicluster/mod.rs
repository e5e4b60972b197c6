//! Multi-cluster: what users of a ClusterSet see, and what becomes of it when something goes wrong.

mod asking;
mod charts;
mod conflicts;
mod credentials;
mod dns;
mod failover;
mod failover_requests;
mod gateways;
mod membership;
mod policies;
mod refusals;
mod replicas;
mod restarts;
mod stage;
mod walk;
