//! antrea-controller as it is run, against an API server that keeps objects in memory.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod agents;
mod api;
mod api_server;
mod client;
mod clients;
mod expired;
mod flags;
mod mixed_fleet;
mod objects;
mod process;
