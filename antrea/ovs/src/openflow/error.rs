//! What can go wrong between us and a switch.

use std::path::PathBuf;

use antrea_openflow::message::ErrorCode;
use antrea_openflow::{DecodeError, TooLong};

/// Why a message did not do what it should.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Complaint {
    /// The switch refused it.
    #[error("{0}")]
    Switch(ErrorCode),
    /// The reply breaks the format.
    #[error("its reply cannot be read")]
    Unreadable(#[source] DecodeError),
}

/// A request that did not come about.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenFlowError {
    /// There is no connection.
    #[error("not connected to the switch at {}: is ovs-vswitchd running, and does the bridge speak OpenFlow 1.5?", path.display())]
    NotConnected {
        /// The switch's socket.
        path: PathBuf,
    },
    /// The connection was lost before the answer came: what was asked for may have happened or not.
    #[error("the connection to the switch was lost before it answered")]
    ConnectionLost,
    /// A message did not do what it should. Of a bundle nothing happened.
    #[error("the switch did not take {what}")]
    Refused {
        /// Its position among the members of a bundle; 0 for other requests.
        position: Option<usize>,
        /// The message.
        what: String,
        /// What the switch says.
        source: Complaint,
    },
    /// A message is longer than OpenFlow allows; nothing was sent.
    #[error("{what} does not fit into a message")]
    TooLong {
        /// Its position among the members of a bundle; 0 for other requests.
        position: Option<usize>,
        /// The message.
        what: String,
        /// By how much.
        source: TooLong,
    },
    /// A bundle has too many messages; nothing was sent.
    #[error("a bundle has {members} messages, where {} are allowed", super::BUNDLE_LIMIT)]
    BundleTooLarge {
        /// How many it has.
        members: usize,
    },
}

impl OpenFlowError {
    /// The position of the member of a bundle that did not do what it should, or cannot be sent.
    pub const fn position(&self) -> Option<usize> {
        match self {
            Self::Refused { position, .. } | Self::TooLong { position, .. } => *position,
            _ => None,
        }
    }

    /// The same with the position among the members of a bundle, which is `map` of that among its messages.
    pub(super) fn at(mut self, map: impl Fn(usize) -> Option<usize>) -> Self {
        if let Self::Refused { position, .. } | Self::TooLong { position, .. } = &mut self {
            *position = position.and_then(map);
        }
        self
    }
}
