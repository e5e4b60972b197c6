//! The CNI server on a real Node: Open vSwitch, network namespaces and IPAM files; only the flows are recorded by a fake.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod add;
mod check;
mod cnitool;
mod damage;
mod del;
mod flows;
mod gc;
mod latency;
mod node;
mod plug_in;
mod plugin;
mod pod;
mod port_numbers;
mod restart;
mod status;
