//! Watches of the objects that an area decides on.

use std::collections::BTreeSet;
use std::future::pending;
use std::mem::take;

use antrea_kit::untyped::Untyped;
use antrea_kit::watch::{WatchEvent, watch_each};
use antrea_mc_core::addresses::EndpointAddresses;
use anyhow::{Error, anyhow};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::import::kept_for_imports;
use crate::kept::{exported, gone, trim};
use crate::kind::Kind;
use crate::objects::{Key, text};

/// Which objects of a kind are watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Watched {
    /// The kind.
    pub(crate) kind: Kind,
    /// Those of one Namespace; those of all without.
    pub(crate) namespace: Option<String>,
    /// A label selector.
    pub(crate) labels: Option<String>,
    /// The one with this name; the API server tells of no other.
    pub(crate) name: Option<String>,
    /// Which of these are kept, and what of them.
    pub(crate) keep: Keep,
}

/// Which objects are kept of those that are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// All.
    All,
    /// Those whose names begin so.
    Prefix(&'static str),
    /// What Services are exported with. It is packed for as long as they have no ServiceExport.
    Exported,
    /// Those that imports depend on, where these addresses are exported.
    ForImports(EndpointAddresses),
}

impl Keep {
    /// What is kept of an object.
    ///
    /// # Errors
    /// The object, where nothing of it is kept.
    fn of(self, kind: Kind, object: Value) -> Result<Value, Value> {
        match self {
            Self::All => Ok(trim(kind, object)),
            Self::Prefix(prefix) if text(&object, "/metadata/name").starts_with(prefix) => {
                Ok(trim(kind, object))
            }
            Self::Prefix(_) => Err(object),
            Self::Exported => Ok(exported(kind, object)),
            Self::ForImports(addresses) => kept_for_imports(kind, object, addresses),
        }
    }

    /// Whether an object that is kept may change into one that is not. Names never change.
    const fn may_end(self) -> bool {
        matches!(self, Self::ForImports(_))
    }
}

/// Chooses from what the watch of a kind tells.
struct Chooser {
    kind: Kind,
    keep: Keep,
    /// The objects that were told of and may change into some that are not kept.
    told: BTreeSet<Key>,
    /// A list that is not complete yet.
    listed: Vec<Value>,
}

impl Chooser {
    const fn new(kind: Kind, keep: Keep) -> Self {
        Self { kind, keep, told: BTreeSet::new(), listed: Vec::new() }
    }

    /// What is told of an event, if anything is. An object that was told of and is not kept any more is gone.
    fn choose(&mut self, event: Event<Untyped>) -> Option<WatchEvent<Value>> {
        match event {
            Event::Init => {
                self.told.clear();
                self.listed.clear();
                None
            }
            Event::InitApply(Untyped { object, .. }) => {
                let kept = self.kept(object);
                self.listed.extend(kept);
                None
            }
            Event::InitDone => Some(WatchEvent::Resynced(take(&mut self.listed))),
            Event::Apply(Untyped { object, .. }) => match self.kept(object) {
                Ok(kept) => Some(WatchEvent::Applied(kept)),
                Err(other) => self.forget(&other).then(|| WatchEvent::Deleted(gone(other))),
            },
            Event::Delete(Untyped { object, .. }) => {
                let was_told = self.forget(&object);
                match self.keep.of(self.kind, object) {
                    Ok(kept) => Some(WatchEvent::Deleted(kept)),
                    Err(other) => was_told.then(|| WatchEvent::Deleted(gone(other))),
                }
            }
        }
    }

    fn kept(&mut self, object: Value) -> Result<Value, Value> {
        let kept = self.keep.of(self.kind, object)?;
        if self.keep.may_end() {
            self.told.insert(Key::of(self.kind, &kept));
        }
        Ok(kept)
    }

    /// Whether an object was told of that may change.
    fn forget(&mut self, object: &Value) -> bool {
        self.told.remove(&Key::of(self.kind, object))
    }
}

impl Watched {
    /// All objects of a kind.
    pub(crate) const fn all(kind: Kind) -> Self {
        Self { kind, namespace: None, labels: None, name: None, keep: Keep::All }
    }

    /// Those of a Namespace.
    pub(crate) fn of(kind: Kind, namespace: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), ..Self::all(kind) }
    }

    /// The one of a Namespace with this name.
    pub(crate) fn one(kind: Kind, namespace: &str, name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..Self::of(kind, namespace) }
    }

    /// Where they are watched.
    fn api(&self, client: Client) -> Api<Untyped> {
        let resource = self.kind.resource();
        match &self.namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &resource),
            None => Api::all_with(client, &resource),
        }
    }

    /// What the API server chooses.
    fn config(&self) -> watcher::Config {
        let mut config = watcher::Config::default();
        if let Some(labels) = &self.labels {
            config = config.labels(labels);
        }
        if let Some(name) = &self.name {
            config = config.fields(&format!("metadata.name={name}"));
        }
        config
    }
}

