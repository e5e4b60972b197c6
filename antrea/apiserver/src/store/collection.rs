//! The objects of one kind, and who watches them.

use std::sync::Arc;
use std::time::Instant;

use antrea_policy::{Span, Text};

use super::fanout::{Change, Modification};
use super::needs::Needs;
use super::objects::{Object, ObjectId, Objects};
use super::shown::Shown;
use super::watchable::{View, Watchable};
use super::watchers::{Selection, Watchers};
use super::{Content, Counts, Event, Rounds, Selector, Watch, WatcherId};

/// The objects of one kind.
pub(super) struct Collection<O: Watchable> {
    /// How often anything changed.
    version: u64,
    objects: Objects<O>,
    /// Which objects a Node needs; kept since the first watcher of a Node.
    needs: Option<Needs>,
    shown: Shown,
    watchers: Watchers<O::Name>,
}

impl<O: Watchable> Default for Collection<O> {
    fn default() -> Self {
        Self {
            version: 0,
            objects: Objects::default(),
            needs: None,
            shown: Shown::default(),
            watchers: Watchers::default(),
        }
    }
}

impl<O: Watchable> Collection<O> {
    /// There is a new object. One that had its name is gone.
    pub(super) fn insert(&mut self, object: O, span: Span) {
        self.remove(object.name());
        self.version += 1;
        let (id, Object { object, span }) = self.objects.insert(Object { object, span });
        if let Some(needs) = &mut self.needs {
            needs.add(id, span);
        }
        let (name, modification) = (object.name(), Modification::Nothing);
        self.watchers.tell(&Change { name, object, before: None, after: Some(span), modification });
    }

    /// An object is changed, and so is its span. One that is not known stays unknown.
    pub(super) fn modify(&mut self, name: &O::Name, span: Span, change: impl FnOnce(&mut O) -> Modification) {
        let Some(id) = self.objects.find(name) else { return };
        let Some(Object { object, span: current }) = self.objects.get_mut(id) else { return };
        self.version += 1;
        let modification = change(object);
        let before = std::mem::replace(current, span);
        if !matches!(modification, Modification::Nothing) {
            self.shown.forget(id);
        }
        if let Some(needs) = &mut self.needs
            && before != *current
        {
            needs.remove(id, &before);
            needs.add(id, current);
        }
        let (before, after) = (Some(&before), Some(&*current));
        self.watchers.tell(&Change { name, object, before, after, modification });
    }

    /// An object is gone.
    pub(super) fn remove(&mut self, name: &O::Name) {
        let Some((id, Object { object, span })) = self.objects.remove(name) else { return };
        self.version += 1;
        self.shown.forget(id);
        if let Some(needs) = &mut self.needs {
            needs.remove(id, &span);
        }
        let modification = Modification::Nothing;
        self.watchers.tell(&Change { name, object: &object, before: Some(&span), after: None, modification });
    }

    pub(super) fn watch(&mut self, selector: Selector, rounds: Rounds) -> Watch {
        let (node, found) = (selector.node.as_ref().map(Text::as_str), self.find(&selector));
        let mut snapshot = Vec::with_capacity(found.len());
        for id in found {
            let Some(Object { object, .. }) = self.objects.get(id) else { continue };
            let added = || Arc::new(Event::new(object.added(node)));
            snapshot.push(match O::VIEW {
                View::Shared => self.shown.event(id, added),
                View::PerNode => added(),
            });
        }
        let Selector { node, name } = selector;
        let selection = match (name, node) {
            (Some(name), node) => Selection::Name(O::read_name(&name), node),
            (None, Some(node)) => Selection::Node(node),
            (None, None) => Selection::Everything,
        };
        self.watchers.add(selection, rounds, snapshot, self.version)
    }

    /// What is there, for who does not watch: by name.
    pub(super) fn list(&mut self, selector: &Selector) -> Vec<Content> {
        let (node, found) = (selector.node.as_ref().map(Text::as_str), self.find(selector));
        let objects = found.into_iter().filter_map(|id| self.objects.get(id));
        objects.map(|Object { object, .. }| object.added(node)).collect()
    }

    /// What a selector selects, by name.
    fn find(&mut self, selector: &Selector) -> Vec<ObjectId> {
        let node = selector.node.as_ref().map(Text::as_str);
        let candidates: Vec<ObjectId> = match (&selector.name, node) {
            (Some(name), _) => {
                O::read_name(name).and_then(|name| self.objects.find(&name)).into_iter().collect()
            }
            (None, Some(node)) => self.needs().of(node),
            (None, None) => self.objects.iter().map(|(id, _)| id).collect(),
        };
        let objects = candidates.into_iter().filter_map(|id| Some((id, self.objects.get(id)?)));
        let mut found: Vec<_> =
            objects.filter(|(_, object)| node.is_none_or(|node| object.span.contains(node))).collect();
        found.sort_unstable_by(|(_, one), (_, other)| one.object.name().cmp(other.object.name()));
        found.into_iter().map(|(id, _)| id).collect()
    }

    fn needs(&mut self) -> &mut Needs {
        self.needs.get_or_insert_with(|| {
            let mut needs = Needs::default();
            self.objects.iter().for_each(|(id, object)| needs.add(id, &object.span));
            needs
        })
    }

    /// A watcher has so many no more of the events that it began with.
    pub(super) fn give_back(&mut self, count: usize) {
        self.shown.give_back(count);
    }

    pub(super) fn unwatch(&mut self, watcher: WatcherId) {
        self.watchers.remove(watcher);
    }

    pub(super) fn cut_late(&mut self, now: Instant) {
        self.watchers.cut_late(now);
    }

    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// The Nodes whose watchers were told anything since this was asked last.
    pub(super) fn take_touched(&mut self) -> Vec<Text> {
        self.watchers.take_touched()
    }

    /// Whether any watcher on a Node is told where rounds end.
    pub(super) fn is_told_of_rounds(&self, node: &str) -> bool {
        self.watchers.told_of_rounds(node).next().is_some()
    }

    /// Tells the watchers on a Node where a round ends.
    pub(super) fn end_round(&mut self, node: &str, event: &Arc<Event>) {
        self.watchers.end_round(node, event);
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(super) fn counts(&self) -> Counts {
        Counts { kept: self.shown.len(), ..self.watchers.counts() }
    }

    pub(super) fn watching_nodes(&self) -> usize {
        self.watchers.nodes()
    }
}
