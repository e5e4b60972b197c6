//! A leader cluster: a folder of object files in the place of its API server, and the leader that runs in it.

use std::fmt::Debug;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use antrea_kit::object_files;
use antrea_kit::watch::watch;
use antrea_mc_leader::{Censuses, Feed, Feeds, LeaderConfig, LeaseTimes, Limits, Record, run};
use antrea_shared_api::multicluster::v1alpha1::{MemberClusterAnnounce, ResourceExport};
use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use hyper::{Request, Response};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::client::Body;
use kube::runtime::watcher::Config;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

/// Two ClusterSets in one leader cluster.
const SETS: [&str; 2] = ["area-1", "area-2"];

/// Whether the API server refuses what the leader asks for, and how often it did.
#[derive(Default)]
pub(crate) struct Outage {
    pub(crate) is_on: AtomicBool,
    pub(crate) refused: AtomicUsize,
}

/// A leader cluster, and the leader in it.
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) outage: Arc<Outage>,
    pub(crate) stop: CancellationToken,
    pub(crate) leader: JoinHandle<anyhow::Result<()>>,
    _feeders: JoinSet<()>,
    _folder: TempDir,
}

impl Cluster {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let sets = SETS.map(|namespace| {
            format!(
                "apiVersion: multicluster.crd.antrea.io/v1alpha2\nkind: ClusterSet\nmetadata: {{name: set-of-{namespace}, \
                 namespace: {namespace}}}\nspec: {{clusterID: hub, leaders: [{{clusterID: hub}}]}}\n---\n"
            )
        });
        fs::write(folder.path().join("sets.yaml"), sets.concat()).unwrap();
        let client = object_files::client(folder.path()).unwrap();
        let stop = CancellationToken::new();
        let outage = Arc::default();
        let (leader, feeders) = lead(with_outages(&client, &outage), &stop);
        Self { client, outage, stop, leader, _feeders: feeders, _folder: folder }
    }

    /// Starts another leader.
    pub(crate) fn lead_again(&mut self) {
        self.stop = CancellationToken::new();
        (self.leader, self._feeders) = lead(self.client.clone(), &self.stop);
    }

    pub(crate) fn api<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// A member announces itself and exports a Service.
    pub(crate) async fn join(&self, namespace: &str, cluster: &str, address: &str) {
        self.announce(namespace, cluster, &[]).await;
        let ports = json!([{"name": "http", "port": 80, "protocol": "TCP"}]);
        let service = json!({"serviceSpec": {"ports": ports}});
        let endpoints = json!({"subsets": [{"addresses": [{"ip": address}], "ports": ports}]});
        for (kind, payload) in [("Service", service), ("Endpoints", endpoints)] {
            let export = export(namespace, cluster, (kind, "web"), &payload);
            self.api(namespace).create(&PostParams::default(), &export).await.unwrap();
        }
    }

    pub(crate) async fn announce(&self, namespace: &str, cluster: &str, networks: &[String]) {
        let mut announce = MemberClusterAnnounce::new(namespace, &format!("member-announce-from-{cluster}"));
        announce.cluster_id = cluster.to_owned();
        announce.service_cidrs = networks.to_vec();
        self.api(namespace).create(&PostParams::default(), &announce).await.unwrap();
    }

    pub(crate) async fn end(self) {
        self.stop.cancel();
        self.leader.await.unwrap().unwrap();
    }
}

/// A client whose requests fail while the API server is away; watches that go on tell nothing of that.
fn with_outages(client: &Client, outage: &Arc<Outage>) -> Client {
    let (client, outage) = (client.clone(), Arc::clone(outage));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, outage) = (client.clone(), Arc::clone(&outage));
        async move {
            if outage.is_on.load(Ordering::SeqCst) {
                outage.refused.fetch_add(1, Ordering::SeqCst);
                return Ok(Response::builder().status(503).body(Body::empty()).unwrap());
            }
            client.send(request).await
        }
    });
    Client::new(service, "default")
}

/// A leader, and what feeds it, as webhooks do.
fn lead(client: Client, stop: &CancellationToken) -> (JoinHandle<anyhow::Result<()>>, JoinSet<()>) {
    let config = LeaderConfig {
        namespaces: SETS.map(str::to_owned).to_vec(),
        times: LeaseTimes::default(),
        limits: Limits::default(),
        censuses: Censuses::default(),
        feeds: Feeds::default(),
    };
    let mut feeders = JoinSet::new();
    for namespace in SETS {
        let feeds = config.feeds.of(namespace);
        feeders.spawn(feed::<ClusterSet, _>(client.clone(), namespace, feeds.sets));
        feeders.spawn(feed::<ServiceAccount, _>(client.clone(), namespace, feeds.accounts));
        feeders.spawn(feed::<MemberClusterAnnounce, _>(client.clone(), namespace, feeds.announces));
        feeders.spawn(feed::<ResourceExport, _>(client.clone(), namespace, feeds.exports));
    }
    (tokio::spawn(run(client, config, stop.clone())), feeders)
}

async fn feed<K, T>(client: Client, namespace: &str, feed: Feed<T>)
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + DeserializeOwned
        + Debug
        + Send
        + 'static,
    T: From<K> + Record,
{
    feed.subscriptions().wait_for(|leaders| *leaders > 0).await.unwrap();
    let (sender, mut events) = mpsc::channel(1);
    let map = |object: K| Some(object.into());
    let objects = Api::namespaced(client, namespace);
    let watching = watch(objects, Config::default(), map, sender, CancellationToken::new());
    let feeding = async {
        while let Some(event) = events.recv().await {
            feed.publish(event);
        }
    };
    tokio::join!(watching, feeding).0.unwrap();
}

/// What `cluster` exports of a Service in Namespace `shop`: the Service itself, or its endpoints.
pub(crate) fn export(
    namespace: &str,
    cluster: &str,
    (kind, service): (&str, &str),
    payload: &Value,
) -> ResourceExport {
    let field = kind.to_lowercase();
    let mut export = ResourceExport::new(namespace, &format!("{cluster}-shop-{service}-{field}"));
    export.metadata.finalizers = Some(vec!["resourceexport.antrea.io/finalizer".to_owned()]);
    let spec = json!({
        "clusterID": cluster, "kind": kind, "name": service, "namespace": "shop", (field): payload,
    });
    export.spec = serde_json::from_value(spec).unwrap();
    export
}
