//! The flows of whole Nodes: as text, beside those of upstream, and under packets in a real Open vSwitch.

#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod bridge;
mod cluster;
mod recorded_services;
mod replay;
mod served;
mod service_snapshots;
mod snapshots;
mod spoofing;
mod trace;
mod upstream;
mod upstream_services;
