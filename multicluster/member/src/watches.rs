//! Watches of the objects that an area decides on.

use std::fmt::Debug;

use antrea_kit::watch::{WatchEvent, watch};
use antrea_shared_api::crd::v1beta1::{ClusterNetworkPolicy, Tier};
use antrea_shared_api::mcs::v1beta1::{ServiceExport, ServiceImport};
use antrea_shared_api::multicluster::v1alpha1::{
    ClusterInfoImport, Gateway, LabelIdentity, MemberClusterAnnounce, ResourceExport, ResourceImport,
};
use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use k8s_openapi::api::core::v1::{Endpoints, Event, Namespace, Node, Pod, Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::core::NamespaceResourceScope;
use kube::runtime::watcher;
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::kind::Kind;
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
    /// What names begin with.
    pub(crate) prefix: &'static str,
}

impl Watched {
    /// All objects of a kind.
    pub(crate) const fn all(kind: Kind) -> Self {
        Self { kind, namespace: None, labels: None, prefix: "" }
    }

    /// Those of a Namespace.
    pub(crate) fn of(kind: Kind, namespace: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), ..Self::all(kind) }
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
            Start { watcher: self.clone(), watched: watched.clone() }.start(client.clone());
        }
    }
}

/// A watch that is about to begin.
struct Start {
    watcher: Watcher,
    watched: Watched,
}

impl Start {
    fn start(self, client: Client) {
        match self.watched.kind {
            Kind::Namespace => self.everywhere::<Namespace>(client),
            Kind::Node => self.everywhere::<Node>(client),
            Kind::Tier => self.everywhere::<Tier>(client),
            Kind::ClusterNetworkPolicy => self.everywhere::<ClusterNetworkPolicy>(client),
            Kind::LabelIdentity => self.everywhere::<LabelIdentity>(client),
            Kind::Pod => self.namespaced::<Pod>(client),
            Kind::Secret => self.namespaced::<Secret>(client),
            Kind::Service => self.namespaced::<Service>(client),
            Kind::EndpointSlice => self.namespaced::<EndpointSlice>(client),
            Kind::Endpoints => self.namespaced::<Endpoints>(client),
            Kind::Event | Kind::LeaderEvent => self.namespaced::<Event>(client),
            Kind::ServiceExport => self.namespaced::<ServiceExport>(client),
            Kind::ServiceImport => self.namespaced::<ServiceImport>(client),
            Kind::ClusterSet => self.namespaced::<ClusterSet>(client),
            Kind::Gateway => self.namespaced::<Gateway>(client),
            Kind::ClusterInfoImport => self.namespaced::<ClusterInfoImport>(client),
            Kind::MemberClusterAnnounce => self.namespaced::<MemberClusterAnnounce>(client),
            Kind::ResourceExport => self.namespaced::<ResourceExport>(client),
            Kind::ResourceImport => self.namespaced::<ResourceImport>(client),
        }
    }

    fn namespaced<K>(self, client: Client)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Object,
    {
        let api: Api<K> = match &self.watched.namespace {
            Some(namespace) => Api::namespaced(client, namespace),
            None => Api::all(client),
        };
        self.spawn(api);
    }

    fn everywhere<K: Resource<DynamicType = ()> + Object>(self, client: Client) {
        self.spawn(Api::<K>::all(client));
    }

    fn spawn<K: Resource<DynamicType = ()> + Object>(self, api: Api<K>) {
        let Self {
            watcher: Watcher { connection, told, stop },
            watched: Watched { kind, labels, prefix, .. },
        } = self;
        let config = match labels {
            Some(labels) => watcher::Config::default().labels(&labels),
            None => watcher::Config::default(),
        };
        let (events, mut received) = mpsc::channel(64);
        let map = move |object: K| {
            if !object.meta().name.as_deref().unwrap_or_default().starts_with(prefix) {
                return None;
            }
            let mut object = serde_json::to_value(object).ok()?;
            trim(&mut object);
            Some(object)
        };
        tokio::spawn(watch(api, config, map, events, stop));
        tokio::spawn(async move {
            while let Some(event) = received.recv().await {
                if told.send((kind, connection, event)).await.is_err() {
                    break;
                }
            }
        });
    }
}

/// What can be watched and kept as JSON.
trait Object: Clone + DeserializeOwned + Serialize + Debug + Send + Sync + 'static {}

impl<K: Clone + DeserializeOwned + Serialize + Debug + Send + Sync + 'static> Object for K {}
