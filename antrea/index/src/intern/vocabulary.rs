//! The labels of Pods and Namespaces: keys, pairs and whole sets, each stored once.

use std::collections::BTreeMap;

use super::pool::{Hashed, Id, KeyId, PairId, Pool, SetId};

/// Stands for "no label in particular" where pairs order an index: every set of labels has it.
pub(crate) const ANY: PairId = PairId::MAX;

#[derive(Debug, Default)]
struct Pair {
    /// Nothing in an empty slot.
    key: Option<KeyId>,
    value: Box<str>,
}

/// All labels in use.
#[derive(Debug, Default)]
pub(crate) struct Vocabulary {
    keys: Pool<KeyId, Box<str>>,
    pairs: Pool<PairId, Pair>,
    sets: Pool<SetId, Box<[PairId]>>,
    /// Pairs of the set that is being looked for; kept so that looking allocates nothing.
    scratch: Vec<PairId>,
    /// The set that was looked for last, and its pairs in the order of their keys: the next one is often the same.
    last: Option<SetId>,
    last_pairs: Vec<PairId>,
}

impl Vocabulary {
    /// The set of these labels, with one hold more.
    pub(crate) fn hold_set(&mut self, labels: Option<&BTreeMap<String, String>>) -> SetId {
        if let Some(last) = self.last.filter(|_| self.is_last(labels)) {
            self.sets.hold(last);
            return last;
        }
        let mut pairs = std::mem::take(&mut self.scratch);
        pairs.clear();
        for (key, value) in labels.into_iter().flatten() {
            pairs.push(self.pair(key, value));
        }
        self.last_pairs.clone_from(&pairs);
        pairs.sort_unstable();
        let hash = self.sets.hash(pairs.as_slice());
        let found = self.sets.find(hash, |set| **set == *pairs);
        let id = found.unwrap_or_else(|| self.insert_set(hash, &pairs));
        self.sets.hold(id);
        self.scratch = pairs;
        self.last = Some(id);
        id
    }

    fn is_last(&self, labels: Option<&BTreeMap<String, String>>) -> bool {
        let mut pairs = labels.into_iter().flatten().zip(&self.last_pairs);
        labels.map_or(0, BTreeMap::len) == self.last_pairs.len()
            && pairs.all(|((key, value), pair)| self.is_pair(self.pairs.get(*pair), key, value))
    }

    fn insert_set(&mut self, hash: Hashed, pairs: &[PairId]) -> SetId {
        pairs.iter().for_each(|pair| self.hold_pair(*pair));
        self.sets.insert(hash, pairs.into())
    }

    pub(crate) fn release_set(&mut self, set: SetId) {
        let Some(pairs) = self.sets.release(set) else { return };
        self.last = None;
        pairs.iter().for_each(|pair| self.release_pair(*pair));
    }

    /// The pairs of a set, sorted.
    pub(crate) fn set(&self, set: SetId) -> &[PairId] {
        self.sets.get(set)
    }

    /// A label. Whoever keeps its number holds it.
    pub(crate) fn pair(&mut self, key: &str, value: &str) -> PairId {
        let hash = self.pairs.hash((key, value));
        if let Some(found) = self.pairs.find(hash, |pair| self.is_pair(pair, key, value)) {
            return found;
        }
        let id = self.key(key);
        self.keys.hold(id);
        self.pairs.insert(hash, Pair { key: Some(id), value: value.into() })
    }

    /// How many sets and selectors have a label.
    pub(crate) fn uses(&self, pair: PairId) -> u32 {
        self.pairs.holders(pair)
    }

    pub(crate) fn hold_pair(&mut self, pair: PairId) {
        self.pairs.hold(pair);
    }

    pub(crate) fn release_pair(&mut self, pair: PairId) {
        if let Some(key) = self.pairs.release(pair).and_then(|pair| pair.key) {
            self.release_key(key);
        }
    }

    /// A key. Whoever keeps its number holds it.
    pub(crate) fn key(&mut self, key: &str) -> KeyId {
        let hash = self.keys.hash(key);
        let found = self.keys.find(hash, |other| **other == *key);
        found.unwrap_or_else(|| self.keys.insert(hash, key.into()))
    }

    pub(crate) fn hold_key(&mut self, key: KeyId) {
        self.keys.hold(key);
    }

    pub(crate) fn release_key(&mut self, key: KeyId) {
        self.keys.release(key);
    }

    /// Whether labels with a key are in a set.
    pub(crate) fn has_key(&self, set: &[PairId], key: KeyId) -> bool {
        set.iter().any(|pair| self.pairs.get(*pair).key == Some(key))
    }

    fn is_pair(&self, pair: &Pair, key: &str, value: &str) -> bool {
        *pair.value == *value && self.key_of(pair) == Some(key)
    }

    fn key_of(&self, pair: &Pair) -> Option<&str> {
        pair.key.map(|key| &**self.keys.get(key))
    }

    /// How many keys, pairs and sets there are.
    pub(crate) fn sizes(&self) -> [usize; 3] {
        [self.keys.len(), self.pairs.len(), self.sets.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(text: &str) -> BTreeMap<String, String> {
        let pairs = text.split_whitespace().filter_map(|pair| pair.split_once('='));
        pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn equal_labels_are_one_set_and_go_with_their_last_holder() {
        let mut vocabulary = Vocabulary::default();
        let one = vocabulary.hold_set(Some(&labels("app=a tier=x")));
        let two = vocabulary.hold_set(Some(&labels("tier=x app=a")));
        let three = vocabulary.hold_set(Some(&labels("app=b")));
        assert_eq!((one, vocabulary.sizes()), (two, [2, 3, 2]));
        vocabulary.release_set(one);
        vocabulary.release_set(three);
        assert_eq!(vocabulary.sizes(), [2, 2, 1]);
        vocabulary.release_set(two);
        assert_eq!(vocabulary.sizes(), [0, 0, 0]);
    }
}
