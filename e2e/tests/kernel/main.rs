//! Scenarios on the kernel's datapath of Open vSwitch: two Nodes in one guest (`cargo xtask guest`), as namespaces, with
//! our agent and CNI plugin, and object files in the place of an API server.
//!
//! What they make goes with the guest. They run where `cargo xtask test` starts them: elsewhere each says so.

mod cluster;
mod connectivity;
mod deletion;
mod forged_tunnels;
mod keep_alive;
mod knock;
mod kube_proxy;
mod listeners;
mod namespace;
mod node;
mod outside;
mod ping;
mod pod;
mod policies;
mod policy_files;
mod restarts;
mod services;
mod talk;
mod tcp;
mod tunnels;
