//! What stays when the way to the leader changes, and what is deleted by hand and comes back at once.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::Method;
use ipnet::IpNet;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::super::Exports;
use super::lab::{LEADERS, Lab, announce, derived, exported, gateway, set};
use super::lists;
use crate::engine::Part as _;
use crate::export::{LabelIdentities, PodNetworks};
use crate::kind::Kind;
use crate::leader::{Class, Leader};
use crate::objects::{Key, at, text};

/// Longer than withdrawals wait.
const AFTERWARDS: Duration = Duration::from_millis(2500);

#[tokio::test]
async fn another_common_area_at_the_same_leader_is_another_leader() {
    let mut lab = Lab::new("https://twelve").await;
    lab.is_joined().await;
    lab.patch(&set(), &json!({ "spec": { "namespace": "second" } })).await;
    for key in exported() {
        lab.is_there(&Key { namespace: "second".to_owned(), ..key }).await;
    }
    lab.is_gone(&derived()).await;
    lab.is_gone(&announce()).await;
    lab.end().await;
}

/// An API server, and how often announces are asked for in this way.
fn counted(files: Client, method: Method, asked: &Arc<AtomicU32>) -> Client {
    let asked = asked.clone();
    let service = tower::service_fn(move |request: hyper::Request<Body>| {
        let counts = *request.method() == method && request.uri().path().contains("/memberclusterannounces/");
        asked.fetch_add(u32::from(counts), Ordering::SeqCst);
        let files = files.clone();
        async move { files.send(request).await }
    });
    Client::new(service, "default")
}

#[tokio::test]
async fn another_address_of_the_same_leader_is_another_way_to_it() {
    let (goodbyes, heartbeats) = (Arc::default(), Arc::default());
    let mut lab = Lab::behind("https://old-address", |files| counted(files, Method::DELETE, &goodbyes)).await;
    lab.is_joined().await;
    let before = lab.get(&derived()).await;
    let leader = counted(counted(lab.leader.clone(), Method::DELETE, &goodbyes), Method::PATCH, &heartbeats);
    LEADERS.lock().unwrap().insert("https://new-address".to_owned(), leader);
    let leaders = json!([{ "clusterID": "east", "server": "https://new-address", "secret": "token" }]);
    lab.patch(&set(), &json!({ "spec": { "leaders": leaders } })).await;
    let heard = async {
        while heartbeats.load(Ordering::SeqCst) == 0 {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(20), heard).await.unwrap();
    sleep(AFTERWARDS).await;
    lab.is_joined().await;
    assert_eq!(lab.get(&derived()).await, before);
    assert_eq!(goodbyes.load(Ordering::SeqCst), 0);
    lab.end().await;
}

#[tokio::test]
async fn another_secret_is_another_way_to_the_same_leader() {
    let mut lab = Lab::new("https://thirteen").await;
    lab.is_joined().await;
    let before = lab.get(&derived()).await;
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": "other", "namespace": "kube-system" },
        "data": { "token": "bmV3" },
    });
    lab.create(Kind::Secret, &secret).await;
    let leaders = json!([{ "clusterID": "east", "server": lab.url, "secret": "other" }]);
    lab.patch(&set(), &json!({ "spec": { "leaders": leaders } })).await;
    lab.delete(&Key::new(Kind::Secret, "kube-system", "token")).await;
    lab.delete(&exported()[2]).await;
    lab.is_joined().await;
    assert_eq!(lab.get(&derived()).await, before);
    lab.end().await;
}

#[tokio::test]
async fn of_the_secrets_of_a_namespace_one_is_watched() {
    let mut lab = Lab::new("https://one-secret").await;
    lab.is_joined().await;
    lab.end().await;
    let asked = Arc::new(Mutex::new(Vec::new()));
    lab.local = noting(lab.local.clone(), Arc::clone(&asked));
    for configured in [None, Some("token".to_owned())] {
        lab.token_secret = configured;
        lab.delete(&announce()).await;
        lab.start();
        lab.is_joined().await;
        lab.end().await;
        let asked = std::mem::take(&mut *asked.lock().unwrap());
        assert!(!asked.is_empty(), "{:?}", lab.token_secret);
        for query in asked {
            assert!(query.contains("fieldSelector=metadata.name%3Dtoken"), "{query}");
        }
    }
}

/// An API server that notes what it is asked about Secrets.
fn noting(files: Client, asked: Arc<Mutex<Vec<String>>>) -> Client {
    let service = tower::service_fn(move |request: hyper::Request<Body>| {
        if request.uri().path().ends_with("/secrets") {
            asked.lock().unwrap().push(request.uri().query().unwrap_or_default().to_owned());
        }
        let files = files.clone();
        async move { files.send(request).await }
    });
    Client::new(service, "default")
}

