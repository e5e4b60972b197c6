//! Multi-cluster: what users of a ClusterSet see, and what becomes of it when something goes wrong.

mod areas;
mod asking;
mod charts;
mod claims;
mod conflicts;
mod credentials;
mod dns;
mod external_entities;
mod failover;
mod gateways;
mod headless;
mod labels;
mod membership;
mod pods;
mod policies;
mod refusals;
mod replicas;
mod restarts;
mod stage;
mod walk;
