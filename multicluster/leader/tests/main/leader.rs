//! Members write into Common Areas, and read what the leader makes of it.

use std::fmt::Debug;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use antrea_kit::object_files;
use antrea_mc_leader::{Censuses, LeaderConfig, LeaseTimes, run};
use antrea_shared_api::multicluster::v1alpha1::{MemberClusterAnnounce, ResourceExport, ResourceImport};
use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use hyper::{Request, Response};
use k8s_openapi::NamespaceResourceScope;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::client::Body;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use serde_json::json;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Two ClusterSets in one leader cluster.
const SETS: [&str; 2] = ["area-1", "area-2"];

/// Whether the API server refuses what the leader asks for, and how often it did.
#[derive(Default)]
struct Outage {
    is_on: AtomicBool,
    refused: AtomicUsize,
}

/// A leader cluster, and the leader in it.
struct Cluster {
    client: Client,
    outage: Arc<Outage>,
    stop: CancellationToken,
    leader: JoinHandle<anyhow::Result<()>>,
    _folder: TempDir,
}

impl Cluster {
    fn start() -> Self {
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
        let leader = tokio::spawn(run(with_outages(&client, &outage), config(), stop.clone()));
        Self { client, outage, stop, leader, _folder: folder }
    }

    fn api<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// A member announces itself and exports a Service.
    async fn join(&self, namespace: &str, cluster: &str, address: &str) {
        let mut announce = MemberClusterAnnounce::new(namespace, &format!("member-announce-from-{cluster}"));
        announce.cluster_id = cluster.to_owned();
        self.api(namespace).create(&PostParams::default(), &announce).await.unwrap();
        let ports = json!([{"name": "http", "port": 80, "protocol": "TCP"}]);
        let service = json!({"serviceSpec": {"ports": ports}});
        let endpoints = json!({"subsets": [{"addresses": [{"ip": address}], "ports": ports}]});
        for (kind, field, payload) in [("Service", "service", service), ("Endpoints", "endpoints", endpoints)]
        {
            let name = format!("{cluster}-shop-web-{}", kind.to_lowercase());
            let mut export = ResourceExport::new(namespace, &name);
            export.metadata.finalizers = Some(vec!["resourceexport.antrea.io/finalizer".to_owned()]);
            let spec = json!({"clusterID": cluster, "kind": kind, "name": "web", "namespace": "shop", (field): payload});
            export.spec = serde_json::from_value(spec).unwrap();
            self.api(namespace).create(&PostParams::default(), &export).await.unwrap();
        }
    }