#[tokio::test]
async fn an_import_that_is_deleted_by_hand_and_comes_back_withdraws_nothing() {
    let mut lab = Lab::new("https://fourteen").await;
    lab.is_joined().await;
    let (before, key) =
        (lab.get(&derived()).await, Key::new(Kind::ResourceImport, "area", "shop-api-service"));
    let mut import = lab.get(&key).await.unwrap();
    import["metadata"] = json!({ "name": key.name, "namespace": key.namespace });
    lab.delete(&key).await;
    sleep(Duration::from_millis(500)).await;
    lab.create(Kind::ResourceImport, &import).await;
    sleep(AFTERWARDS).await;
    assert_eq!(lab.get(&derived()).await, before);
    lab.delete(&key).await;
    lab.is_gone(&derived()).await;
    lab.end().await;
}

#[tokio::test]
async fn the_only_gateway_that_is_deleted_by_hand_takes_no_cluster_info_away() {
    let mut lab = Lab::new("https://fifteen").await;
    lab.is_joined().await;
    let info = &exported()[3];
    let before = lab.get(info).await;
    lab.delete(&gateway()).await;
    sleep(AFTERWARDS).await;
    lab.is_there(&gateway()).await;
    assert_eq!(lab.get(info).await, before);
    lab.end().await;
}

#[tokio::test]
async fn networks_that_are_not_configured_any_more_are_not_announced_any_more() {
    let mut lab = Lab::new("https://fewer-networks").await;
    lab.is_joined().await;
    lab.end().await;
    // The configuration had them before.
    lab.patch(&announce(), &json!({ "podCIDRs": ["10.9.0.0/16"] })).await;
    lab.start();
    let is_gone = |announce: Option<&Value>| announce.is_some_and(|of| of.get("podCIDRs").is_none());
    lab.wait(&announce(), is_gone).await;
    lab.end().await;
}

/// An API server of the leader that counts the watches that are begun.
fn counting(files: Client, watches: Arc<AtomicU32>) -> Client {
    let service = tower::service_fn(move |request: hyper::Request<Body>| {
        let begins = request.uri().query().is_some_and(|query| query.contains("watch=true"));
        watches.fetch_add(u32::from(begins), Ordering::SeqCst);
        let files = files.clone();
        async move { files.send(request).await }
    });
    Client::new(service, "default")
}

#[tokio::test]
async fn a_node_that_comes_restarts_nothing() {
    let watches = Arc::new(AtomicU32::new(0));
    let mut lab = Lab::behind("https://nodes", |files| counting(files, watches.clone())).await;
    lab.is_joined().await;
    lab.end().await;
    lab.pods = PodNetworks::OfNodes;
    let networks: Vec<IpNet> = ["10.10.1.0/24", "10.10.3.0/24"].map(|text| text.parse().unwrap()).into();
    lab.nodes.send_replace(Some(networks[..1].to_vec()));
    lab.start();
    let names = |number: usize| {
        let expected = json!(&networks[..number]);
        move |object: Option<&Value>, path: &str| object.and_then(|of| at(of, path)) == Some(&expected)
    };
    let (one, both) = (names(1), names(2));
    lab.wait(&exported()[3], |info| one(info, "/spec/clusterInfo/podCIDRs")).await;
    lab.is_joined().await;
    sleep(Duration::from_millis(300)).await;
    let before = (watches.load(Ordering::SeqCst), lab.get(&derived()).await);
    lab.nodes.send_replace(Some(networks.clone()));
    lab.wait(&announce(), |announce| both(announce, "/nodePodCIDRs")).await;
    lab.wait(&exported()[3], |info| both(info, "/spec/clusterInfo/podCIDRs")).await;
    assert_eq!((watches.load(Ordering::SeqCst), lab.get(&derived()).await), before);
    lab.end().await;
}

#[tokio::test]
async fn a_member_that_starts_withdraws_nothing_before_it_knows_its_nodes() {
    let mut lab = Lab::new("https://nodes-unknown").await;
    lab.is_joined().await;
    lab.end().await;
    lab.pods = PodNetworks::OfNodes;
    lab.nodes.send_replace(Some(vec!["10.10.1.0/24".parse().unwrap()]));
    lab.start();
    let names = |object: Option<&Value>, path: &str| {
        object.and_then(|of| at(of, path)) == Some(&json!(["10.10.1.0/24"]))
    };
    lab.wait(&exported()[3], |info| names(info, "/spec/clusterInfo/podCIDRs")).await;
    lab.end().await;
    lab.nodes.send_replace(None);
    let touched = |announce: &Value| announce["metadata"]["annotations"]["touch-ts"].clone();
    let before = touched(&lab.get(&announce()).await.unwrap());
    lab.start();
    lab.wait(&announce(), |announce| announce.is_some_and(|of| touched(of) != before)).await;
    sleep(Duration::from_millis(500)).await;
    assert!(names(lab.get(&announce()).await.as_ref(), "/nodePodCIDRs"));
    assert!(names(lab.get(&exported()[3]).await.as_ref(), "/spec/clusterInfo/podCIDRs"));
    lab.end().await;
}

