//! Tests of the index from outside: objects in, updates out.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod arrivals;
mod bad_input;
mod conversion;
mod membership;
mod mirror;
mod property;
mod query;
mod recorded;
mod reset;
mod spans;
mod verdicts;
mod work;
mod world;
