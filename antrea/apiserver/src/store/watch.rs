//! A watch of the objects of a kind, as whoever watches has it.

use std::sync::Arc;

use antrea_shared_api::controlplane::Round;
use tokio::sync::mpsc::error::SendError;
use tokio::sync::mpsc::{Receiver, Sender};

use super::Event;

/// How many events wait for a watcher at most. Each is a pointer to what all watchers share.
pub(super) const BUFFER: usize = 8192;

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
    pub events: Receiver<Arc<Event>>,
}

/// What was done for watchers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Watchers there are.
    pub watchers: usize,
    /// Watchers that were looked at because of a change.
    pub asked: u64,
    /// Events that were put into buffers.
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

/// A watcher that is slow.
pub(crate) struct Crowded {
    pub(crate) id: WatcherId,
    pub(super) buffer: Sender<Arc<Event>>,
}

impl Crowded {
    /// Ends when half of the buffer is free, or the watcher is gone.
    pub(crate) async fn has_room(&self) {
        // The permits go at once: it is about the room.
        let _: Result<(), SendError<()>> = self.buffer.reserve_many(BUFFER / 2).await.map(drop);
    }
}
