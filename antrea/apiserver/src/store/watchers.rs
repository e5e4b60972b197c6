//! Those who watch the objects of a kind, found by what they select: a change costs as much as there are watchers that it
//! may concern.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::Arc;

use antrea_policy::Text;
use hashbrown::HashMap;
use tokio::sync::mpsc::error::{SendError, TrySendError};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::Event;
use super::fanout::{Change, Made};
use super::watchable::Watchable;

/// How many events wait for a watcher at most. Each is a pointer to what all watchers share.
pub(super) const BUFFER: usize = 8192;

/// Who watches. No two watchers of a kind have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WatcherId(u64);

/// A watch: first what was there, then what happens.
pub struct Watch {
    pub(crate) id: WatcherId,
    /// What was there when it began.
    pub snapshot: Vec<Arc<Event>>,
    /// Which state of the store that was.
    pub version: u64,
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
}

/// What a watcher selects.
pub(super) enum Selection<Name> {
    Everything,
    Node(Text),
    /// Nothing has the name if there is none. On a Node, if there is one.
    Name(Option<Name>, Option<Text>),
}

struct Watcher<Name> {
    selection: Selection<Name>,
    buffer: Sender<Arc<Event>>,
}

/// A watcher that is slow.
pub(crate) struct Crowded {
    pub(crate) id: WatcherId,
    buffer: Sender<Arc<Event>>,
}

impl Crowded {
    /// Ends when half of the buffer is free, or the watcher is gone.
    pub(crate) async fn has_room(&self) {
        // The permits go at once: it is about the room.
        let _: Result<(), SendError<()>> = self.buffer.reserve_many(BUFFER / 2).await.map(drop);
    }
}

pub(super) struct Watchers<Name> {
    begun: u64,
    all: BTreeMap<WatcherId, Watcher<Name>>,
    everything: Vec<WatcherId>,
    by_node: HashMap<Text, Vec<WatcherId>>,
    by_name: HashMap<Name, Vec<WatcherId>>,
    /// Those whose buffer is more than half full, some of them several times.
    crowded: Vec<WatcherId>,
    counts: Counts,
}

impl<Name> Default for Watchers<Name> {
    fn default() -> Self {
        Self {
            begun: 0,
            all: BTreeMap::new(),
            everything: Vec::new(),
            by_node: HashMap::new(),
            by_name: HashMap::new(),
            crowded: Vec::new(),
            counts: Counts::default(),
        }
    }
}

impl<Name: Clone + Ord + Hash> Watchers<Name> {
    pub(super) fn add(
        &mut self,
        selection: Selection<Name>,
        snapshot: Vec<Arc<Event>>,
        version: u64,
    ) -> Watch {
        let (buffer, events) = channel(BUFFER);
        let id = WatcherId(self.begun);
        self.begun += 1;
        match &selection {
            Selection::Everything => self.everything.push(id),
            Selection::Node(node) => self.by_node.entry(node.clone()).or_default().push(id),
            Selection::Name(Some(name), _) => self.by_name.entry(name.clone()).or_default().push(id),
            Selection::Name(None, _) => {}
        }
        self.all.insert(id, Watcher { selection, buffer });
        Watch { id, snapshot, version, events }
    }

    pub(super) fn remove(&mut self, id: WatcherId) {
        let Some(watcher) = self.all.remove(&id) else { return };
        match watcher.selection {
            Selection::Everything => self.everything.retain(|other| *other != id),
            Selection::Node(node) => forget(&mut self.by_node, &node, id),
            Selection::Name(Some(name), _) => forget(&mut self.by_name, &name, id),
            Selection::Name(None, _) => {}
        }
    }

    pub(super) fn cut(&mut self, id: WatcherId) {
        if self.all.contains_key(&id) {
            self.remove(id);
            self.counts.cut += 1;
        }
    }

    /// Tells of a change whom it concerns.
    pub(super) fn tell<O: Watchable<Name = Name>>(&mut self, change: &Change<'_, O>) {
        if self.all.is_empty() {
            return;
        }
        let mut made = Made::default();
        let everywhere = if self.everything.is_empty() { None } else { change.event(None, &mut made) };
        let mut mail: Vec<(WatcherId, Arc<Event>)> = Vec::new();
        self.counts.asked += self.everything.len() as u64;
        mail.extend(
            everywhere.iter().flat_map(|event| self.everything.iter().map(|id| (*id, event.clone()))),
        );
        for id in self.by_name.get(change.name).into_iter().flatten() {
            self.counts.asked += 1;
            let node = match self.all.get(id).map(|watcher| &watcher.selection) {
                Some(Selection::Name(_, node)) => node.as_ref().map(Text::as_str),
                _ => continue,
            };
            mail.extend(change.event(node, &mut made).map(|event| (*id, event)));
        }
        if !self.by_node.is_empty() {
            let mut nodes = change.nodes();
            nodes.sort_unstable();
            nodes.dedup();
            for node in nodes {
                let Some(watchers) = self.by_node.get(node.as_str()) else { continue };
                self.counts.asked += watchers.len() as u64;
                let Some(event) = change.event(Some(node.as_str()), &mut made) else { continue };
                mail.extend(watchers.iter().map(|id| (*id, event.clone())));
            }
        }
        mail.into_iter().for_each(|(id, event)| self.send(id, event));
    }

    fn send(&mut self, id: WatcherId, event: Arc<Event>) {
        let Some(watcher) = self.all.get(&id) else { return };
        match watcher.buffer.try_send(event) {
            Ok(()) => {
                self.counts.sent += 1;
                if watcher.buffer.capacity() < BUFFER / 2 {
                    self.crowded.push(id);
                }
            }
            Err(TrySendError::Full(_)) => self.cut(id),
            Err(TrySendError::Closed(_)) => self.remove(id),
        }
    }

    /// Watchers whose buffer is more than half full, each told once.
    pub(super) fn crowded(&mut self) -> Vec<Crowded> {
        let mut crowded = std::mem::take(&mut self.crowded);
        crowded.sort_unstable();
        crowded.dedup();
        let crowded = crowded.into_iter().filter_map(|id| {
            let buffer = self.all.get(&id)?.buffer.clone();
            Some(Crowded { id, buffer })
        });
        crowded.collect()
    }

    pub(super) fn counts(&self) -> Counts {
        Counts { watchers: self.all.len(), ..self.counts }
    }

    /// How many Nodes watch.
    pub(super) fn nodes(&self) -> usize {
        self.by_node.len()
    }
}

fn forget<K: Eq + Hash>(watchers: &mut HashMap<K, Vec<WatcherId>>, key: &K, id: WatcherId) {
    if let Some(ids) = watchers.get_mut(key) {
        ids.retain(|other| *other != id);
        if ids.is_empty() {
            watchers.remove(key);
        }
    }
}
