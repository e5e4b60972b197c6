//! What one change of an object means to each watcher.

use std::sync::Arc;

use antrea_policy::{Span, Text};

use super::watchable::{View, Watchable};
use super::{Content, Event, Patch};

/// What those are told who knew the object and go on to.
pub(super) enum Modification {
    /// Nothing: only others begin or cease to see it.
    Nothing,
    /// All the same.
    Same(Arc<Event>),
    /// What happened on their Node.
    PerNode(Patch),
}

impl Modification {
    pub(super) fn of(content: Content) -> Self {
        Self::Same(Arc::new(Event::new(content)))
    }
}

/// Whether a watcher sees an object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    Seen,
    Unseen,
}

impl Sight {
    /// Of a watcher on a Node, or of one without.
    pub(super) fn of(span: Option<&Span>, node: Option<&str>) -> Self {
        let seen = span.is_some_and(|span| node.is_none_or(|node| span.contains(node)));
        if seen { Self::Seen } else { Self::Unseen }
    }
}

/// One change of one object.
pub(super) struct Change<'a, O: Watchable> {
    pub(super) name: &'a O::Name,
    /// As it is now; as it was, where it is gone.
    pub(super) object: &'a O,
    /// Who saw it: nobody knew it where there is none.
    pub(super) before: Option<&'a Span>,
    /// Who sees it now: it is gone where there is none.
    pub(super) after: Option<&'a Span>,
    pub(super) modification: Modification,
}

/// The events of a change, made when the first watcher needs them.
#[derive(Default)]
pub(super) struct Made {
    added: Option<Arc<Event>>,
    deleted: Option<Arc<Event>>,
}

impl<O: Watchable> Change<'_, O> {
    /// What watchers on a Node are told, or those without one. `made` is for watchers that are told the same.
    pub(super) fn event(&self, node: Option<&str>, made: &mut Made) -> Option<Arc<Event>> {
        match (Sight::of(self.before, node), Sight::of(self.after, node)) {
            (Sight::Unseen, Sight::Unseen) => None,
            (Sight::Unseen, Sight::Seen) => {
                let added = || Arc::new(Event::new(self.object.added(node)));
                Some(match O::VIEW {
                    View::Shared => made.added.get_or_insert_with(added).clone(),
                    View::PerNode => added(),
                })
            }
            (Sight::Seen, Sight::Unseen) => {
                let deleted = || Arc::new(Event::new(self.object.deleted()));
                Some(made.deleted.get_or_insert_with(deleted).clone())
            }
            (Sight::Seen, Sight::Seen) => match &self.modification {
                Modification::Nothing => None,
                Modification::Same(event) => Some(Arc::clone(event)),
                Modification::PerNode(patch) => patch.on(node).map(|patch| Arc::new(Event::new(patch))),
            },
        }
    }

    /// The Nodes whose watchers may be told something, some of them twice.
    pub(super) fn nodes(&self) -> Vec<&Text> {
        match (&self.modification, self.before, self.after) {
            (Modification::Nothing | Modification::PerNode(_), Some(before), Some(after)) => {
                let moved = before.nodes().iter().filter(|node| !after.contains(node.as_str()));
                let moved = moved.chain(after.nodes().iter().filter(|node| !before.contains(node.as_str())));
                let patched = match &self.modification {
                    Modification::PerNode(patch) => Some(patch.nodes()),
                    _ => None,
                };
                moved.chain(patched.into_iter().flatten()).collect()
            }
            (_, before, after) => [before, after].into_iter().flatten().flat_map(Span::nodes).collect(),
        }
    }
}
