//! What is known of the objects of one kind: by its watch, and by answers to requests, whichever is newer.
//!
//! Versions are `metadata.resourceVersion`, which grows with each change of any object of the kind. One that is no
//! number counts as 0, which is never older than what is known.

use std::collections::{BTreeMap, BTreeSet};

use antrea_kit::watch::WatchEvent;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// What is kept of an object.
pub trait Record {
    /// Its name.
    fn name(&self) -> &str;
    /// Its version.
    fn version(&self) -> u64;
}

impl<T: Record> Record for Box<T> {
    fn name(&self) -> &str {
        self.as_ref().name()
    }

    fn version(&self) -> u64 {
        self.as_ref().version()
    }
}

/// The version that metadata tell.
pub(crate) fn version_of(metadata: &ObjectMeta) -> u64 {
    metadata.resource_version.as_deref().and_then(|version| version.parse().ok()).unwrap_or(0)
}

/// The objects of a kind, by name.
#[derive(Clone, Debug)]
pub(crate) struct Objects<T> {
    known: Option<BTreeMap<String, T>>,
    /// The newest version that the watch has told of.
    seen: u64,
    /// How often all of them have been listed.
    round: u64,
}

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Self { known: None, seen: 0, round: 0 }
    }
}

impl<T: Record> Objects<T> {
    /// Whether the first list is there.
    pub(crate) const fn is_complete(&self) -> bool {
        self.known.is_some()
    }

    /// How often all of them have been listed.
    pub(crate) const fn round(&self) -> u64 {
        self.round
    }

    /// An object.
    pub(crate) fn get(&self, name: &str) -> Option<&T> {
        self.known.as_ref()?.get(name)
    }

    /// An object, to take from it what is not kept.
    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut T> {
        self.known.as_mut()?.get_mut(name)
    }

    /// All objects, by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &T)> {
        self.known.iter().flatten()
    }

    /// Takes in what the watch tells; gives the names of the objects that it is about.
    pub(crate) fn learn(&mut self, event: WatchEvent<T>) -> BTreeSet<String> {
        match event {
            WatchEvent::Resynced(all) => self.resync(all),
            WatchEvent::Applied(object) => self.apply(object),
            WatchEvent::Deleted(object) => self.delete(&object),
        }
    }

    /// Takes in an object that a request of the round `asked` was answered. What the watch has told of already, maybe
    /// even that it is gone by now, stays. A list does not tell of what is gone: an answer of an earlier round may have
    /// been given before it, and counts for nothing. What came after the list the watch tells.
    pub(crate) fn learn_answer(&mut self, object: T, asked: u64) -> BTreeSet<String> {
        let is_told = object.version() != 0 && object.version() <= self.seen;
        if is_told || asked < self.round { BTreeSet::new() } else { self.put(object) }
    }

    fn resync(&mut self, all: Vec<T>) -> BTreeSet<String> {
        self.round += 1;
        self.seen = all.iter().map(Record::version).max().unwrap_or(0);
        let all: BTreeMap<String, T> =
            all.into_iter().map(|object| (object.name().to_owned(), object)).collect();
        let before = self.known.take().unwrap_or_default();
        let names = before.into_keys().chain(all.keys().cloned()).collect();
        self.known = Some(all);
        names
    }

    fn apply(&mut self, object: T) -> BTreeSet<String> {
        self.seen = self.seen.max(object.version());
        self.put(object)
    }

    fn delete(&mut self, object: &T) -> BTreeSet<String> {
        self.seen = self.seen.max(object.version());
        if self.is_outdated(object) {
            return BTreeSet::new();
        }
        let gone = self.known.as_mut().and_then(|known| known.remove_entry(object.name()));
        gone.map(|(name, _)| name).into_iter().collect()
    }

    /// Changes before the first list are part of it.
    fn put(&mut self, object: T) -> BTreeSet<String> {
        if self.is_outdated(&object) {
            return BTreeSet::new();
        }
        let Some(known) = &mut self.known else { return BTreeSet::new() };
        let name = object.name().to_owned();
        known.insert(name.clone(), object);
        BTreeSet::from([name])
    }

    fn is_outdated(&self, object: &T) -> bool {
        let known = self.get(object.name()).map_or(0, Record::version);
        object.version() != 0 && object.version() < known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Record for (&'static str, u64) {
        fn name(&self) -> &str {
            self.0
        }

        fn version(&self) -> u64 {
            self.1
        }
    }

    fn listed(all: &[(&'static str, u64)]) -> Objects<(&'static str, u64)> {
        let mut objects = Objects::default();
        objects.learn(WatchEvent::Resynced(all.to_vec()));
        objects
    }

    fn known(objects: &Objects<(&'static str, u64)>) -> String {
        let all: Vec<String> =
            objects.iter().map(|(_, (name, version))| format!("{name}@{version}")).collect();
        all.join(" ")
    }

    #[test]
    fn an_old_event_of_the_watch_does_not_undo_an_answer() {
        let mut objects = listed(&[("a", 1)]);
        objects.learn_answer(("a", 5), objects.round());
        assert!(objects.learn(WatchEvent::Applied(("a", 3))).is_empty());
        assert!(objects.learn(WatchEvent::Deleted(("a", 4))).is_empty());
        assert_eq!(known(&objects), "a@5");
    }

    #[test]
    fn a_late_answer_does_not_bring_back_what_is_gone() {
        let mut objects = listed(&[("a", 1)]);
        objects.learn(WatchEvent::Applied(("a", 2)));
        objects.learn(WatchEvent::Deleted(("a", 3)));
        assert!(objects.learn_answer(("a", 2), objects.round()).is_empty());
        assert_eq!(known(&objects), "");
    }

    #[test]
    fn an_answer_to_a_question_from_before_a_list_brings_nothing_back() {
        let mut objects = listed(&[("a", 1)]);
        let asked = objects.round();
        objects.learn(WatchEvent::Resynced(vec![("b", 2)]));
        assert!(objects.learn_answer(("a", 5), asked).is_empty());
        assert_eq!(known(&objects), "b@2");
        objects.learn_answer(("a", 6), objects.round());
        assert_eq!(known(&objects), "a@6 b@2", "this one was asked for after the list");
    }

    #[test]
    fn a_list_counts_also_after_the_api_server_has_lost_what_is_newer() {
        let mut objects = listed(&[("a", 9)]);
        objects.learn(WatchEvent::Resynced(vec![("a", 2)]));
        objects.learn_answer(("a", 4), objects.round());
        assert_eq!(known(&objects), "a@4");
    }

    #[test]
    fn a_list_replaces_everything_and_names_what_was_and_what_is() {
        let mut objects = listed(&[("a", 1), ("b", 2)]);
        let names = objects.learn(WatchEvent::Resynced(vec![("b", 2), ("c", 3)]));
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(known(&objects), "b@2 c@3");
    }

    #[test]
    fn nothing_is_known_before_the_first_list() {
        let mut objects = Objects::default();
        objects.learn(WatchEvent::Applied(("a", 1)));
        objects.learn_answer(("b", 1), objects.round());
        assert!(!objects.is_complete());
        assert_eq!(known(&objects), "");
    }
}
