//! The objects that decisions are made of: everything that was listed and watched, as JSON, by kind and name.

mod imports;
mod label_sets;
mod looks;
mod packed;
mod shares;
mod slices;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Bound;

use antrea_kit::watch::WatchEvent;
use serde::de::DeserializeOwned;
use serde_json::Value;

use imports::Imports;
pub use label_sets::LabelSet;
use label_sets::LabelSets;
pub(crate) use label_sets::{NAMESPACE_LABEL, labels_of};
use looks::look;
#[cfg(test)]
pub(crate) use looks::looks;
use packed::Packed;
use shares::Shares;
pub(crate) use shares::taken;
pub use shares::{Account, Place};
pub use slices::SERVICE_LABEL;
use slices::Slices;

use crate::kind::Kind;

/// Which object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Its kind.
    pub kind: Kind,
    /// Its Namespace; empty where the kind has none.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Key {
    /// The object of a kind with this Namespace and name.
    pub fn new(kind: Kind, namespace: &str, name: &str) -> Self {
        Self { kind, namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// The key of an object, which its metadata says.
    pub fn of(kind: Kind, object: &Value) -> Self {
        Self::new(kind, text(object, "/metadata/namespace"), text(object, "/metadata/name"))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => write!(f, "{:?} {}", self.kind, self.name),
            namespace => write!(f, "{:?} {namespace}/{}", self.kind, self.name),
        }
    }
}

/// What is at a JSON pointer (RFC 6901) that escapes nothing: decisions ask for so many that nothing is copied for it.
pub fn at<'a>(object: &'a Value, pointer: &str) -> Option<&'a Value> {
    pointer.split('/').skip(1).try_fold(object, |value, token| match value {
        Value::Array(items) => items.get(token.parse::<usize>().ok()?),
        value => value.get(token),
    })
}

/// The text at a JSON pointer; empty where there is none.
pub fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    at(object, pointer).and_then(Value::as_str).unwrap_or_default()
}

/// A label of an object.
pub fn label<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    at(object, "/metadata/labels")?.get(name)?.as_str()
}

/// An annotation of an object.
pub fn annotation<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    at(object, "/metadata/annotations")?.get(name)?.as_str()
}

/// The version that its metadata tell.
fn version(object: &Value) -> u64 {
    text(object, "/metadata/resourceVersion").parse().unwrap_or_default()
}

/// Whether an object is being deleted and only waits for finalizers.
pub fn is_leaving(object: &Value) -> bool {
    !text(object, "/metadata/deletionTimestamp").is_empty()
}

/// An object as its type; nothing where it does not fit.
pub fn read<T: DeserializeOwned>(object: &Value) -> Option<T> {
    T::deserialize(object).ok()
}

/// What an object was before a change, and what it is now; nothing where it was not there.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The object.
    pub key: Key,
    /// What it was.
    pub before: Option<Value>,
}

/// All objects that are known: by watches and by answers to requests, whichever is newer. What is packed is as good as
/// unknown: it comes as a change with the ServiceExport of its Service, and goes with it.
///
/// Versions are `metadata.resourceVersion`, which grows with each change of any object of a kind. One that is no number
/// counts as 0, which is never older than what is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Objects {
    listed: BTreeSet<Kind>,
    /// The newest version that the watch of a kind has told of.
    seen: BTreeMap<Kind, u64>,
    /// How often all objects of a kind have been listed.
    rounds: BTreeMap<Kind, u64>,
    objects: BTreeMap<Key, Value>,
    packed: Packed,
    slices: Slices,
    imports: Imports,
    shares: Shares,
    label_sets: LabelSets,
}

impl Objects {
    /// Whether all objects of a kind are known, as opposed to none yet.
    pub fn has_listed(&self, kind: Kind) -> bool {
        self.listed.contains(&kind)
    }

    /// How often all objects of a kind have been listed. A list does not tell of what is gone: what was asked in an
    /// earlier round may have been answered before it.
    pub fn round(&self, kind: Kind) -> u64 {
        self.rounds.get(&kind).copied().unwrap_or_default()
    }

