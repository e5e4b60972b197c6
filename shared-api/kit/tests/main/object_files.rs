//! A folder of object files, used as an API server by the client and the watch that the programs use.

use std::fs;
use std::time::Duration;

use antrea_kit::object_files;
use antrea_kit::watch::{WatchEvent, watch};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const OBJECTS: &str = "apiVersion: v1
kind: Node
metadata: {name: a}
spec: {podCIDR: 10.10.0.0/24}
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: team}
spec: {nodeName: a, containers: []}
---
apiVersion: v1
kind: Pod
metadata: {name: q, namespace: team}
spec: {nodeName: b, containers: []}
";

fn folder() -> (TempDir, Client) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("objects.yaml"), OBJECTS).unwrap();
    let client = object_files::client(folder.path()).unwrap();
    (folder, client)
}

#[tokio::test]
async fn objects_of_files_are_read_and_chosen() {
    let (_folder, client) = folder();
    let node = Api::<Node>::all(client.clone()).get("a").await.unwrap();
    assert_eq!(node.spec.unwrap().pod_cidr.as_deref(), Some("10.10.0.0/24"));
    let parameters = ListParams::default().fields("spec.nodeName=a");
    let pods = Api::<Pod>::all(client.clone()).list(&parameters).await.unwrap();
    assert_eq!(pods.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["p"]);
    assert!(Api::<Node>::all(client).get_opt("z").await.unwrap().is_none());
}

#[tokio::test]
async fn what_is_written_can_be_read_and_stays_when_a_file_changes() {
    let (folder, client) = folder();
    let nodes: Api<Node> = Api::all(client.clone());
    let patch = Patch::Merge(json!({"metadata": {"annotations": {"k": "v"}}}));
    nodes.patch_status("a", &PatchParams::default(), &patch).await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client, "team");
    let map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "m"}})).unwrap();
    maps.create(&PostParams::default(), &map).await.unwrap();
    assert!(maps.create(&PostParams::default(), &map).await.is_err());
    maps.replace("m", &PostParams::default(), &map).await.unwrap();
    fs::write(folder.path().join("more.yaml"), "{apiVersion: v1, kind: Node, metadata: {name: b}}").unwrap();
    while nodes.get_opt("b").await.unwrap().is_none() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(nodes.get("a").await.unwrap().annotations()["k"], "v");
    maps.delete("m", &DeleteParams::default()).await.unwrap();
    assert!(maps.get_opt("m").await.unwrap().is_none());
}

#[tokio::test]
async fn a_watch_sees_what_comes_changes_and_goes() {
    let (folder, client) = folder();
    let (events, mut received) = mpsc::channel(10);
    let name = |node: Node| node.metadata.name;
    let stop = CancellationToken::new();
    let watching =
        tokio::spawn(watch(Api::<Node>::all(client), Default::default(), name, events, stop.clone()));
    assert_eq!(received.recv().await, Some(WatchEvent::Resynced(vec!["a".to_owned()])));
    let path = folder.path().join("more.yaml");
    fs::write(&path, "{apiVersion: v1, kind: Node, metadata: {name: b}}").unwrap();
    assert_eq!(received.recv().await, Some(WatchEvent::Applied("b".to_owned())));
    fs::write(&path, "{apiVersion: v1, kind: Node, metadata: {name: b, labels: {app: web}}}").unwrap();
    assert_eq!(received.recv().await, Some(WatchEvent::Applied("b".to_owned())));
    fs::remove_file(&path).unwrap();
    assert_eq!(received.recv().await, Some(WatchEvent::Deleted("b".to_owned())));
    stop.cancel();
    watching.await.unwrap().unwrap();
}

#[tokio::test]
async fn files_that_cannot_be_read_are_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.yaml"), "kind: Node\n").unwrap();
    let error = object_files::client(folder.path()).err().unwrap().to_string();
    assert!(error.ends_with("a.yaml: an object needs apiVersion, kind and metadata.name"), "{error}");
}
