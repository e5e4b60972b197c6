//! Multi-cluster: what users of a ClusterSet see, and what becomes of it when something goes wrong.

mod asking;
mod charts;
mod conflicts;
mod credentials;
mod dns;
mod gateways;
mod membership;
mod policies;
mod refusals;
mod restarts;
mod stage;
mod walk;
