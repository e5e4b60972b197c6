//! What Nodes of a cluster plan from the objects of a ClusterSet.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends at the first surprise")]

mod gateways;
mod member;
mod networks;
