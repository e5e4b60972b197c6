//! Lists by key in a hash table, such as what has a label, by this label.

use std::hash::Hash;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use super::few::Few;

/// Sorted lists by key; an empty one is not kept.
#[derive(Debug)]
pub(crate) struct Lists<K, V>(HashMap<K, Few<V>>);

impl<K, V> Default for Lists<K, V> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

/// Whether a list is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Is {
    There,
    Gone,
}

impl<K: Copy + Eq + Hash, V: Copy + Ord> Lists<K, V> {
    /// Tells whether there was a list before.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Is {
        match self.0.entry(key) {
            Entry::Occupied(list) => {
                list.into_mut().insert(value);
                Is::There
            }
            Entry::Vacant(none) => {
                none.insert(Few::One(value));
                Is::Gone
            }
        }
    }

    /// Tells whether there is a list after.
    pub(crate) fn remove(&mut self, key: K, value: &V) -> Is {
        let Entry::Occupied(mut list) = self.0.entry(key) else { return Is::Gone };
        list.get_mut().remove(value);
        if !list.get().is_empty() {
            return Is::There;
        }
        list.remove();
        Is::Gone
    }

    pub(crate) fn get(&self, key: K) -> impl Iterator<Item = V> + '_ {
        self.0.get(&key).into_iter().flat_map(|list| list.iter().copied())
    }

    /// How many lists there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