    /// An object.
    pub fn get(&self, key: &Key) -> Option<&Value> {
        self.get_key_value(key).map(|(_, object)| object)
    }

    fn get_key_value(&self, key: &Key) -> Option<(&Key, &Value)> {
        look();
        self.objects.get_key_value(key)
    }

    /// The objects of a kind, by Namespace and name.
    pub fn all(&self, kind: Kind) -> impl Iterator<Item = (&Key, &Value)> {
        let from = self.objects.range((Bound::Included(Key::new(kind, "", "")), Bound::Unbounded));
        from.inspect(|_| look()).take_while(move |(key, _)| key.kind == kind)
    }

    /// The EndpointSlices of a Service, by its name in their label.
    pub fn slices(&self, namespace: &str, service: &str) -> impl Iterator<Item = (&Key, &Value)> {
        self.slices.of(namespace, service).filter_map(|key| self.get_key_value(&key))
    }

    /// The names of the imported Services of a Namespace, sorted, once for each ResourceImport.
    pub fn imported_services(&self, namespace: &str) -> impl Iterator<Item = &str> {
        self.imports.services(namespace).inspect(|_| look())
    }

    /// Whether there is a ResourceImport of a Service.
    pub fn is_imported_service(&self, namespace: &str, name: &str) -> bool {
        self.imports.has_service(namespace, name)
    }

    /// The names of the imported policies, sorted, once for each ResourceImport.
    pub fn imported_policies(&self) -> impl Iterator<Item = &str> {
        self.imports.policies().inspect(|_| look())
    }

    /// Whether what a ResourceImport takes from an account is within the first `most`.
    pub fn is_within(&self, account: &Account, most: usize, import: &Key) -> bool {
        let Some(place) = self.get(import).map(Place::of) else { return false };
        self.shares.has(account, &place)
            && self.shares.first_beyond(account, most).is_none_or(|beyond| place < *beyond)
    }

    /// How much all ResourceImports take from an account.
    pub fn total_of(&self, account: &Account) -> usize {
        self.shares.total(account)
    }

    /// The first ResourceImport that takes more from an account than the first `most`.
    pub fn first_beyond(&self, account: &Account, most: usize) -> Option<&Place> {
        self.shares.first_beyond(account, most)
    }

    /// The ResourceImports that take something from an account, from one place on and before another one.
    pub fn imports_between(
        &self,
        account: &Account,
        from: &Place,
        until: Option<&Place>,
    ) -> impl Iterator<Item = &Place> {
        self.shares.between(account, from, until).into_iter().inspect(|_| look())
    }

    /// The labels that Pods of a Namespace have, or that are exported.
    pub fn label_sets(&self, namespace: &str) -> impl Iterator<Item = &LabelSet> {
        self.label_sets.within(namespace).inspect(|_| look())
    }

    /// How many Pods have these labels.
    pub fn pods_with(&self, set: &LabelSet) -> usize {
        self.label_sets.pods(set)
    }

    /// The ResourceExports of these labels, of this cluster and of others.
    pub fn exports_of(&self, set: &LabelSet) -> impl Iterator<Item = (&Key, &Value)> {
        self.label_sets.exports(set).filter_map(|key| self.get_key_value(key))
    }

