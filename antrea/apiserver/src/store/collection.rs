//! The objects of one kind, and who watches them.

use std::sync::{Arc, Weak};

use antrea_policy::{Span, Text};
use hashbrown::HashMap;

use super::fanout::{Change, Modification};
use super::needs::Needs;
use super::watchable::{View, Watchable};
use super::watchers::{Selection, Watchers};
use super::{Counts, Crowded, Event, Rounds, Selector, Watch, WatcherId};

/// The objects of one kind.
pub(super) struct Collection<O: Watchable> {
    /// How often anything changed.
    version: u64,
    entries: HashMap<O::Name, Entry<O>>,
    /// Which objects a Node needs; kept since the first watcher of a Node.
    needs: Option<Needs<O::Name>>,
    watchers: Watchers<O::Name>,
}

struct Entry<O> {
    object: O,
    span: Span,
    /// What those are told who begin to see it, while somebody still has it.
    added: Weak<Event>,
}

impl<O: Watchable> Default for Collection<O> {
    fn default() -> Self {
        Self { version: 0, entries: HashMap::new(), needs: None, watchers: Watchers::default() }
    }
}

impl<O: Watchable> Collection<O> {
    /// There is a new object. One that had its name is gone.
    pub(super) fn insert(&mut self, name: O::Name, object: O, span: Span) {
        if self.entries.contains_key(&name) {
            self.remove(&name);
        }
        self.version += 1;
        if let Some(needs) = &mut self.needs {
            needs.add(&name, &span);
        }
        let modification = Modification::Nothing;
        let change = Change { name: &name, object: &object, before: None, after: Some(&span), modification };
        self.watchers.tell(&change);
        self.entries.insert(name, Entry { object, span, added: Weak::new() });
    }

    /// An object is changed, and so is its span. One that is not known stays unknown.
    pub(super) fn modify(&mut self, name: &O::Name, span: Span, change: impl FnOnce(&mut O) -> Modification) {
        let Some(entry) = self.entries.get_mut(name) else { return };
        self.version += 1;
        let modification = change(&mut entry.object);
        let before = std::mem::replace(&mut entry.span, span);
        if !matches!(modification, Modification::Nothing) {
            entry.added = Weak::new();
        }
        if let Some(needs) = &mut self.needs
            && before != entry.span
        {
            needs.remove(name, &before);
            needs.add(name, &entry.span);
        }
        let (object, after) = (&entry.object, Some(&entry.span));
        self.watchers.tell(&Change { name, object, before: Some(&before), after, modification });
    }

    /// An object is gone.
    pub(super) fn remove(&mut self, name: &O::Name) {
        let Some(Entry { object, span, .. }) = self.entries.remove(name) else { return };
        self.version += 1;
        if let Some(needs) = &mut self.needs {
            needs.remove(name, &span);
        }
        let modification = Modification::Nothing;
        self.watchers.tell(&Change { name, object: &object, before: Some(&span), after: None, modification });
    }

    pub(super) fn watch(&mut self, selector: Selector, rounds: Rounds) -> Watch {
        let snapshot = self.snapshot(&selector);
        let Selector { node, name } = selector;
        let selection = match (name, node) {
            (Some(name), node) => Selection::Name(O::read_name(&name), node),
            (None, Some(node)) => Selection::Node(node),
            (None, None) => Selection::Everything,
        };
        self.watchers.add(selection, rounds, snapshot, self.version)
    }

    /// The events that a watcher begins with, by name.
    pub(super) fn snapshot(&mut self, selector: &Selector) -> Vec<Arc<Event>> {
        let node = selector.node.as_ref().map(Text::as_str);
        let names: Vec<O::Name> = match (&selector.name, node) {
            (Some(name), _) => O::read_name(name).into_iter().collect(),
            (None, Some(node)) => self.needs().of(node),
            (None, None) => {
                let mut names: Vec<_> = self.entries.keys().cloned().collect();
                names.sort_unstable();
                names
            }
        };
        let mut events = Vec::new();
        for name in names {
            let Some(entry) = self.entries.get_mut(&name) else { continue };
            if node.is_none_or(|node| entry.span.contains(node)) {
                events.push(entry.added(node));
            }
        }
        events
    }

    fn needs(&mut self) -> &mut Needs<O::Name> {
        self.needs.get_or_insert_with(|| {
            let mut needs = Needs::default();
            self.entries.iter().for_each(|(name, entry)| needs.add(name, &entry.span));
            needs
        })
    }

    pub(super) fn unwatch(&mut self, watcher: WatcherId) {
        self.watchers.remove(watcher);
    }

    pub(super) fn cut(&mut self, watcher: WatcherId) {
        self.watchers.cut(watcher);
    }

    pub(super) fn crowded(&mut self) -> Vec<Crowded> {
        self.watchers.crowded()
    }

    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// The Nodes whose watchers were told anything since this was asked last.
    pub(super) fn take_touched(&mut self) -> Vec<Text> {
        self.watchers.take_touched()
    }

    /// Tells the watchers on a Node where a round ends.
    pub(super) fn end_round(&mut self, node: &str, event: &Arc<Event>) {
        self.watchers.end_round(node, event);
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn counts(&self) -> Counts {
        self.watchers.counts()
    }

    pub(super) fn watching_nodes(&self) -> usize {
        self.watchers.nodes()
    }
}

impl<O: Watchable> Entry<O> {
    /// The same event for all that begin to see the object at about the same time.
    fn added(&mut self, node: Option<&str>) -> Arc<Event> {
        if let (View::Shared, Some(event)) = (O::VIEW, self.added.upgrade()) {
            return event;
        }
        let event = Arc::new(Event::new(self.object.added(node)));
        if O::VIEW == View::Shared {
            self.added = Arc::downgrade(&event);
        }
        event
    }
}