    async fn end(self) {
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

fn config() -> LeaderConfig {
    let namespaces = SETS.map(str::to_owned).to_vec();
    LeaderConfig { namespaces, times: LeaseTimes::default(), censuses: Censuses::default() }
}

/// Waits until an object is as it should be; `None` is one that is not there.
async fn until<K>(api: Api<K>, name: &str, is: impl Fn(Option<&K>) -> bool)
where
    K: Clone + DeserializeOwned + Debug,
{
    let mut last = None;
    let wait = async {
        loop {
            last = api.get_opt(name).await.unwrap();
            if is(last.as_ref()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(20), wait).await;
    assert!(waited.is_ok(), "{name} is {last:?}");
}

fn addresses(import: &ResourceImport) -> Vec<String> {
    let subsets = import.spec.endpoints.iter().flat_map(|endpoints| &endpoints.subsets);
    subsets.flat_map(|subset| subset.addresses.iter().flatten()).map(|address| address.ip.clone()).collect()
}

fn has_addresses(wanted: &[&str]) -> impl Fn(Option<&ResourceImport>) -> bool {
    move |import| import.is_some_and(|import| addresses(import) == wanted)
}

const IMPORT: &str = "shop-web-endpoints";

#[tokio::test]
async fn members_of_each_cluster_set_import_what_its_members_export() {
    let cluster = Cluster::start();
    cluster.join("area-1", "east", "10.1.0.1").await;
    cluster.join("area-1", "west", "10.2.0.1").await;
    cluster.join("area-2", "east", "10.9.0.1").await;
    until(cluster.api("area-1"), IMPORT, has_addresses(&["10.1.0.1", "10.2.0.1"])).await;
    until(cluster.api("area-2"), IMPORT, has_addresses(&["10.9.0.1"])).await;
    let is_ready = |set: Option<&ClusterSet>| {
        let status = set.and_then(|set| set.status.as_ref());
        status.is_some_and(|status| status.total_clusters == 2 && status.ready_clusters == 2)
    };
    until(cluster.api("area-1"), "set-of-area-1", is_ready).await;
    let is_told = |export: Option<&ResourceExport>| {
        let status = export.and_then(|export| export.status.as_ref());
        status.is_some_and(|status| status.conditions.iter().any(|of| of.condition_type == "Succeeded"))
    };
    until(cluster.api("area-1"), "west-shop-web-endpoints", is_told).await;
    cluster.end().await;
}

#[tokio::test]
async fn what_somebody_deletes_or_edits_comes_back_also_after_a_restart() {
    let mut cluster = Cluster::start();
    cluster.join("area-1", "east", "10.1.0.1").await;
    until(cluster.api("area-1"), IMPORT, has_addresses(&["10.1.0.1"])).await;
    let imports: Api<ResourceImport> = cluster.api("area-1");
    imports.delete(IMPORT, &DeleteParams::default()).await.unwrap();
    until(cluster.api("area-1"), IMPORT, has_addresses(&["10.1.0.1"])).await;

    cluster.stop.cancel();
    (&mut cluster.leader).await.unwrap().unwrap();
    let patch = Patch::Merge(json!({"spec": {"endpoints": {"subsets": null}}}));
    imports.patch(IMPORT, &PatchParams::default(), &patch).await.unwrap();
    cluster.stop = CancellationToken::new();
    cluster.leader = tokio::spawn(run(cluster.client.clone(), config(), cluster.stop.clone()));
    until(cluster.api("area-1"), IMPORT, has_addresses(&["10.1.0.1"])).await;
    cluster.end().await;
}

#[tokio::test]
async fn what_happens_while_the_api_server_is_away_is_made_up_for() {
    let cluster = Cluster::start();
    cluster.join("area-1", "east", "10.1.0.1").await;
    until(cluster.api("area-1"), IMPORT, has_addresses(&["10.1.0.1"])).await;
    cluster.outage.is_on.store(true, Ordering::SeqCst);
    cluster.join("area-1", "west", "10.2.0.1").await;
    cluster.join("area-2", "east", "10.9.0.1").await;
    let imports: Api<ResourceImport> = cluster.api("area-1");
    imports.delete("shop-web-service", &DeleteParams::default()).await.unwrap();
    while cluster.outage.refused.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    cluster.outage.is_on.store(false, Ordering::SeqCst);
    until(cluster.api("area-1"), IMPORT, has_addresses(&["10.1.0.1", "10.2.0.1"])).await;
    until(cluster.api("area-1"), "shop-web-service", |of: Option<&ResourceImport>| of.is_some()).await;
    until(cluster.api("area-2"), IMPORT, has_addresses(&["10.9.0.1"])).await;
    cluster.end().await;
}

#[tokio::test]
async fn a_member_that_leaves_is_forgotten_and_may_come_again() {
    let cluster = Cluster::start();
    cluster.join("area-1", "east", "10.1.0.1").await;
    cluster.join("area-1", "west", "10.2.0.1").await;
    let announces: Api<MemberClusterAnnounce> = cluster.api("area-1");
    let announce = "member-announce-from-west";
    until(announces.clone(), announce, |of| of.is_some_and(|of| of.metadata.finalizers.is_some())).await;
    until(cluster.api("area-1"), IMPORT, has_addresses(&["10.1.0.1", "10.2.0.1"])).await;
    announces.delete(announce, &DeleteParams::default()).await.unwrap();
    until(announces.clone(), announce, |of| of.is_none()).await;
    until(cluster.api("area-1"), IMPORT, has_addresses(&["10.1.0.1"])).await;
    for export in ["west-shop-web-service", "west-shop-web-endpoints"] {
        until(cluster.api("area-1"), export, |of: Option<&ResourceExport>| of.is_none()).await;
    }
    cluster.join("area-1", "west", "10.2.0.2").await;
    until(cluster.api("area-1"), IMPORT, has_addresses(&["10.1.0.1", "10.2.0.2"])).await;
    cluster.end().await;
}
