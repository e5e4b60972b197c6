//! The whole member against two API servers made of object files.

mod conditions;
mod identity;
mod lab;
mod leaving;
mod moves;
mod older_leader;
mod refused;
mod silence;
mod tokens;

use serde_json::{Value, json};

use self::lab::{LEADERS, Lab, announce, api_server, cluster_set, derived, exported, gateway, set};
use crate::kind::Kind;
use crate::objects::{Key, text};

#[tokio::test]
async fn a_member_joins_leaves_and_joins_again_in_one_process() {
    let mut lab = Lab::new("https://one").await;
    lab.is_joined().await;
    // The API server's part: the derived Service gets an address.
    lab.patch(&derived(), &json!({"spec": {"clusterIP": "10.96.0.9", "clusterIPs": ["10.96.0.9"]}})).await;
    let import = Key::new(Kind::ServiceImport, "shop", "api");
    let ready = |import: Option<&Value>| {
        import.is_some_and(|import| text(import, "/status/conditions/0/status") == "True")
    };
    lab.wait(&import, ready).await;

    lab.delete(&set()).await;
    for key in [&derived(), &import, &gateway(), &announce(), &set()] {
        lab.is_gone(key).await;
    }
    let export = Key::new(Kind::ServiceExport, "shop", "web");
    let pending = |export: Option<&Value>| {
        export.is_some_and(|export| text(export, "/status/conditions/1/reason") == "Pending")
    };
    lab.wait(&export, pending).await;

    lab.create(Kind::ClusterSet, &cluster_set(lab.url)).await;
    lab.is_joined().await;
    lab.end().await;
}

#[tokio::test]
async fn the_gateway_lets_other_clusters_in_to_what_is_exported() {
    let mut lab = Lab::new("https://eighteen").await;
    let one = |gateway: Option<&Value>| lists(gateway, &["10.96.0.7/32"]);
    let both = |gateway: Option<&Value>| lists(gateway, &["10.96.0.7/32", "10.96.0.8/32"]);
    lab.wait(&gateway(), one).await;
    let metadata = json!({ "name": "api", "namespace": "shop" });
    let spec = json!({ "type": "ClusterIP", "clusterIP": "10.96.0.8", "ports": [{ "port": 80 }] });
    let service = json!({ "apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec });
    lab.create(Kind::Service, &service).await;
    let (version, kind) = ("multicluster.x-k8s.io/v1beta1", "ServiceExport");
    let export = json!({ "apiVersion": version, "kind": kind, "metadata": metadata });
    lab.create(Kind::ServiceExport, &export).await;
    lab.wait(&gateway(), both).await;
    lab.delete(&gateway()).await;
    lab.wait(&gateway(), both).await;
    lab.end().await;
}

fn lists(gateway: Option<&Value>, addresses: &[&str]) -> bool {
    gateway.is_some_and(|gateway| {
        let exported = &gateway["exported"];
        exported["mode"] == "Listed" && exported["addresses"] == json!(addresses)
    })
}

#[tokio::test]
async fn what_the_leader_lost_while_the_member_was_away_is_exported_again() {
    let mut lab = Lab::new("https://two").await;
    lab.is_joined().await;
    lab.end().await;
    for key in exported() {
        lab.delete(&key).await;
    }
    lab.start();
    lab.is_joined().await;
    lab.end().await;
}

#[tokio::test]
async fn a_new_token_is_used_and_withdraws_nothing() {
    let mut lab = Lab::new("https://three").await;
    lab.is_joined().await;
    let before = lab.get(&derived()).await;
    let secret = Key::new(Kind::Secret, "kube-system", "token");
    lab.patch(&secret, &json!({"data": {"token": null}})).await;
    let disconnected = |set: Option<&Value>| {
        set.is_some_and(|set| text(set, "/status/clusterStatuses/0/conditions/0/reason") == "Disconnected")
    };
    lab.wait(&set(), disconnected).await;
    lab.patch(&secret, &json!({"data": {"token": "bmV3"}})).await;
    lab.is_joined().await;
    assert_eq!(lab.get(&derived()).await, before);
    lab.end().await;
}

#[tokio::test]
async fn a_certificate_that_cannot_be_used_is_told_and_the_connection_goes_on() {
    let mut lab = Lab::new("https://certificates").await;
    lab.is_joined().await;
    let secret = Key::new(Kind::Secret, "kube-system", "token");
    lab.patch(&secret, &json!({"data": {"ca.crt": "bm9uZQ=="}})).await;
    let unusable = |set: &Value| {
        let conditions = set["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let types: Vec<&str> = conditions.iter().map(|of| text(of, "/type")).collect();
        types.contains(&"CredentialUnusable")
    };
    let goes_on = |set: &Value| set["status"]["readyClusters"] == 1;
    lab.wait(&set(), |set| set.is_some_and(|set| unusable(set) && goes_on(set))).await;
    lab.patch(&secret, &json!({"data": {"ca.crt": null}})).await;
    lab.wait(&set(), |set| set.is_some_and(|set| !unusable(set) && goes_on(set))).await;
    lab.end().await;
}

#[tokio::test]
async fn a_change_of_leader_moves_all_exports_and_says_goodbye() {
    let mut lab = Lab::new("https://four").await;
    lab.is_joined().await;
    lab.delete(&set()).await;
    lab.is_gone(&announce()).await;
    lab.is_gone(&derived()).await;
    lab.is_gone(&set()).await;
    let (other, _folder) = api_server("");
    lab.leader = other.clone();
    LEADERS.lock().unwrap().insert("https://five".to_owned(), other);
    let mut of_north = cluster_set("https://five");
    of_north["spec"]["leaders"][0]["clusterID"] = json!("north");
    lab.create(Kind::ClusterSet, &of_north).await;
    for key in exported() {
        lab.is_there(&key).await;
    }
    lab.end().await;
}

#[tokio::test]
async fn a_member_whose_leader_is_away_keeps_everything_and_can_leave() {
    let mut lab = Lab::new("https://six").await;
    lab.is_joined().await;
    lab.end().await;
    LEADERS.lock().unwrap().remove("https://six");
    lab.start();
    let export = Key::new(Kind::ServiceExport, "shop", "web");
    let is_told = |export: Option<&Value>| {
        export.is_some_and(|export| text(export, "/status/conditions/1/message") == "nobody is there")
    };
    lab.wait(&export, is_told).await;
    lab.is_there(&derived()).await;
    lab.is_there(&gateway()).await;
    lab.delete(&set()).await;
    lab.is_gone(&derived()).await;
    lab.is_gone(&gateway()).await;
    lab.end().await;
}

#[tokio::test]
async fn what_is_deleted_or_edited_on_either_side_comes_back() {
    let mut lab = Lab::new("https://seven").await;
    lab.is_joined().await;
    lab.delete(&derived()).await;
    lab.delete(&exported()[2]).await;
    lab.patch(&gateway(), &json!({"gatewayIP": "1.2.3.4"})).await;
    lab.is_joined().await;
    let mended =
        |gateway: Option<&Value>| gateway.is_some_and(|gateway| gateway["gatewayIP"] == "172.18.0.1");
    lab.wait(&gateway(), mended).await;
    lab.end().await;
}
