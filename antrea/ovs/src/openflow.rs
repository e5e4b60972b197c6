//! OpenFlow 1.5 with the switch of one bridge, over the bridge's management socket.
//!
//! [`Connection`] connects again whenever the connection is lost; each connection is a [`Channel`] over which requests
//! are made, several at a time. What the switch sends unasked comes out of bounded queues.

mod bundle;
mod channel;
mod connection;
mod error;
mod groups;
mod operations;
mod pending;
mod requests;
mod session;

pub use bundle::BUNDLE_LIMIT;
pub use channel::Channel;
pub use connection::{Connection, Unasked};
pub use error::OpenFlowError;
pub use groups::GroupSize;
pub use operations::{Operation, OperationCounts};
