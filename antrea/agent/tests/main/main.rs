//! The agent as a program.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bad_configuration;
mod node;
mod takeover;
