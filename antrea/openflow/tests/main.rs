//! Bytes and text against `ovs-ofctl` and against what upstream's agent really installs.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends at the first surprise")]

mod any_bytes;
mod cases;
mod corpus;
mod ct_flush;
mod messages;
mod ofctl;
mod record;
mod roundtrip;
mod switch_messages;
