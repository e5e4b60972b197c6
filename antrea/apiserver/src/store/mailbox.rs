//! The events that wait for one watcher. They are gone as soon as it is cut, whether it ever reads again or not.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use super::Event;

/// For how many events room is kept when none waits.
const KEPT: usize = 64;

/// A mailbox, and the events that somebody reads from it.
pub(super) fn mailbox() -> (Mailbox, Events) {
    let shared = Arc::new(Mutex::default());
    (Mailbox(Arc::clone(&shared)), Events(shared))
}

/// Where events are put. When it is dropped, what waits can still be read.
pub(super) struct Mailbox(Arc<Mutex<Waiting>>);

/// Where events are read.
pub struct Events(Arc<Mutex<Waiting>>);

#[derive(Default)]
struct Waiting {
    events: VecDeque<Arc<Event>>,
    state: State,
    reader: Option<Waker>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Open,
    /// Nothing is put in any more, or nothing is read any more.
    Over,
}

/// Nobody reads what is put in.
pub(super) struct NobodyReads;

impl Mailbox {
    /// How many events wait.
    pub(super) fn waiting(&self) -> usize {
        lock(&self.0).events.len()
    }

    pub(super) fn put(&self, event: Arc<Event>) -> Result<(), NobodyReads> {
        let mut waiting = lock(&self.0);
        if waiting.state == State::Over {
            return Err(NobodyReads);
        }
        waiting.events.push_back(event);
        wake(waiting);
        Ok(())
    }

    /// Nothing more is read from it, not even what waits.
    pub(super) fn cut(self) {
        lock(&self.0).events = VecDeque::new();
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        let mut waiting = lock(&self.0);
        waiting.state = State::Over;
        wake(waiting);
    }
}

impl Events {
    /// The next event; nothing when it is over. Somebody is woken when there is one.
    pub fn poll_next(&mut self, context: &Context<'_>) -> Poll<Option<Arc<Event>>> {
        let mut waiting = lock(&self.0);
        let next = waiting.take();
        if next.is_none() && waiting.state == State::Open {
            waiting.reader = Some(context.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(next)
    }

    /// Waits for the next event; nothing when it is over.
    pub async fn next(&mut self) -> Option<Arc<Event>> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// The next event, if one waits.
    pub fn next_waiting(&mut self) -> Option<Arc<Event>> {
        lock(&self.0).take()
    }

    /// Whether all there will ever be is there.
    pub fn is_over(&self) -> bool {
        lock(&self.0).state == State::Over
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let mut waiting = lock(&self.0);
        waiting.state = State::Over;
        waiting.events = VecDeque::new();
    }
}

impl Waiting {
    fn take(&mut self) -> Option<Arc<Event>> {
        let next = self.events.pop_front();
        if self.events.is_empty() && self.events.capacity() > KEPT {
            self.events = VecDeque::new();
        }
        next
    }
}

/// Wakes who reads, who finds nothing locked.
fn wake(mut waiting: MutexGuard<'_, Waiting>) {
    let reader = waiting.reader.take();
    drop(waiting);
    if let Some(reader) = reader {
        reader.wake();
    }
}

/// Each change of what is locked here leaves it whole.
fn lock(waiting: &Mutex<Waiting>) -> MutexGuard<'_, Waiting> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}
