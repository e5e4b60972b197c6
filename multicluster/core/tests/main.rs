//! Multi-cluster's decisions: objects as they lie in clusters in, what the leader and the members make of them out.

#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod addresses;
mod answers;
mod area;
mod bindings;
mod bounds;
mod claims;
mod damaged;
mod endpoints;
mod labels;
mod laws;
mod limits;
mod membership;
mod names;
mod pods;
mod properties;
mod service_exports;
mod services;
mod upstream;
mod wholes;
