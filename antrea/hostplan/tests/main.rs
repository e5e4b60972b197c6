//! What a Node is given, as text: rules compared with the record of upstream's, moves of addresses, the choice of the
//! transport interface.

#![expect(clippy::unwrap_used, reason = "a test ends where its fixture is wrong")]

mod host_rules;
mod services;
mod transport;
mod uplink;
