//! Which objects a Node needs: what its watchers begin with is found without looking at the objects of others.

use std::collections::BTreeSet;

use antrea_policy::{Span, Text};
use hashbrown::HashMap;

/// An object of more Nodes than this is looked at in the snapshot of each of them, rather than noted for each.
const NARROW: usize = 16;

/// Which objects Nodes need.
pub(super) struct Needs<Name> {
    narrow: HashMap<Text, BTreeSet<Name>>,
    /// Objects that more Nodes need than are noted for each.
    wide: BTreeSet<Name>,
}

impl<Name> Default for Needs<Name> {
    fn default() -> Self {
        Self { narrow: HashMap::new(), wide: BTreeSet::new() }
    }
}

impl<Name: Clone + Ord> Needs<Name> {
    pub(super) fn add(&mut self, name: &Name, span: &Span) {
        if span.nodes().len() > NARROW {
            self.wide.insert(name.clone());
            return;
        }
        for node in span.nodes() {
            self.narrow.entry(node.clone()).or_default().insert(name.clone());
        }
    }

    pub(super) fn remove(&mut self, name: &Name, span: &Span) {
        self.wide.remove(name);
        for node in span.nodes().iter().filter(|_| span.nodes().len() <= NARROW) {
            if let Some(names) = self.narrow.get_mut(node.as_str()) {
                names.remove(name);
                if names.is_empty() {
                    self.narrow.remove(node.as_str());
                }
            }
        }
    }

    /// What a Node may need, by name.
    pub(super) fn of(&self, node: &str) -> Vec<Name> {
        let mut names: Vec<Name> = self.wide.iter().cloned().collect();
        names.extend(self.narrow.get(node).into_iter().flatten().cloned());
        names.sort_unstable();
        names
    }
}
