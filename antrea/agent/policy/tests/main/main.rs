//! The rule cache and the reconciler: what the controller sends as text, what becomes of the rules as text.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod counts;
mod files;
mod node;
mod numbers;
mod plans;
mod random;
mod reading;
mod recorded;
mod rounds;
mod rules;
mod script;
mod statistics;
mod statuses;
#[path = "../../../../pipeline/tests/verdicts.rs"]
mod verdicts;
