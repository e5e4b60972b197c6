//! The objects that decisions are made of: everything that was listed and watched, as JSON, by kind and name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Bound;

use antrea_kit::watch::WatchEvent;
use serde::de::DeserializeOwned;
use serde_json::Value;

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

/// The text at a JSON pointer; empty where there is none.
pub fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// A label of an object.
pub fn label<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object.pointer("/metadata/labels")?.get(name)?.as_str()
}

/// An annotation of an object.
pub fn annotation<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object.pointer("/metadata/annotations")?.get(name)?.as_str()
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

/// All objects that are known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Objects {
    listed: BTreeSet<Kind>,
    objects: BTreeMap<Key, Value>,
}

impl Objects {
    /// Whether all objects of a kind are known, as opposed to none yet.
    pub fn has_listed(&self, kind: Kind) -> bool {
        self.listed.contains(&kind)
    }

    /// An object.
    pub fn get(&self, key: &Key) -> Option<&Value> {
        self.objects.get(key)
    }

    /// The objects of a kind, by Namespace and name.
    pub fn all(&self, kind: Kind) -> impl Iterator<Item = (&Key, &Value)> {
        self.from(Key::new(kind, "", "")).take_while(move |(key, _)| key.kind == kind)
    }

    /// The objects of a kind and Namespace whose names begin like that.
    pub fn named<'a>(
        &'a self,
        kind: Kind,
        namespace: &'a str,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a Key, &'a Value)> {
        let is_one =
            move |key: &Key| key.kind == kind && key.namespace == namespace && key.name.starts_with(prefix);
        self.from(Key::new(kind, namespace, prefix)).take_while(move |(key, _)| is_one(key))
    }

    fn from(&self, first: Key) -> impl Iterator<Item = (&Key, &Value)> {
        self.objects.range((Bound::Included(first), Bound::Unbounded))
    }

    /// All keys.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.objects.keys()
    }

    /// Takes in what a watch of `kind` tells; gives what has changed.
    pub fn learn(&mut self, kind: Kind, event: WatchEvent<Value>) -> Vec<Change> {
        match event {
            WatchEvent::Applied(object) => self.insert(kind, object).into_iter().collect(),
            WatchEvent::Deleted(object) => self.remove(&Key::of(kind, &object)).into_iter().collect(),
            WatchEvent::Resynced(all) => {
                self.listed.insert(kind);
                let all: BTreeMap<Key, Value> =
                    all.into_iter().map(|object| (Key::of(kind, &object), object)).collect();
                let gone: Vec<Key> = self
                    .all(kind)
                    .map(|(key, _)| key)
                    .filter(|key| !all.contains_key(key))
                    .cloned()
                    .collect();
                let removed: Vec<Change> = gone.iter().filter_map(|key| self.remove(key)).collect();
                let added: Vec<Change> =
                    all.into_values().filter_map(|object| self.insert(kind, object)).collect();
                removed.into_iter().chain(added).collect()
            }
        }
    }

    /// The object is like this now, as a watch or the answer to a request says. Watches may lag behind answers: what
    /// they tell then is corrected by what they tell next.
    pub fn insert(&mut self, kind: Kind, object: Value) -> Option<Change> {
        let key = Key::of(kind, &object);
        let before = self.objects.insert(key.clone(), object);
        (before.as_ref() != self.objects.get(&key)).then_some(Change { key, before })
    }

    /// The object is gone.
    pub fn remove(&mut self, key: &Key) -> Option<Change> {
        let before = self.objects.remove(key)?;
        Some(Change { key: key.clone(), before: Some(before) })
    }

    /// Nothing is known of a kind any more: whom it was learned from is gone.
    pub fn forget(&mut self, kind: Kind) {
        self.listed.remove(&kind);
        self.objects.retain(|key, _| key.kind != kind);
    }
}
