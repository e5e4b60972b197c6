//! What becomes of an object, in its type.

use antrea_shared_api::validation::Validate;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::denied::Denied;
use crate::review::{Operation, Request};

/// What becomes of an object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change<T> {
    /// It is new.
    Create(T),
    /// It becomes another.
    Update {
        /// What it was.
        old: T,
        /// What it becomes.
        new: T,
    },
    /// It goes.
    Delete(T),
}

impl<T: DeserializeOwned> Change<T> {
    /// # Errors
    /// When an object does not fit its type.
    pub(crate) fn read(request: &Request) -> Result<Self, Denied> {
        Ok(match request.operation {
            Operation::Create => Self::Create(read(&request.object)?),
            Operation::Update => {
                Self::Update { old: read(&request.old_object)?, new: read(&request.object)? }
            }
            Operation::Delete => Self::Delete(read(&request.old_object)?),
            Operation::Connect => {
                return Err(Denied::Unreadable("objects of this kind cannot be connected to".to_owned()));
            }
        })
    }
}

impl<T> Change<T> {
    /// What the object was, and what it becomes; the same thing where it was not there, or goes.
    pub(crate) const fn both(&self) -> (&T, &T) {
        match self {
            Self::Create(object) | Self::Delete(object) => (object, object),
            Self::Update { old, new } => (old, new),
        }
    }

    /// What the object was.
    pub(crate) const fn before(&self) -> Option<&T> {
        match self {
            Self::Create(_) => None,
            Self::Update { old, .. } | Self::Delete(old) => Some(old),
        }
    }

    /// What the object becomes.
    pub(crate) const fn after(&self) -> Option<&T> {
        match self {
            Self::Create(new) | Self::Update { new, .. } => Some(new),
            Self::Delete(_) => None,
        }
    }
}

impl<T: Validate> Change<T> {
    /// # Errors
    /// When the object is wrong. An update is not held responsible for what was wrong before.
    pub(crate) fn validate(&self) -> Result<(), Denied> {
        Denied::invalid(match self {
            Self::Create(new) => new.validate(),
            Self::Update { old, new } => new.validate_update(old),
            Self::Delete(_) => Vec::new(),
        })
    }
}

fn read<T: DeserializeOwned>(object: &Value) -> Result<T, Denied> {
    T::deserialize(object).map_err(|error| Denied::Unreadable(format!("the object cannot be read: {error}")))
}