/// The Gateway would close what is exported in their networks.
#[tokio::test]
async fn nothing_is_said_of_exports_before_nodes_are_known_though_the_leader_is_away() {
    let mut lab = Lab::new("https://nodes-of-nobody").await;
    lab.pods = PodNetworks::OfNodes;
    let away = Leader::Away {
        cluster: "west".parse().unwrap(),
        area: "area".to_owned(),
        why: Class::NoWay("the Secret is not there".to_owned()),
    };
    assert!(Exports(lab.settings()).area(&away).is_none());
    lab.nodes.send_replace(Some(Vec::new()));
    assert!(Exports(lab.settings()).area(&away).is_some());
    lab.end().await;
}

/// An API server that can do nothing now.
fn failing() -> Client {
    let service = tower::service_fn(|_: hyper::Request<Body>| async {
        let answer = hyper::Response::builder().status(500).body(Body::from(b"in trouble".to_vec()));
        Ok::<_, Infallible>(answer.unwrap())
    });
    Client::new(service, "default")
}

/// Which Pods in networks of Nodes the leader takes is not known before it has answered.
#[tokio::test]
async fn a_member_that_starts_while_the_leader_is_away_says_what_is_exported() {
    let mut lab = Lab::new("https://away-at-the-start").await;
    lab.is_joined().await;
    lab.wait(&gateway(), |gateway| lists(gateway, &["10.96.0.7/32"])).await;
    lab.end().await;
    LEADERS.lock().unwrap().insert(lab.url.to_owned(), failing());
    lab.pods = PodNetworks::OfNodes;
    lab.nodes.send_replace(Some(vec!["10.10.1.0/24".parse().unwrap()]));
    let headless = json!({ "spec": { "clusterIP": "None", "clusterIPs": ["None"] } });
    lab.patch(&Key::new(Kind::Service, "shop", "web"), &headless).await;
    lab.start();
    // Others have heard of the ClusterIP, and may connect to it for a moment.
    lab.wait(&gateway(), |gateway| lists(gateway, &["10.10.1.5/32", "10.96.0.7/32"])).await;
    let is_told = |export: Option<&Value>| {
        export.is_some_and(|of| text(of, "/status/conditions/1/message").contains("leader's API server"))
    };
    lab.wait(&Key::new(Kind::ServiceExport, "shop", "web"), is_told).await;
    lab.end().await;
}

#[tokio::test]
async fn labels_that_are_not_exported_any_more_are_withdrawn() {
    let mut lab = Lab::new("https://fewer-labels").await;
    lab.is_joined().await;
    lab.end().await;
    lab.labels = LabelIdentities::Kept;
    lab.start();
    let [announce, service, .., labels] = exported();
    lab.is_gone(&labels).await;
    lab.is_there(&announce).await;
    lab.is_there(&service).await;
    lab.end().await;
}

#[tokio::test]
async fn a_policy_that_the_api_server_could_not_take_is_tried_again() {
    let mut lab = Lab::new("https://sixteen").await;
    lab.is_joined().await;
    lab.end().await;
    let failures = Arc::new(AtomicU32::new(2));
    lab.local = in_trouble(lab.local.clone(), failures.clone());
    let tier = json!({
        "apiVersion": "crd.antrea.io/v1beta1",
        "kind": "Tier",
        "metadata": { "name": "securityops" },
        "spec": { "priority": 50 },
    });
    lab.create(Kind::Tier, &tier).await;
    let import = json!({
        "apiVersion": "multicluster.crd.antrea.io/v1alpha1",
        "kind": "ResourceImport",
        "metadata": { "name": "strict-antreaclusternetworkpolicy", "namespace": "area" },
        "spec": {
            "kind": "AntreaClusterNetworkPolicy",
            "name": "strict",
            "clusternetworkpolicy": { "tier": "securityops", "priority": 1 },
        },
    });
    lab.create(Kind::ResourceImport, &import).await;
    lab.start();
    lab.is_there(&Key::new(Kind::ClusterNetworkPolicy, "", "antrea-mc-strict")).await;
    assert_eq!(failures.load(Ordering::SeqCst), 0);
    lab.end().await;
}

/// An API server that fails so often to create a ClusterNetworkPolicy.
fn in_trouble(files: Client, failures: Arc<AtomicU32>) -> Client {
    let service = tower::service_fn(move |request: hyper::Request<Body>| {
        let (files, failures) = (files.clone(), failures.clone());
        async move {
            let creates =
                request.method() == Method::POST && request.uri().path().ends_with("/clusternetworkpolicies");
            let fails = creates
                && failures
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
                    .is_ok();
            if !fails {
                return files.send(request).await;
            }
            let status = r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 500, "reason": "InternalError", "message": "in trouble"}"#;
            Ok(hyper::Response::builder().status(500).body(Body::from(status.as_bytes().to_vec())).unwrap())
        }
    });
    Client::new(service, "default")
}
