//! The objects of a kind as far as they are known: by watches, and by answers to requests.

use std::collections::BTreeMap;

use crate::watch::WatchEvent;

/// What is known of the objects of a kind, by name: nothing at all before the first list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known<T>(Option<BTreeMap<String, T>>);

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Known<T> {
    /// All objects; `None` before the first list.
    pub const fn all(&self) -> Option<&BTreeMap<String, T>> {
        self.0.as_ref()
    }

    /// Takes in what the watch tells. Changes before the first list are part of it.
    pub fn learn(&mut self, event: WatchEvent<(String, T)>) {
        match event {
            WatchEvent::Resynced(all) => self.0 = Some(all.into_iter().collect()),
            WatchEvent::Applied((name, object)) => self.insert(name, object),
            WatchEvent::Deleted((name, _)) => self.remove(&name),
        }
    }

    /// The object is there, which a request was answered.
    pub fn insert(&mut self, name: String, object: T) {
        if let Some(all) = &mut self.0 {
            all.insert(name, object);
        }
    }

    /// The object is gone, which a request was answered.
    pub fn remove(&mut self, name: &str) {
        if let Some(all) = &mut self.0 {
            all.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_before_the_first_list_are_not_the_whole() {
        let mut known = Known::default();
        known.learn(WatchEvent::Applied(("n1".to_owned(), ())));
        assert_eq!(known.all(), None);
        known.learn(WatchEvent::Resynced(vec![("n2".to_owned(), ())]));
        known.learn(WatchEvent::Applied(("n1".to_owned(), ())));
        known.learn(WatchEvent::Deleted(("n2".to_owned(), ())));
        assert_eq!(known.all(), Some(&BTreeMap::from([("n1".to_owned(), ())])));
    }

    #[test]
    fn an_answer_is_learned_once_the_whole_is_known() {
        let mut known = Known::default();
        known.insert("n1".to_owned(), ());
        assert_eq!(known.all(), None);
        known.learn(WatchEvent::Resynced(Vec::new()));
        known.insert("n1".to_owned(), ());
        assert_eq!(known.all().map(BTreeMap::len), Some(1));
        known.remove("n1");
        assert_eq!(known.all().map(BTreeMap::len), Some(0));
    }
}
