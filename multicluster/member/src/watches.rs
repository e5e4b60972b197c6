//! Watches of the objects that an area decides on.

use antrea_kit::untyped::Untyped;
use antrea_kit::watch::{WatchEvent, watch_kind};
use kube::runtime::watcher;
use kube::{Api, Client};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

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
    /// What names begin with.
    pub(crate) prefix: &'static str,
    /// Those alone of Services that an object of this kind has the name of.
    pub(crate) only: Option<Kind>,
}

impl Watched {
    /// All objects of a kind.
    pub(crate) const fn all(kind: Kind) -> Self {
        Self { kind, namespace: None, labels: None, prefix: "", only: None }
    }

    /// Those of a Namespace.
    pub(crate) fn of(kind: Kind, namespace: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), ..Self::all(kind) }
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
        match &self.labels {
            Some(labels) => watcher::Config::default().labels(labels),
            None => watcher::Config::default(),
        }
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
            self.spawn(client.clone(), watched);
        }
    }

    fn spawn(&self, client: Client, watched: &Watched) {
        let Self { connection, told, stop } = self.clone();
        let (api, config, resource) = (watched.api(client), watched.config(), watched.kind.resource());
        let Watched { kind, prefix, .. } = *watched;
        let (events, mut received) = mpsc::channel(64);
        let map = move |Untyped { object, .. }| {
            text(&object, "/metadata/name").starts_with(prefix).then(|| trim(kind, object))
        };
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
