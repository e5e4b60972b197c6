//! Members write into Common Areas, and read what the leader makes of it.

use std::fmt::Debug;
use std::sync::atomic::Ordering;
use std::time::Duration;

use antrea_shared_api::multicluster::v1alpha1::{MemberClusterAnnounce, ResourceExport, ResourceImport};
use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::cluster::Cluster;

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
    cluster.lead_again();
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
