//! The flows of whole Nodes: as text, beside those of upstream, and under packets in a real Open vSwitch.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends at the first surprise")]

mod affinity;
mod affinity_ends;
mod bridge;
mod cluster;
mod clusters;
mod counted_packets;
mod far_ends;
mod foreign_macs;
mod forged_tunnels;
mod forgetting;
mod former_pods;
mod gateway_admission;
mod gateway_passages;
mod gateway_ports;
mod gateway_probes;
mod gateway_snapshots;
mod neighbours;
mod packets;
mod passage;
mod pod_namespace;
mod policed;
mod policies;
mod policy_changes;
mod policy_passages;
mod policy_snapshots;
mod policy_traces;
mod recorded_services;
mod refusal;
mod repeated_packets;
mod replay;
mod served;
mod service_passages;
mod service_snapshots;
mod snapshots;
mod source_ranges;
mod spoofing;
mod trace;
mod upstream;
mod upstream_passages;
mod upstream_policies;
mod upstream_services;
mod userspace;
mod verdicts;
