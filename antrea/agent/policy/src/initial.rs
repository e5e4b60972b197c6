//! The beginning of a watch: until its bookmark, what it sends is collected; then it replaces what was known.

use antrea_shared_api::watch::{Event, EventType, Watched};

use crate::{Refused, Watch};

/// How far a watch is.
#[derive(Debug)]
pub(crate) enum Progress<T> {
    /// Objects come.
    Collecting(Vec<T>),
    /// All have come; now there are changes.
    Following,
}

/// What an event means.
pub(crate) enum Step<T: Watched> {
    /// Nothing yet.
    Wait,
    /// These are all objects.
    Replace(Vec<T>),
    /// There is this object, which may have been there before.
    Set(T),
    /// An object has changed.
    Change(T::Change),
    /// This object is gone.
    Remove(T),
}

impl<T> Default for Progress<T> {
    fn default() -> Self {
        Self::Collecting(Vec::new())
    }
}

impl<T: Watched> Progress<T> {
    pub(crate) fn take(&mut self, watch: Watch, event: Event<T>) -> Result<Step<T>, Refused> {
        let too_early = |event| Err(Refused::TooEarly { watch, event });
        match (&mut *self, event) {
            (_, Event::Error(status)) => Err(Refused::Failed { watch, message: status.message.clone() }),
            (Self::Collecting(objects), Event::Added(object)) => {
                objects.push(object);
                Ok(Step::Wait)
            }
            (Self::Collecting(objects), Event::Bookmark(_)) => {
                let objects = std::mem::take(objects);
                *self = Self::Following;
                Ok(Step::Replace(objects))
            }
            (Self::Collecting(_), Event::Modified(_)) => too_early(EventType::Modified),
            (Self::Collecting(_), Event::Deleted(_)) => too_early(EventType::Deleted),
            (Self::Following, Event::Added(object)) => Ok(Step::Set(object)),
            (Self::Following, Event::Modified(change)) => Ok(Step::Change(change)),
            (Self::Following, Event::Deleted(object)) => Ok(Step::Remove(object)),
            (Self::Following, Event::Bookmark(_)) => Ok(Step::Wait),
        }
    }
}
