//! A watch of the objects of a kind, as whoever watches has it.

use std::sync::Arc;
use std::time::Duration;

use antrea_shared_api::controlplane::Round;

use super::{Event, Events};

/// How many events wait for a watcher at most. Each is a pointer to what all watchers share.
const MOST: usize = 1 << 16;

/// The same where there are many watchers, and how many wait for all of a kind if each has more.
const MOST_OF_MANY: usize = 1 << 13;
const MOST_OF_ALL: usize = 1 << 21;

/// A watcher is slow while more events wait for it than these, and is cut when it has been for so long.
pub(super) const CROWDED: usize = MOST_OF_MANY / 2;
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// How many events may wait for each of so many watchers.
pub(super) fn room(watchers: usize) -> usize {
    (MOST_OF_ALL / watchers.max(1)).clamp(MOST_OF_MANY, MOST)
}

/// Who watches. No two watchers of a kind have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WatcherId(pub(super) u64);

/// A watch: first what was there, then what happens.
pub struct Watch {
    pub(crate) id: WatcherId,
    /// What was there when it began.
    pub snapshot: Vec<Arc<Event>>,
    /// Which state of the objects of this kind that was.
    pub version: u64,
    /// The round that it was of, for who is told of rounds.
    pub round: Option<Round>,
    /// What happened since. It ends when the watcher is too slow, or the store has enough.
    pub events: Events,
}

/// What was done for watchers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Watchers there are.
    pub watchers: usize,
    /// Watchers that were looked at because of a change.
    pub asked: u64,
    /// Events that were put into mailboxes.
    pub sent: u64,
    /// Watchers that were too slow and had to go.
    pub cut: u64,
    /// Events that are kept, for whoever begins to watch while others have yet to send them.
    pub kept: usize,
}

/// Whether a watcher on a Node is told where rounds end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounds {
    /// It asked for that.
    Told,
    /// It would not know what that is.
    Untold,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_watchers_have_more_room_each_than_many() {
        assert_eq!([0, 1, 100, 10_000].map(room), [1 << 16, 1 << 16, 20_971, 1 << 13]);
    }
}
