//! What a watch says, and what of it cannot be taken.

use std::fmt;

use antrea_shared_api::controlplane::v1beta2::{AddressGroup, AppliedToGroup, NetworkPolicy};
use antrea_shared_api::watch::{Event, EventType};

/// The watches of policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Watch {
    /// NetworkPolicies that are applied to something on this Node.
    NetworkPolicies,
    /// AddressGroups that they refer to.
    AddressGroups,
    /// AppliedToGroups with members on this Node.
    AppliedToGroups,
}

impl Watch {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::NetworkPolicies, Self::AddressGroups, Self::AppliedToGroups];
}

impl fmt::Display for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NetworkPolicies => "NetworkPolicies",
            Self::AddressGroups => "AddressGroups",
            Self::AppliedToGroups => "AppliedToGroups",
        })
    }
}

/// An event of one of the watches.
#[derive(Clone, Debug, PartialEq)]
pub enum PolicyEvent {
    /// Of NetworkPolicies.
    NetworkPolicy(Event<NetworkPolicy>),
    /// Of AddressGroups.
    AddressGroup(Event<AddressGroup>),
    /// Of AppliedToGroups.
    AppliedToGroup(Event<AppliedToGroup>),
}

impl PolicyEvent {
    /// The watch that it came by.
    pub const fn watch(&self) -> Watch {
        match self {
            Self::NetworkPolicy(_) => Watch::NetworkPolicies,
            Self::AddressGroup(_) => Watch::AddressGroups,
            Self::AppliedToGroup(_) => Watch::AppliedToGroups,
        }
    }
}

/// Why an event was not taken. What is known stays as it was; the watch has to be started anew.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The controller ended the watch.
    #[error("the watch of {watch} failed: {message}")]
    Failed {
        /// Which one.
        watch: Watch,
        /// What the controller said.
        message: String,
    },
    /// A change of something, before everything that is there was sent.
    #[error("the watch of {watch} sent {event} before its bookmark")]
    TooEarly {
        /// Which one.
        watch: Watch,
        /// The event.
        event: EventType,
    },
    /// A patch of a group that was never sent.
    #[error("the watch of {watch} sent a patch of {group}, which it had not sent before")]
    UnknownGroup {
        /// Which one.
        watch: Watch,
        /// The name of the group.
        group: String,
    },
    /// Other watches do not come as far as this one.
    #[error("the watch of {watch} is too far ahead of the others")]
    TooFarAhead {
        /// Which one.
        watch: Watch,
    },
}
