//! The chart of Multi-cluster, as helm renders it: what is installed, with which rights, and what is refused.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod config;
mod helm;
mod objects;
mod refusals;
mod rights;
mod webhooks;
