//! Lists by key in a hash table, such as what has a label, by this label.

use std::hash::Hash;

use super::few::Few;
use super::pool::{ListId, Pool};

/// Sorted lists by key; an empty one is not kept. A table grows by copying itself, so it has the numbers of lists rather
/// than lists.
#[derive(Debug)]
pub(crate) struct Lists<K, V>(Pool<ListId, (K, Few<V>)>);

impl<K, V> Default for Lists<K, V> {
    fn default() -> Self {
        Self(Pool::default())
    }
}

/// Whether a list is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Is {
    There,
    Gone,
}

impl<K: Copy + Default + Eq + Hash, V: Copy + Ord> Lists<K, V> {
    /// Tells whether there was a list before.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Is {
        let hash = self.0.hash(key);
        if let Some(id) = self.0.find(hash, |(other, _)| *other == key) {
            self.0.get_mut(id).1.insert(value);
            return Is::There;
        }
        let id = self.0.insert(hash, (key, Few::One(value)));
        self.0.hold(id);
        Is::Gone
    }

    /// Tells whether there is a list after.
    pub(crate) fn remove(&mut self, key: K, value: &V) -> Is {
        let Some(id) = self.find(key) else { return Is::Gone };
        let (_, list) = self.0.get_mut(id);
        list.remove(value);
        if !list.is_empty() {
            return Is::There;
        }
        self.0.release(id);
        Is::Gone
    }

    pub(crate) fn get(&self, key: K) -> impl Iterator<Item = V> + '_ {
        let list = self.find(key).map(|id| &self.0.get(id).1);
        list.into_iter().flat_map(|list| list.iter().copied())
    }

    fn find(&self, key: K) -> Option<ListId> {
        self.0.find(self.0.hash(key), |(other, _)| *other == key)
    }

    /// How many lists there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
