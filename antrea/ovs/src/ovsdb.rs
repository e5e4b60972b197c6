//! The configuration database of Open vSwitch: a copy that is always current, and transactions that change it.
//!
//! [`OvsDb`] is a handle; a task of its own does the IO, follows the database with a monitor and connects again when
//! the server was away. Operations compare what is wanted with that copy, change what differs in one transaction,
//! and wait for ovs-vswitchd where its part matters. They can be repeated at will.

#[cfg(any(test, feature = "testing"))]
mod any_bytes;
mod client;
mod column;
mod connection;
#[cfg(test)]
mod damage;
mod error;
mod frame;
mod monitor;
mod operations;
pub mod rows;
mod rpc;
mod snapshot;
mod spec;
mod transaction;
mod uuid;

#[cfg(any(test, feature = "testing"))]
pub use any_bytes::follow_stream;
pub use client::OvsDb;
pub use connection::Link;
pub use error::OvsDbError;
pub use snapshot::{BridgePort, Snapshot};
pub use spec::{BridgeSpec, DatapathType, FailMode, InterfaceType, LocalPort, PortSpec, Protocol};
pub use transaction::{RefusedBecause, Target, Transaction, TransactionError, map, named, set};
pub use uuid::{InvalidUuid, Uuid};
