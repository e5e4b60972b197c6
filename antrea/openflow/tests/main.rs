//! Bytes and text against `ovs-ofctl` and against what upstream's agent really installs.

mod cases;
mod corpus;
mod messages;
mod ofctl;
mod record;
mod roundtrip;
