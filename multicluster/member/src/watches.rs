//! Watches of the objects that an area decides on.

use std::future::pending;

use antrea_kit::untyped::Untyped;
use antrea_kit::watch::{WatchEvent, watch_kind};
use antrea_mc_core::addresses::EndpointAddresses;
use anyhow::{Error, anyhow};
use kube::runtime::watcher;
use kube::{Api, Client};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::import::kept_for_imports;
use crate::kept::trim;
use crate::kind::Kind;
use crate::objects::text;

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
    /// Those alone of Services that an object of this kind has the name of.
    pub(crate) only: Option<Kind>,
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
    /// What is kept of an object, if anything is.
    fn of(self, kind: Kind, object: Value) -> Option<Value> {
        match self {
            Self::All => Some(trim(kind, object)),
            Self::Prefix(prefix) => {
                text(&object, "/metadata/name").starts_with(prefix).then(|| trim(kind, object))
            }
            Self::ForImports(addresses) => kept_for_imports(kind, object, addresses),
        }
    }
}

impl Watched {
    /// All objects of a kind.
    pub(crate) const fn all(kind: Kind) -> Self {
        Self { kind, namespace: None, labels: None, name: None, only: None, keep: Keep::All }
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
    pub(crate) fn api(&self, client: Client) -> Api<Untyped> {
        let resource = self.kind.resource();
        match &self.namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &resource),
            None => Api::all_with(client, &resource),
        }
    }

    /// What the API server chooses.
    pub(crate) fn config(&self) -> watcher::Config {
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
    /// Begins them. Each is of a kind.
    pub(crate) fn of(watches: impl Iterator<Item = impl Future<Output = Kind> + Send + 'static>) -> Self {
        Self(watches.collect())
    }

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
        Watches::of(watched.iter().map(|watched| self.clone().watch(client.clone(), watched.clone())))
    }

    async fn watch(self, client: Client, watched: Watched) -> Kind {
        let Self { connection, told } = self;
        let (api, config, resource) = (watched.api(client), watched.config(), watched.kind.resource());
        let Watched { kind, keep, .. } = watched;
        let (events, mut received) = mpsc::channel(64);
        let map = move |Untyped { object, .. }| keep.of(kind, object);
        let tell = async {
            while let Some(event) = received.recv().await {
                if told.send((kind, connection, event)).await.is_err() {
                    break;
                }
            }
        };
        tokio::select! {
            _ = watch_kind(&resource.kind, api, config, map, events, CancellationToken::new()) => {}
            () = tell => {}
        }
        kind
    }
}
