//! What can go wrong with the database.

use std::path::PathBuf;
use std::time::Duration;

use super::transaction::TransactionError;

/// An operation on the database that did not come about.
#[derive(Debug, thiserror::Error)]
pub enum OvsDbError {
    /// The server is away.
    #[error("no answer from the OVSDB server at {} within {waited:?}: is ovsdb-server running?", path.display())]
    NoAnswer {
        /// The server's socket.
        path: PathBuf,
        /// How long we waited.
        waited: Duration,
    },
    /// The server went away after it was asked: what was asked for may have happened or not.
    #[error("the connection to the OVSDB server was lost before it answered")]
    ConnectionLost,
    /// The server refused, and nothing happened.
    #[error("the database was not changed")]
    Refused(#[from] TransactionError),
    /// The database has no row in table Open_vSwitch.
    #[error("the database is not initialised: `ovs-vsctl init` does that")]
    NotInitialised,
    /// There is no such bridge.
    #[error("there is no bridge {0}")]
    NoSuchBridge(String),
    /// There is no such port.
    #[error("there is no port {0}")]
    NoSuchPort(String),
    /// A port of that name is on another bridge; names are unique among all bridges.
    #[error("port {port} is on bridge {bridge} already")]
    PortElsewhere {
        /// The port.
        port: String,
        /// The bridge that it is on.
        bridge: String,
    },
    /// ovs-vswitchd could not create the interface; the port was removed again.
    #[error("ovs-vswitchd cannot use interface {interface}: {reason}")]
    Interface {
        /// The interface.
        interface: String,
        /// What ovs-vswitchd says.
        reason: String,
    },
    /// ovs-vswitchd has not acted on the change.
    #[error("ovs-vswitchd has not taken up {what} within {waited:?}: is it running?")]
    NotTakenUp {
        /// The change.
        what: String,
        /// How long we waited.
        waited: Duration,
    },
}
