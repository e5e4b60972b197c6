//! Objects of Services that were asked for one by one: before the answer nobody knows whether there are any.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Change, Key, Objects, SERVICE_LABEL, label, text, version};
use crate::kind::Kind;

/// The Service that an object belongs to: itself, or the one of an EndpointSlice.
pub(crate) fn service_of(kind: Kind, object: &Value) -> Option<Key> {
    let name = match kind {
        Kind::Service => text(object, "/metadata/name"),
        Kind::EndpointSlice => label(object, SERVICE_LABEL)?,
        _ => return None,
    };
    Some(Key::new(Kind::Service, text(object, "/metadata/namespace"), name))
}

/// What was asked for and not answered yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Fetches {
    /// The kinds of each Service.
    asked: BTreeMap<Key, BTreeMap<Kind, Asked>>,
    /// What watches have told to be gone meanwhile, and the version of that: an answer may be older.
    gone: BTreeMap<Key, u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// The answer is the first that is known.
    First,
    /// All objects of the kind were listed since.
    Outdated,
}

impl Fetches {
    /// An object is gone.
    pub(super) fn saw_gone(&mut self, key: &Key, version: u64) {
        let mut from = self.asked.range(Key::new(Kind::Service, &key.namespace, "")..);
        if from.next().is_some_and(|(service, _)| service.namespace == key.namespace) {
            self.gone.insert(key.clone(), version);
        }
    }

    fn is_gone(&self, kind: Kind, object: &Value) -> bool {
        let gone = self.gone.get(&Key::of(kind, object));
        version(object) != 0 && gone.is_some_and(|gone| version(object) <= *gone)
    }

    /// All objects of a kind that belong to these Services were listed.
    fn listed(&mut self, kind: Kind, is_listed: impl Fn(&Key) -> bool) {
        for (_, kinds) in self.asked.iter_mut().filter(|(service, _)| is_listed(service)) {
            if let Some(asked) = kinds.get_mut(&kind) {
                *asked = Asked::Outdated;
            }
        }
    }

    fn answered(&mut self, kind: Kind, service: &Key) -> Option<Asked> {
        let kinds = self.asked.get_mut(service)?;
        let asked = kinds.remove(&kind);
        if kinds.is_empty() {
            self.asked.remove(service);
        }
        asked
    }

    fn forget_gone(&mut self) {
        if self.asked.is_empty() {
            self.gone.clear();
        }
    }
}

impl Objects {
    /// The objects of a kind that belong to a Service are asked for.
    pub(crate) fn ask(&mut self, kind: Kind, service: &Key) {
        self.fetches.asked.entry(service.clone()).or_default().insert(kind, Asked::First);
    }

    /// Whether all that was asked for of a Service is answered.
    pub(crate) fn has_fetched(&self, service: &Key) -> bool {
        !self.fetches.asked.contains_key(service)
    }

    /// Takes in the answer: the objects of a kind that belonged to a Service when it was asked for. What watches have told
    /// since is newer. Gives what has changed.
    pub(crate) fn learn_part(&mut self, kind: Kind, service: &Key, all: Vec<Value>) -> Vec<Change> {
        let is_first = self.fetches.answered(kind, service) == Some(Asked::First);
        let is_news = |object: &Value| is_first && !self.fetches.is_gone(kind, object);
        let news: Vec<Value> = all.into_iter().filter(is_news).collect();
        self.fetches.forget_gone();
        news.into_iter().filter_map(|object| self.put(kind, object)).collect()
    }

    /// Takes in all objects of a kind that belong to certain Services; of others there may be more. Gives what has changed.
    pub(crate) fn relist(
        &mut self,
        kind: Kind,
        all: Vec<Value>,
        is_listed: impl Fn(&Key) -> bool,
    ) -> Vec<Change> {
        self.fetches.listed(kind, &is_listed);
        let of_listed = |object: &Value| service_of(kind, object).is_some_and(|service| is_listed(&service));
        let others = self.all(kind).map(|(_, object)| object).filter(|object| !of_listed(object)).cloned();
        // Of one that is in both, the list tells: resync takes the last.
        let all = others.collect::<Vec<Value>>().into_iter().chain(all.into_iter().filter(of_listed));
        let all = all.collect();
        self.resync(kind, all)
    }

    /// Nothing of a Service is kept any more.
    pub(crate) fn forget_service(&mut self, service: &Key) {
        self.fetches.asked.remove(service);
        self.fetches.forget_gone();
        let slices = self.slices(&service.namespace, &service.name);
        let slices: Vec<Key> = slices.map(|(key, _)| key.clone()).collect();
        slices.iter().chain([service]).for_each(|key| drop(self.forget_one(key)));
    }
}
