//! The whole member against two API servers made of object files.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use antrea_kit::object_files;
use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::client::Body;
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::*;
use crate::leader::Target;
use crate::objects::{Key, text};

/// Leaders by URL.
static LEADERS: Mutex<BTreeMap<String, Client>> = Mutex::new(BTreeMap::new());

fn connect(target: &Target) -> Result<Client> {
    LEADERS.lock().unwrap().get(&target.server).cloned().context("nobody is there")
}

const LOCAL: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Pod
metadata: {name: web-0, namespace: shop, labels: {app: web}}
spec: {nodeName: n1}
---
apiVersion: v1
kind: Node
metadata: {name: n1, annotations: {multicluster.antrea.io/gateway: 'true'}}
status: {addresses: [{type: InternalIP, address: 172.18.0.1}], conditions: [{type: Ready, status: 'True'}]}
---
apiVersion: v1
kind: Secret
metadata: {name: token, namespace: kube-system}
data: {token: dG9rZW4=}
---
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceExport
metadata: {name: web, namespace: shop, creationTimestamp: '2026-11-21T09:48:02Z'}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {type: ClusterIP, clusterIP: 10.96.0.7, clusterIPs: [10.96.0.7], ports: [{name: http, port: 80, protocol: TCP}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: shop, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 8080, protocol: TCP}]
endpoints: [{addresses: [10.10.1.5]}]
";

const LEADER: &str = "
apiVersion: multicluster.crd.antrea.io/v1alpha1
kind: ResourceImport
metadata: {name: shop-api-service, namespace: area}
spec: {kind: ServiceImport, namespace: shop, name: api, serviceImport: {metadata: {}, status: {}, spec: {type: ClusterSetIP, ports: [{port: 80, protocol: TCP}]}}}
---
apiVersion: multicluster.crd.antrea.io/v1alpha1
kind: ResourceImport
metadata: {name: shop-api-endpoints, namespace: area}
spec: {kind: Endpoints, namespace: shop, name: api, endpoints: {subsets: [{addresses: [{ip: 10.2.0.9}], ports: [{port: 80, protocol: TCP}]}]}}
";

fn cluster_set(server: &str) -> Value {
    json!({
        "apiVersion": "multicluster.crd.antrea.io/v1alpha2",
        "kind": "ClusterSet",
        "metadata": { "name": "set", "namespace": "kube-system" },
        "spec": {
            "clusterID": "west",
            "namespace": "area",
            "leaders": [{ "clusterID": "east", "server": server, "secret": "token" }],
        },
    })
}

/// A member that runs, its API server, and the leader's.
struct Lab {
    local: Client,
    leader: Client,
    url: &'static str,
    stop: Option<oneshot::Sender<()>>,
    process: Option<JoinHandle<()>>,
    _folders: [tempfile::TempDir; 2],
}

fn api_server(objects: &str) -> (Client, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("objects.yaml"), objects).unwrap();
    (object_files::client(Path::new(folder.path())).unwrap(), folder)
}

impl Lab {
    /// `url` tells labs that run at the same time apart.
    async fn new(url: &'static str) -> Self {
        let (local, of_local) = api_server(LOCAL);
        let (leader, of_leader) = api_server(LEADER);
        LEADERS.lock().unwrap().insert(url.to_owned(), leader.clone());
        let mut lab = Self { local, leader, url, stop: None, process: None, _folders: [of_local, of_leader] };
        lab.create(Kind::ClusterSet, &cluster_set(url)).await;
        lab.start();
        lab
    }

