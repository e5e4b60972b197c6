//! Slots with numbers, found by hash, counted by holder, and used again when nobody holds them.

use std::hash::{BuildHasher, Hash};

use antrea_policy::Chunks;
use hashbrown::{DefaultHashBuilder, HashTable};

/// A number of a slot.
pub(crate) trait Id: Copy {
    const MIN: Self;
    const MAX: Self;

    fn from_index(index: usize) -> Self;
    fn index(self) -> usize;
}

macro_rules! ids {
    ($($(#[$documentation:meta])* $name:ident,)*) => {$(
        $(#[$documentation])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) struct $name(pub(crate) u32);

        impl Id for $name {
            const MIN: Self = Self(0);
            const MAX: Self = Self(u32::MAX);

            #[expect(clippy::cast_possible_truncation, reason = "2^32 slots do not fit into memory")]
            fn from_index(index: usize) -> Self {
                Self(index as u32)
            }

            fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// Of a label's key.
    KeyId,
    /// Of a label: key and value.
    PairId,
    /// Of a set of labels.
    SetId,
    /// Of a selector over labels, of Pods or Namespaces.
    SelectorId,
    /// Of a Namespace.
    NamespaceId,
    /// Of a Node that Pods run on.
    NodeId,
    /// Of a Pod.
    PodId,
    /// Of all Pods of a Namespace that have the same labels.
    ClassId,
    /// Of a group: a selector with its scope.
    GroupId,
    /// Of a policy.
    PolicyId,
    /// Of a list of what has a label.
    ListId,
}

/// What a value is found by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hashed(u32);

impl Hashed {
    fn new(hash: u64) -> Self {
        Self(u32::try_from(hash >> 32).unwrap_or_default())
    }

    /// Spread over all bits, as a table needs it.
    fn wide(self) -> u64 {
        u64::from(self.0).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

#[derive(Debug, Default)]
struct Slot<T> {
    hash: Hashed,
    holders: u32,
    value: T,
}

/// Has the hash beside the number, so that a table looks at no slot of another value, not even when it grows.
#[derive(Debug)]
struct Place<I> {
    hash: Hashed,
    id: I,
}

/// Values by number. A slot without holders is empty: its value is the default one, and nobody may know its number.
#[derive(Debug)]
pub(crate) struct Pool<I, T> {
    slots: Chunks<Slot<T>>,
    free: Vec<I>,
    table: HashTable<Place<I>>,
    hasher: DefaultHashBuilder,
}

impl<I, T> Default for Pool<I, T> {
    fn default() -> Self {
        Self {
            slots: Chunks::default(),
            free: Vec::new(),
            table: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        }
    }
}

impl<I: Id, T: Default> Pool<I, T> {
    pub(crate) fn hash(&self, key: impl Hash) -> Hashed {
        Hashed::new(self.hasher.hash_one(key))
    }

    pub(crate) fn find(&self, hash: Hashed, same: impl Fn(&T) -> bool) -> Option<I> {
        let is_it = |place: &Place<I>| place.hash == hash && same(&self.slots[place.id.index()].value);
        self.table.find(hash.wide(), is_it).map(|place| place.id)
    }

    /// Puts a value that is not there yet into a slot, which nobody holds as yet.
    pub(crate) fn insert(&mut self, hash: Hashed, value: T) -> I {
        let slot = Slot { hash, holders: 0, value };
        let id = self.free.pop().unwrap_or_else(|| I::from_index(self.slots.len()));
        match self.slots.get_mut(id.index()) {
            Some(free) => *free = slot,
            None => self.slots.push(slot),
        }
        self.table.insert_unique(hash.wide(), Place { hash, id }, |place| place.hash.wide());
        id
    }

    pub(crate) fn hold(&mut self, id: I) {
        self.slots[id.index()].holders += 1;
    }

    /// Gives up one hold; the value, if it was the last.
    pub(crate) fn release(&mut self, id: I) -> Option<T> {
        let slot = &mut self.slots[id.index()];
        slot.holders -= 1;
        if slot.holders > 0 {
            return None;
        }
        let (hash, value) = (slot.hash, std::mem::take(&mut slot.value));
        if let Ok(entry) = self.table.find_entry(hash.wide(), |place| place.id.index() == id.index()) {
            entry.remove();
        }
        self.free.push(id);
        Some(value)
    }

    pub(crate) fn holders(&self, id: I) -> u32 {
        self.slots[id.index()].holders
    }

    pub(crate) fn get(&self, id: I) -> &T {
        &self.slots[id.index()].value
    }

    pub(crate) fn get_mut(&mut self, id: I) -> &mut T {
        &mut self.slots[id.index()].value
    }

    /// What is held, in the order of numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (I, &T)> {
        let slots = self.slots.iter().enumerate();
        slots.filter(|(_, slot)| slot.holders > 0).map(|(at, slot)| (I::from_index(at), &slot.value))
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }
}

/// A sorted list as a set: small, in one allocation, and cheap where numbers mostly grow.
pub(crate) fn insert_sorted<T: Ord>(list: &mut Vec<T>, value: T) {
    if list.last().is_none_or(|last| *last < value) {
        list.push(value);
    } else if let Err(at) = list.binary_search(&value) {
        list.insert(at, value);
    }
}

pub(crate) fn remove_sorted<T: Ord>(list: &mut Vec<T>, value: &T) {
    if let Ok(at) = list.binary_search(value) {
        list.remove(at);
    }
    if list.is_empty() {
        *list = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_used_again_when_the_last_holder_is_gone() {
        let mut pool: Pool<PairId, String> = Pool::default();
        let hash = pool.hash("a");
        let id = pool.insert(hash, "a".to_owned());
        pool.hold(id);
        pool.hold(id);
        assert_eq!((pool.release(id), pool.find(hash, |value| value == "a")), (None, Some(id)));
        assert_eq!(pool.release(id).as_deref(), Some("a"));
        assert_eq!((pool.find(hash, |value| value == "a"), pool.len()), (None, 0));
        assert_eq!(pool.insert(hash, "b".to_owned()), id);
    }

    #[test]
    fn a_sorted_list_is_a_set() {
        let mut list = Vec::new();
        [3, 1, 2, 3, 1].into_iter().for_each(|value| insert_sorted(&mut list, value));
        remove_sorted(&mut list, &2);
        remove_sorted(&mut list, &7);
        assert_eq!(list, [1, 3]);
    }
}
