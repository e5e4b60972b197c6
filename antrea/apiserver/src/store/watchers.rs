//! Those who watch the objects of a kind, found by what they select: a change costs as much as there are watchers that it
//! may concern.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Instant;

use antrea_policy::Text;
use hashbrown::HashMap;

use super::Event;
use super::fanout::{Change, Made};
use super::mailbox::{Mailbox, NobodyReads, mailbox};
use super::watch::{CROWDED, Counts, PATIENCE, Rounds, Watch, WatcherId, room};
use super::watchable::Watchable;

/// What a watcher selects.
pub(super) enum Selection<Name> {
    Everything,
    Node(Text),
    /// Nothing has the name if there is none. On a Node, if there is one.
    Name(Option<Name>, Option<Text>),
}

struct Watcher<Name> {
    selection: Selection<Name>,
    rounds: Rounds,
    mailbox: Mailbox,
}

/// The watchers on a Node.
#[derive(Default)]
struct OnNode {
    ids: Vec<WatcherId>,
    /// Whether they were told anything in this round.
    is_touched: bool,
}

pub(super) struct Watchers<Name> {
    begun: u64,
    all: BTreeMap<WatcherId, Watcher<Name>>,
    everything: Vec<WatcherId>,
    by_node: HashMap<Text, OnNode>,
    /// The Nodes whose watchers were told anything in this round.
    touched: Vec<Text>,
    by_name: HashMap<Name, Vec<WatcherId>>,
    /// Those for which too much has waited since this was looked at last, and since when where that was so before.
    crowded: BTreeMap<WatcherId, Option<Instant>>,
    /// Events on their way, while a change is told: empty otherwise, and kept for its room.
    mail: Mail,
    counts: Counts,
}

/// Who is told what.
type Mail = Vec<(WatcherId, Arc<Event>)>;

impl<Name> Default for Watchers<Name> {
    fn default() -> Self {
        Self {
            begun: 0,
            all: BTreeMap::new(),
            everything: Vec::new(),
            by_node: HashMap::new(),
            touched: Vec::new(),
            by_name: HashMap::new(),
            crowded: BTreeMap::new(),
            mail: Mail::new(),
            counts: Counts::default(),
        }
    }
}

impl<Name: Clone + Ord + Hash> Watchers<Name> {
    pub(super) fn add(
        &mut self,
        selection: Selection<Name>,
        rounds: Rounds,
        snapshot: Vec<Arc<Event>>,
        version: u64,
    ) -> Watch {
        let (mailbox, events) = mailbox();
        let id = WatcherId(self.begun);
        self.begun += 1;
        match &selection {
            Selection::Everything => self.everything.push(id),
            Selection::Node(node) => self.by_node.entry(node.clone()).or_default().ids.push(id),
            Selection::Name(Some(name), _) => self.by_name.entry(name.clone()).or_default().push(id),
            Selection::Name(None, _) => {}
        }
        self.all.insert(id, Watcher { selection, rounds, mailbox });
        Watch { id, snapshot, version, round: None, events }
    }

    /// What was put into its mailbox can still be read.
    pub(super) fn remove(&mut self, id: WatcherId) -> Option<Mailbox> {
        let watcher = self.all.remove(&id)?;
        match watcher.selection {
            Selection::Everything => self.everything.retain(|other| *other != id),
            Selection::Node(node) => self.forget_on(node.as_str(), id),
            Selection::Name(Some(name), _) => forget(&mut self.by_name, &name, id),
            Selection::Name(None, _) => {}
        }
        Some(watcher.mailbox)
    }

    fn cut(&mut self, id: WatcherId) {
        if let Some(mailbox) = self.remove(id) {
            mailbox.cut();
            self.counts.cut += 1;
        }
    }

