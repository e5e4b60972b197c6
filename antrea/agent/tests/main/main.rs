//! The agent as a program.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::disallowed_methods, reason = "these tests have no runtime")]

mod api;
mod bad_configuration;
mod lost_database;
mod multicluster;
mod node;
mod node_ports;
mod refused_service;
mod service_health;
mod takeover;
