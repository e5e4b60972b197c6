//! Services whose objects are kept: those that have a ServiceExport, of the thousands that a cluster may have. API servers
//! cannot choose by that, so that all of them are watched, and those of others are dropped as they come.
//!
//! A Service that becomes of interest later is asked for. Whatever is told belongs to a moment, or what was dropped meanwhile
//! would be missed: moments are counted by the Services that have become of interest.

use std::collections::BTreeMap;
use std::mem::take;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use antrea_kit::untyped::Untyped;
use kube::runtime::watcher::Event;
use serde_json::Value;

use crate::kept;
use crate::kind::Kind;
use crate::objects::{Key, service_of, text};

/// The Services of interest. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interest(Arc<RwLock<Services>>);

#[derive(Debug, Default)]
struct Services {
    now: u64,
    /// Since when each of them is of interest.
    since: BTreeMap<Key, u64>,
}

impl Interest {
    /// A Service is of interest from this moment on, which comes after all before.
    pub(crate) fn begin(&self, service: &Key) -> u64 {
        let mut services = self.write();
        services.now += 1;
        let now = services.now;
        services.since.insert(service.clone(), now);
        now
    }

    /// A Service is not of interest any more.
    pub(crate) fn end(&self, service: &Key) {
        self.write().since.remove(service);
    }

    /// This moment.
    pub(crate) fn now(&self) -> u64 {
        self.read().now
    }

    /// Since when a Service is of interest, if it is.
    pub(crate) fn since(&self, service: &Key) -> Option<u64> {
        self.read().since.get(service).copied()
    }

    /// Whether some Service of a Namespace is of interest.
    fn has_any_in(&self, namespace: &str) -> bool {
        let services = self.read();
        let mut from = services.since.range(Key::new(Kind::Service, namespace, "")..);
        from.next().is_some_and(|(service, _)| service.namespace == namespace)
    }

    fn read(&self) -> RwLockReadGuard<'_, Services> {
        // Each change leaves them whole, whatever panicked.
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Services> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is told of objects of Services.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum News {
    /// By the watch: an object is new or has changed, of a Service that was of interest since this moment.
    Applied { kind: Kind, since: u64, object: Value },
    /// By the watch: an object is gone, or may have become that of a Service that is of no interest.
    Gone { kind: Kind, object: Value },
    /// By the watch: these are all objects of the Services that were of interest at this moment.
    Listed { kind: Kind, at: u64, all: Vec<Value> },
    /// By an answer: these were all objects of this Service, which was asked for as it became of interest at this moment.
    Fetched { kind: Kind, service: Key, since: u64, all: Vec<Value> },
}

/// Chooses from what the watch of a kind tells.
pub(crate) struct Filter {
    kind: Kind,
    interest: Interest,
    /// The moment at which the last list began.
    began: u64,
    listed: Vec<Value>,
}

impl Filter {
    pub(crate) const fn new(kind: Kind, interest: Interest) -> Self {
        Self { kind, interest, began: 0, listed: Vec::new() }
    }

    /// What is told of an event, if anything is.
    pub(crate) fn choose(&mut self, event: Event<Untyped>) -> Option<News> {
        let kind = self.kind;
        match event {
            Event::Init => {
                self.listed.clear();
                self.began = self.interest.now();
                None
            }
            Event::InitApply(Untyped { object, .. }) => {
                if self.since(&object).is_some_and(|since| since <= self.began) {
                    self.listed.push(kept::exported(kind, object));
                }
                None
            }
            Event::InitDone => Some(News::Listed { kind, at: self.began, all: take(&mut self.listed) }),
            Event::Apply(Untyped { object, .. }) => match self.since(&object) {
                Some(since) => Some(News::Applied { kind, since, object: kept::exported(kind, object) }),
                None if self.may_have_moved(&object) => Some(News::Gone { kind, object: kept::gone(object) }),
                None => None,
            },
            Event::Delete(Untyped { object, .. }) => {
                let is_chosen = self.since(&object).is_some();
                is_chosen.then(|| News::Gone { kind, object: kept::gone(object) })
            }
        }
    }

    fn since(&self, object: &Value) -> Option<u64> {
        self.interest.since(&service_of(self.kind, object)?)
    }

    /// Whether an object may have belonged to a Service that is of interest: the label of an EndpointSlice can change.
    fn may_have_moved(&self, object: &Value) -> bool {
        self.kind == Kind::EndpointSlice && self.interest.has_any_in(text(object, "/metadata/namespace"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::objects::SERVICE_LABEL;

    fn service(name: &str) -> Key {
        Key::new(Kind::Service, "shop", name)
    }

    fn slice(name: &str, service: &str) -> Untyped {
        let labels = json!({ SERVICE_LABEL: service, "more": "than is kept" });
        json!({ "metadata": { "name": name, "namespace": "shop", "labels": labels } }).into()
    }

    /// What is told, in short.
    fn told(news: Option<News>) -> String {
        let names = |all: &[Value]| {
            all.iter().map(|object| text(object, "/metadata/name")).collect::<Vec<_>>().join(" ")
        };
        match news {
            None => String::new(),
            Some(News::Applied { since, object, .. }) => format!("{} since {since}", names(&[object])),
            Some(News::Gone { object, .. }) => format!("{} is gone", names(&[object])),
            Some(News::Listed { at, all, .. }) => format!("[{}] at {at}", names(&all)),
            Some(News::Fetched { .. }) => "an answer".to_owned(),
        }
    }

    #[test]
    fn objects_of_other_services_are_dropped() {
        let interest = Interest::default();
        let mut filter = Filter::new(Kind::EndpointSlice, interest.clone());
        let mut check =
            |event: Event<Untyped>, expected: &str| assert_eq!(told(filter.choose(event)), expected);
        check(Event::Apply(slice("w1", "web")), "");
        interest.begin(&service("web"));
        for event in [Event::Init, Event::InitApply(slice("w1", "web")), Event::InitApply(slice("a1", "api"))]
        {
            check(event, "");
        }
        check(Event::InitDone, "[w1] at 1");
        check(Event::Apply(slice("w2", "web")), "w2 since 1");
        check(Event::Delete(slice("w2", "web")), "w2 is gone");
        check(Event::Delete(slice("a1", "api")), "");
        interest.end(&service("web"));
        check(Event::Apply(slice("w1", "web")), "");
    }

    #[test]
    fn a_list_has_the_services_alone_that_were_of_interest_when_it_began() {
        let interest = Interest::default();
        let mut filter = Filter::new(Kind::EndpointSlice, interest.clone());
        interest.begin(&service("web"));
        filter.choose(Event::Init);
        filter.choose(Event::InitApply(slice("a1", "api")));
        interest.begin(&service("api"));
        for event in [slice("a2", "api"), slice("w1", "web")].map(Event::InitApply) {
            filter.choose(event);
        }
        assert_eq!(told(filter.choose(Event::InitDone)), "[w1] at 1");
        assert_eq!(told(filter.choose(Event::Apply(slice("a1", "api")))), "a1 since 2");
    }

    #[test]
    fn a_slice_that_becomes_another_services_is_gone() {
        let interest = Interest::default();
        let mut filter = Filter::new(Kind::EndpointSlice, interest.clone());
        interest.begin(&Key::new(Kind::Service, "shop-2", "web"));
        assert_eq!(
            told(filter.choose(Event::Apply(slice("w1", "api")))),
            "",
            "nothing of its Namespace is kept"
        );
        interest.begin(&service("web"));
        assert_eq!(told(filter.choose(Event::Apply(slice("w1", "api")))), "w1 is gone");
    }
}