/// What a watch tells: of which kind, and since which connection.
pub(crate) type Told = (Kind, u64, WatchEvent<Value>);

/// Begins watches that tell one receiver.
#[derive(Clone)]
pub(crate) struct Watcher {
    /// The connection that is watched over.
    pub(crate) connection: u64,
    /// The receiver.
    pub(crate) told: mpsc::Sender<Told>,
}

/// Watches that go on until this is dropped.
#[must_use = "watches end with it"]
pub(crate) struct Watches(JoinSet<Kind>);

impl Watches {
    /// What became of one that has ended. None does by itself: one that has would leave its kind unknown, and nobody would
    /// notice.
    pub(crate) async fn ended(&mut self) -> Error {
        match self.0.join_next().await {
            Some(Ok(kind)) => anyhow!("the watch of {kind:?} ended"),
            Some(Err(error)) => Error::from(error).context("a watch ended"),
            None => pending().await,
        }
    }
}

impl Watcher {
    /// Begins to watch.
    pub(crate) fn start(&self, client: &Client, watched: &[Watched]) -> Watches {
        let watch = |watched: &Watched| self.clone().watch(client.clone(), watched.clone());
        Watches(watched.iter().map(watch).collect())
    }

    async fn watch(self, client: Client, watched: Watched) -> Kind {
        let Self { connection, told } = self;
        let (api, config, resource) = (watched.api(client), watched.config(), watched.kind.resource());
        let Watched { kind, keep, .. } = watched;
        let (events, mut received) = mpsc::channel(64);
        let mut chooser = Chooser::new(kind, keep);
        let choose = |event| chooser.choose(event);
        let tell = async {
            while let Some(event) = received.recv().await {
                if told.send((kind, connection, event)).await.is_err() {
                    break;
                }
            }
        };
        tokio::select! {
            _ = watch_each(&resource.kind, api, config, choose, events, CancellationToken::new()) => {}
            () = tell => {}
        }
        kind
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::objects::{Objects, SERVICE_LABEL, at};

    fn slice(name: &str, version: u32, managed_by: &str) -> Untyped {
        let labels = json!({ SERVICE_LABEL: "db", "endpointslice.kubernetes.io/managed-by": managed_by });
        let metadata = json!({
            "name": name, "namespace": "shop", "resourceVersion": version.to_string(), "labels": labels,
        });
        json!({ "metadata": metadata, "addressType": "IPv4" }).into()
    }

    /// Those that are known after these events.
    fn known(events: impl IntoIterator<Item = Event<Untyped>>) -> Vec<String> {
        let keep = Keep::ForImports(EndpointAddresses::ClusterIps);
        let mut chooser = Chooser::new(Kind::EndpointSlice, keep);
        let mut objects = Objects::default();
        for event in events {
            if let Some(event) = chooser.choose(event) {
                objects.learn(Kind::EndpointSlice, event);
            }
        }
        objects.all(Kind::EndpointSlice).map(|(key, _)| key.name.clone()).collect()
    }

    const KUBERNETES: &str = "endpointslice-controller.k8s.io";

    #[test]
    fn what_is_not_kept_any_more_is_gone() {
        let listed = || {
            [
                Event::Init,
                Event::InitApply(slice("own", 1, "me")),
                Event::InitApply(slice("db-1", 2, KUBERNETES)),
            ]
        };
        let events = |more: Vec<Event<Untyped>>| listed().into_iter().chain([Event::InitDone]).chain(more);
        assert_eq!(known(events(vec![])), ["own"]);
        let handed_over = || Event::Apply(slice("own", 3, KUBERNETES));
        assert_eq!(known(events(vec![handed_over()])), [""; 0]);
        let taken_back = Event::Apply(slice("own", 4, "me"));
        assert_eq!(known(events(vec![handed_over(), taken_back])), ["own"]);
        let last_seen_as_another = Event::Delete(slice("own", 3, KUBERNETES));
        assert_eq!(known(events(vec![last_seen_as_another])), [""; 0]);
    }

    #[test]
    fn an_exporter_is_told_of_all_what_it_exports() {
        let mut chooser = Chooser::new(Kind::EndpointSlice, Keep::Exported);
        let Some(WatchEvent::Applied(told)) = chooser.choose(Event::Apply(slice("db-1", 2, KUBERNETES)))
        else {
            panic!("nothing is told");
        };
        assert_eq!(at(&told, "/metadata/labels"), Some(&json!({ SERVICE_LABEL: "db" })));
    }

    #[test]
    fn of_what_was_never_kept_nothing_is_told() {
        let keep = Keep::ForImports(EndpointAddresses::ClusterIps);
        let mut chooser = Chooser::new(Kind::EndpointSlice, keep);
        let others = || slice("db-1", 2, KUBERNETES);
        for event in [Event::Apply(others()), Event::Apply(others()), Event::Delete(others())] {
            assert_eq!(chooser.choose(event), None);
        }
        assert_eq!(chooser.choose(Event::InitDone), Some(WatchEvent::Resynced(Vec::new())));
    }
}