    /// All keys.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.objects.keys().inspect(|_| look())
    }

    /// Takes in what a watch of `kind` tells; gives what has changed.
    pub fn learn(&mut self, kind: Kind, event: WatchEvent<Value>) -> Vec<Change> {
        match event {
            WatchEvent::Applied(object) => {
                self.saw(kind, version(&object));
                self.put(kind, object)
            }
            WatchEvent::Deleted(object) => {
                self.saw(kind, version(&object));
                let key = Key::of(kind, &object);
                if self.is_outdated(&key, &object) { Vec::new() } else { self.remove(&key) }
            }
            WatchEvent::Resynced(all) => self.resync(kind, all),
        }
    }

    /// These are all objects of a kind, also where versions say otherwise: the API server may have lost the newest.
    fn resync(&mut self, kind: Kind, all: Vec<Value>) -> Vec<Change> {
        self.listed.insert(kind);
        *self.rounds.entry(kind).or_default() += 1;
        self.seen.insert(kind, all.iter().map(version).max().unwrap_or_default());
        let all: BTreeMap<Key, Value> =
            all.into_iter().map(|object| (Key::of(kind, &object), object)).collect();
        let gone: Vec<Key> = self.held(kind).filter(|key| !all.contains_key(key)).cloned().collect();
        let removed: Vec<Change> = gone.iter().flat_map(|key| self.remove(key)).collect();
        let added: Vec<Change> = all.into_iter().flat_map(|(key, object)| self.set(key, object)).collect();
        removed.into_iter().chain(added).collect()
    }

    /// Takes in an object that a request was answered. What the watch has told of already, maybe even that it is gone by
    /// now, stays: an answer may be looked at late. Gives what has changed.
    pub fn insert(&mut self, kind: Kind, object: Value) -> Vec<Change> {
        let told = version(&object) != 0 && Some(&version(&object)) <= self.seen.get(&kind);
        if told { Vec::new() } else { self.put(kind, object) }
    }

    fn put(&mut self, kind: Kind, object: Value) -> Vec<Change> {
        let key = Key::of(kind, &object);
        if self.is_outdated(&key, &object) { Vec::new() } else { self.set(key, object) }
    }

    fn set(&mut self, key: Key, object: Value) -> Vec<Change> {
        let change = self.set_one(key, object);
        change.map(|change| self.with_its_service(change)).unwrap_or_default()
    }

    fn set_one(&mut self, key: Key, object: Value) -> Option<Change> {
        if self.get(&key) == Some(&object) {
            return None;
        }
        let before = self.forget_one(&key);
        if self.is_to_pack(&key, &object) {
            self.packed.put(&key, &object);
            return before.map(|before| Change { key, before: Some(before) });
        }
        self.slices.add(&key, &object);
        self.imports.add(&key, &object);
        self.shares.add(&key, &object);
        self.label_sets.add(&key, &object);
        self.objects.insert(key.clone(), object);
        Some(Change { key, before })
    }

    fn saw(&mut self, kind: Kind, version: u64) {
        let seen = self.seen.entry(kind).or_default();
        *seen = version.max(*seen);
    }

    fn is_outdated(&self, key: &Key, object: &Value) -> bool {
        let held = self.get(key).map_or_else(|| self.packed.version(key), version);
        version(object) != 0 && version(object) < held
    }

    /// The object is gone. Gives what has changed.
    pub fn remove(&mut self, key: &Key) -> Vec<Change> {
        let Some(before) = self.forget_one(key) else { return Vec::new() };
        self.with_its_service(Change { key: key.clone(), before: Some(before) })
    }

    /// What was known under a key; what was packed under it goes, too.
    fn forget_one(&mut self, key: &Key) -> Option<Value> {
        self.packed.take(key);
        let before = self.objects.remove(key)?;
        self.slices.remove(key, &before);
        self.imports.remove(key, &before);
        self.shares.remove(key, &before);
        self.label_sets.remove(key, &before);
        Some(before)
    }

    /// Nothing is known of a kind any more: whom it was learned from is gone.
    pub fn forget(&mut self, kind: Kind) {
        self.listed.remove(&kind);
        self.seen.remove(&kind);
        let gone: Vec<Key> = self.held(kind).cloned().collect();
        gone.iter().for_each(|key| drop(self.remove(key)));
    }

    /// The keys of a kind that are known, and those that are packed.
    fn held(&self, kind: Kind) -> impl Iterator<Item = &Key> {
        self.all(kind).map(|(key, _)| key).chain(self.packed.keys(kind))
    }
}

#[cfg(test)]
mod tests;
