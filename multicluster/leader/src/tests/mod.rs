//! Common Areas as YAML in, what the leader does as text out.

mod cluster_sets;
mod dropped;
mod gateways;
mod imports;
mod laws;
mod members;
mod names;
mod others;
mod takeover;
mod turns;
mod world;
