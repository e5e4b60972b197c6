//! Watches of the objects that an area decides on.

use antrea_kit::untyped::Untyped;
use antrea_kit::watch::{WatchEvent, watch_kind};
use antrea_mc_core::addresses::EndpointAddresses;
use kube::runtime::watcher;
use kube::{Api, Client};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::import::concerns_imports;
use crate::kind::Kind;
use crate::objects::text;
use crate::send::trim;

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
    /// Which of these are kept.
    pub(crate) keep: Keep,
}

/// Which objects are kept of those that are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// All.
    All,
    /// Those whose names begin so.
    Prefix(&'static str),
    /// Those that imports depend on, where these addresses are exported.
    ForImports(EndpointAddresses),
}

impl Keep {
    fn keeps(self, kind: Kind, object: &Value) -> bool {
        match self {
            Self::All => true,
            Self::Prefix(prefix) => text(object, "/metadata/name").starts_with(prefix),
            Self::ForImports(addresses) => concerns_imports(kind, object, addresses),
        }
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

/// Begins watches that tell one receiver, and end together.
#[derive(Clone)]
pub(crate) struct Watcher {
    /// The connection that is watched over.
    pub(crate) connection: u64,
    /// The receiver.
    pub(crate) told: mpsc::Sender<Told>,
    /// Ends the watches.
    pub(crate) stop: CancellationToken,
}

impl Watcher {
    /// Begins to watch.
    pub(crate) fn start(&self, client: &Client, watched: &[Watched]) {
        for watched in watched {
            self.spawn(client.clone(), watched.clone());
        }
    }

    fn spawn(&self, client: Client, watched: Watched) {
        let Self { connection, told, stop } = self.clone();
        let config = watched.config();
        let Watched { kind, namespace, keep, .. } = watched;
        let resource = kind.resource();
        let api: Api<Untyped> = match &namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &resource),
            None => Api::all_with(client, &resource),
        };
        let (events, mut received) = mpsc::channel(64);
        let map = move |Untyped { object, .. }| keep.keeps(kind, &object).then(|| trim(kind, object));
        tokio::spawn(async move { watch_kind(&resource.kind, api, config, map, events, stop).await });
        tokio::spawn(async move {
            while let Some(event) = received.recv().await {
                if told.send((kind, connection, event)).await.is_err() {
                    break;
                }
            }
        });
    }
}
