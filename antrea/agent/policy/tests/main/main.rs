//! The rule cache: what the controller sends as text, what becomes of the rules as text.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod files;
mod random;
mod recorded;
mod rules;
mod script;