    fn start(&mut self) {
        let settings = Settings {
            namespace: "kube-system".to_owned(),
            networks: Networks {
                service_cidrs: vec!["10.96.0.0/16".parse().unwrap()],
                pod_cidrs: Vec::new(),
            },
            addresses: EndpointAddresses::ClusterIps,
            precedence: NodeIpKind::Internal,
            naming: Naming::Unambiguous,
            label_identities: LabelIdentities::Exported,
            token_lifetime: Duration::from_secs(7 * 86_400),
            version: "v0".to_owned(),
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let local = self.local.clone();
        self.stop = Some(stop);
        self.process = Some(tokio::spawn(async move {
            let mut components = Components::new();
            add(&mut components, &local, &settings, connect);
            components.run_until(stopped, Duration::from_secs(5)).await.unwrap();
        }));
    }

    async fn end(&mut self) {
        drop(self.stop.take());
        self.process.take().unwrap().await.unwrap();
    }

    fn api(&self, key: &Key) -> Api<DynamicObject> {
        let client = if key.kind.side() == crate::kind::Side::Leader { &self.leader } else { &self.local };
        let resource = key.kind.resource();
        match key.namespace.as_str() {
            "" => Api::all_with(client.clone(), &resource),
            namespace => Api::namespaced_with(client.clone(), namespace, &resource),
        }
    }

    async fn create(&self, kind: Kind, object: &Value) {
        let key = Key::of(kind, object);
        let object = serde_json::from_value(object.clone()).unwrap();
        self.api(&key).create(&PostParams::default(), &object).await.unwrap();
    }

    async fn patch(&self, key: &Key, patch: &Value) {
        self.api(key).patch(&key.name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    async fn delete(&self, key: &Key) {
        self.api(key).delete(&key.name, &DeleteParams::default()).await.unwrap();
    }

    async fn get(&self, key: &Key) -> Option<Value> {
        let object = self.api(key).get_opt(&key.name).await.unwrap()?;
        Some(serde_json::to_value(object).unwrap())
    }

    /// Waits until an object is like that; nothing stands for one that is not there.
    async fn wait(&self, key: &Key, is: impl Fn(Option<&Value>) -> bool) {
        let began = Instant::now();
        loop {
            let object = self.get(key).await;
            if is(object.as_ref()) {
                return;
            }
            assert!(began.elapsed() < Duration::from_secs(20), "{key} is not as expected: {object:#?}");
            sleep(Duration::from_millis(20)).await;
        }
    }

    async fn is_there(&self, key: &Key) {
        self.wait(key, |object| object.is_some()).await;
    }

    async fn is_gone(&self, key: &Key) {
        self.wait(key, |object| object.is_none()).await;
    }

    async fn is_joined(&self) {
        for key in exported().iter().chain(&[derived(), gateway()]) {
            self.is_there(key).await;
        }
        let is_ready = |set: Option<&Value>| set.is_some_and(|set| set["status"]["readyClusters"] == 1);
        self.wait(&set(), is_ready).await;
    }
}

fn set() -> Key {
    Key::new(Kind::ClusterSet, "kube-system", "set")
}

fn derived() -> Key {
    Key::new(Kind::Service, "shop", "antrea-mc-api")
}

fn gateway() -> Key {
    Key::new(Kind::Gateway, "kube-system", "n1")
}

fn announce() -> Key {
    Key::new(Kind::MemberClusterAnnounce, "area", "member-announce-from-west")
}

/// What the leader has of the member.
fn exported() -> [Key; 5] {
    let export = |name: &str| Key::new(Kind::ResourceExport, "area", name);
    let labels = antrea_shared_api::labels::identity_name("ns:kubernetes.io/metadata.name=shop&pod:app=web");
    [
        announce(),
        export("west-shop-web-service"),
        export("west-shop-web-endpoints"),
        export("west-clusterinfo"),
        export(&format!("west-{labels}")),
    ]
}

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
    for key in [&derived(), &import, &gateway(), &announce()] {
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
async fn a_change_of_leader_moves_all_exports_and_says_goodbye() {
    let mut lab = Lab::new("https://four").await;
    lab.is_joined().await;
    let (other, _folder) = api_server("");
    let old = std::mem::replace(&mut lab.leader, other.clone());
    LEADERS.lock().unwrap().insert("https://five".to_owned(), other);
    let leaders = json!([{ "clusterID": "east", "server": "https://five", "secret": "token" }]);
    lab.patch(&set(), &json!({"spec": {"leaders": leaders}})).await;
    for key in exported() {
        lab.is_there(&key).await;
    }
    lab.is_gone(&derived()).await;
    lab.leader = old;
    lab.is_gone(&announce()).await;
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

/// A token of the ServiceAccount `area/west` that has half of its life behind it.
fn half_spent_token() -> String {
    let now = jiff::Timestamp::now().as_second();
    let claims = json!({ "sub": "system:serviceaccount:area:west", "iat": now - 1000, "exp": now + 900 });
    format!("h.{}.s", URL_SAFE_NO_PAD.encode(claims.to_string()))
}

/// Object files know no TokenRequests: these are answered with this.
fn with_tokens(files: Client, code: u16, answer: &'static str) -> Client {
    let service = tower::service_fn(move |request: hyper::Request<Body>| {
        let files = files.clone();
        async move {
            if request.uri().path() != "/api/v1/namespaces/area/serviceaccounts/west/token" {
                return files.send(request).await;
            }
            let answer = hyper::Response::builder().status(code).body(Body::from(answer.as_bytes().to_vec()));
            Ok(answer.unwrap())
        }
    });
    Client::new(service, "default")
}

fn secret() -> Key {
    Key::new(Kind::Secret, "kube-system", "token")
}

#[tokio::test]
async fn a_token_that_has_half_of_its_life_behind_it_is_renewed() {
    let mut lab = Lab::new("https://eight").await;
    let answer = r#"{"spec": {"audiences": []}, "status": {"token": "new", "expirationTimestamp": "2026-11-28T00:00:00Z"}}"#;
    let leader = with_tokens(lab.leader.clone(), 201, answer);
    LEADERS.lock().unwrap().insert(lab.url.to_owned(), leader);
    let old = STANDARD.encode(half_spent_token());
    lab.patch(&secret(), &json!({ "data": { "ca.crt": "Y2E=", "token": old } })).await;
    let is_new = |secret: Option<&Value>| secret.is_some_and(|secret| secret["data"]["token"] == "bmV3");
    lab.wait(&secret(), is_new).await;
    assert_eq!(lab.get(&secret()).await.unwrap()["data"]["ca.crt"], "Y2E=");
    lab.is_joined().await;
    lab.end().await;
}

#[tokio::test]
async fn a_member_that_may_not_renew_its_token_says_so_and_goes_on() {
    let mut lab = Lab::new("https://nine").await;
    let answer = r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403, "reason": "Forbidden", "message": "may not"}"#;
    let leader = with_tokens(lab.leader.clone(), 403, answer);
    LEADERS.lock().unwrap().insert(lab.url.to_owned(), leader);
    let old = STANDARD.encode(half_spent_token());
    lab.patch(&secret(), &json!({ "data": { "token": old } })).await;
    let is_told = |set: Option<&Value>| {
        set.is_some_and(|set| {
            text(set, "/status/conditions/1/reason") == "TokenNotRenewed"
                && text(set, "/status/conditions/1/message")
                    .contains("antctl mc create membertoken west --cluster-id west -n area")
        })
    };
    lab.wait(&set(), is_told).await;
    lab.is_joined().await;
    assert_eq!(lab.get(&secret()).await.unwrap()["data"]["token"], old);
    lab.end().await;
}