    /// Tells of a change whom it concerns.
    pub(super) fn tell<O: Watchable<Name = Name>>(&mut self, change: &Change<'_, O>) {
        if self.all.is_empty() {
            return;
        }
        let mut made = Made::default();
        let mut mail = std::mem::take(&mut self.mail);
        if let Some(event) = self.everything.first().and_then(|_| change.event(None, &mut made)) {
            mail.extend(self.everything.iter().map(|id| (*id, event.clone())));
        }
        self.counts.asked += self.everything.len() as u64;
        for id in self.by_name.get(change.name).into_iter().flatten() {
            self.counts.asked += 1;
            let node = match self.all.get(id).map(|watcher| &watcher.selection) {
                Some(Selection::Name(_, node)) => node.as_ref().map(Text::as_str),
                _ => continue,
            };
            mail.extend(change.event(node, &mut made).map(|event| (*id, event)));
        }
        self.address_by_node(change, &mut made, &mut mail);
        mail.drain(..).for_each(|(id, event)| self.send(id, event));
        self.mail = mail;
    }

    /// What the watchers of Nodes are told of a change.
    fn address_by_node<O: Watchable<Name = Name>>(
        &mut self,
        change: &Change<'_, O>,
        made: &mut Made,
        mail: &mut Mail,
    ) {
        if self.by_node.is_empty() {
            return;
        }
        let mut nodes = change.nodes();
        nodes.sort_unstable();
        nodes.dedup();
        for node in nodes {
            let Some(watchers) = self.by_node.get_mut(node.as_str()) else { continue };
            self.counts.asked += watchers.ids.len() as u64;
            let Some(event) = change.event(Some(node.as_str()), made) else { continue };
            mail.extend(watchers.ids.iter().map(|id| (*id, event.clone())));
            if !std::mem::replace(&mut watchers.is_touched, true) {
                self.touched.push(node.clone());
            }
        }
    }

    /// The Nodes whose watchers were told anything since this was asked last.
    pub(super) fn take_touched(&mut self) -> Vec<Text> {
        let touched = std::mem::take(&mut self.touched);
        for node in &touched {
            if let Some(watchers) = self.by_node.get_mut(node.as_str()) {
                watchers.is_touched = false;
            }
        }
        touched
    }

    /// Tells the watchers on a Node where a round ends.
    pub(super) fn end_round(&mut self, node: &str, event: &Arc<Event>) {
        let ids: Vec<WatcherId> = self.told_of_rounds(node).collect();
        ids.into_iter().for_each(|id| self.send(id, Arc::clone(event)));
    }

    /// The watchers on a Node that are told where rounds end.
    pub(super) fn told_of_rounds(&self, node: &str) -> impl Iterator<Item = WatcherId> {
        let ids = self.by_node.get(node).into_iter().flat_map(|watchers| &watchers.ids).copied();
        ids.filter(|id| self.all.get(id).is_some_and(|watcher| watcher.rounds == Rounds::Told))
    }

    fn forget_on(&mut self, node: &str, id: WatcherId) {
        if let Some(watchers) = self.by_node.get_mut(node) {
            watchers.ids.retain(|other| *other != id);
            if watchers.ids.is_empty() {
                self.by_node.remove(node);
            }
        }
    }

    fn send(&mut self, id: WatcherId, event: Arc<Event>) {
        let room = room(self.all.len());
        let Some(watcher) = self.all.get(&id) else { return };
        let waiting = watcher.mailbox.waiting();
        if waiting >= room {
            return self.cut(id);
        }
        if let Err(NobodyReads) = watcher.mailbox.put(event) {
            self.remove(id);
            return;
        }
        self.counts.sent += 1;
        if waiting >= CROWDED {
            self.crowded.entry(id).or_default();
        }
    }

    /// Cuts those for which too much has waited for too long.
    pub(super) fn cut_late(&mut self, now: Instant) {
        for (id, since) in std::mem::take(&mut self.crowded) {
            if self.all.get(&id).is_none_or(|watcher| watcher.mailbox.waiting() <= CROWDED) {
                continue;
            }
            let since = since.unwrap_or(now);
            if now.duration_since(since) < PATIENCE {
                self.crowded.insert(id, Some(since));
            } else {
                self.cut(id);
            }
        }
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
