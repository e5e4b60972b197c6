//! Common Areas as YAML in, what the leader does as text out.

mod ages;
mod approval;
mod cluster_sets;
mod commands;
mod dropped;
mod former;
mod gateways;
mod imports;
mod laws;
mod limits;
mod members;
mod names;
mod networks;
mod others;
mod pods;
mod takeover;
mod turns;
mod world;
