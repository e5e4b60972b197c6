//! Multi-cluster: what users of a ClusterSet see, and what becomes of it when something goes wrong.

mod areas;
mod asking;
mod charts;
mod claims;
mod credentials;
mod external_entities;
mod failover;
mod faults;
mod gateways;
mod hostile;
mod identity;
mod labels;
mod membership;
mod overlap;
mod permissions;
mod pods;
mod policies;
mod reach;
mod refusals;
mod replicas;
mod restarts;
mod skew;
mod stage;
mod standard;
mod takeover;
mod walk;
