//! The aggregated API: what watchers are told, in words and in bytes, and what clients are answered over TLS.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod http;
mod objects;
mod recorded;
mod store;
mod work;
