//! What this crate does to a kernel, in network namespaces that end with their test. Needs root.

#![expect(clippy::unwrap_used, reason = "a test ends where its fixture is wrong")]

mod address_watch;
mod announce;
mod firewall;
mod forged_tunnels;
mod ingress_drop;
mod link_watch;
mod links;
mod marked_source;
mod pod_interface;
mod routes;
mod sandbox;
mod services;
mod sysctl;
mod transport;
mod uplink;
mod userspace_datapath;
