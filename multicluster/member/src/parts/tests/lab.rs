//! A member that runs, between two API servers made of object files.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use antrea_kit::object_files;
use anyhow::{Context, Result, ensure};
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::super::*;
use crate::leader::Target;
use crate::objects::Key;

/// Leaders by URL.
pub(super) static LEADERS: Mutex<BTreeMap<String, Client>> = Mutex::new(BTreeMap::new());

fn connect(target: &Target) -> Result<Client> {
    ensure!(target.credentials.ca.as_deref() != Some(b"none"), "there is no certificate");
    LEADERS.lock().unwrap().get(&target.server).cloned().context("nobody is there")
}

const LOCAL: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: kube-system, uid: west-uid}
---
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

pub(super) fn cluster_set(server: &str) -> Value {
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
pub(super) struct Lab {
    pub(super) local: Client,
    pub(super) leader: Client,
    pub(super) url: &'static str,
    /// What the configuration says when the member starts next.
    pub(super) labels: LabelIdentities,
    pub(super) token_secret: Option<String>,
    pub(super) pods: PodNetworks,
    /// Tells which networks of Pods Nodes name.
    pub(super) nodes: watch::Sender<Option<Vec<IpNet>>>,
    stop: Option<oneshot::Sender<()>>,
    process: Option<JoinHandle<()>>,
    _folders: [tempfile::TempDir; 2],
}

pub(super) fn api_server(objects: &str) -> (Client, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("objects.yaml"), objects).unwrap();
    (object_files::client(Path::new(folder.path())).unwrap(), folder)
}

impl Lab {
    /// `url` tells labs that run at the same time apart.
    pub(super) async fn new(url: &'static str) -> Self {
        Self::behind(url, |leader| leader).await
    }

    /// The same, with something between the member and the leader's API server.
    pub(super) async fn behind(url: &'static str, between: impl FnOnce(Client) -> Client) -> Self {
        let (local, of_local) = api_server(LOCAL);
        let (leader, of_leader) = api_server(LEADER);
        LEADERS.lock().unwrap().insert(url.to_owned(), between(leader.clone()));
        let mut lab = Self {
            local,
            leader,
            url,
            labels: LabelIdentities::Exported,
            token_secret: None,
            pods: PodNetworks::Named,
            nodes: watch::channel(None).0,
            stop: None,
            process: None,
            _folders: [of_local, of_leader],
        };
        lab.create(Kind::ClusterSet, &cluster_set(url)).await;
        lab.start();
        lab
    }

    pub(super) fn settings(&self) -> Settings {
        Settings {
            namespace: "kube-system".to_owned(),
            networks: Networks {
                service_cidrs: vec!["10.96.0.0/16".parse().unwrap()],
                pod_cidrs: Vec::new(),
            },
            pods: self.pods,
            nodes: self.nodes.subscribe(),
            addresses: EndpointAddresses::ClusterIps,
            precedence: NodeIpKind::Internal,
            label_identities: self.labels,
            token_secret: self.token_secret.clone(),
            token_lifetime: Duration::from_secs(7 * 86_400),
            excluded_namespaces: BTreeSet::new(),
            version: "v0".to_owned(),
        }
    }

    pub(super) fn start(&mut self) {
        let settings = self.settings();
        let (stop, stopped) = oneshot::channel::<()>();
        let local = self.local.clone();
        self.stop = Some(stop);
        self.process = Some(tokio::spawn(async move {
            let mut components = Components::new();
            add(&mut components, &local, &settings, connect);
            components.run_until(stopped, Duration::from_secs(5)).await.unwrap();
        }));
    }

    pub(super) async fn end(&mut self) {
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

    pub(super) async fn create(&self, kind: Kind, object: &Value) {
        let key = Key::of(kind, object);
        let object = serde_json::from_value(object.clone()).unwrap();
        self.api(&key).create(&PostParams::default(), &object).await.unwrap();
    }

    pub(super) async fn patch(&self, key: &Key, patch: &Value) {
        self.api(key).patch(&key.name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    pub(super) async fn delete(&self, key: &Key) {
        self.api(key).delete(&key.name, &DeleteParams::default()).await.unwrap();
    }

    pub(super) async fn get(&self, key: &Key) -> Option<Value> {
        let object = self.api(key).get_opt(&key.name).await.unwrap()?;
        Some(serde_json::to_value(object).unwrap())
    }

    /// Waits until an object is like that; nothing stands for one that is not there.
    pub(super) async fn wait(&self, key: &Key, is: impl Fn(Option<&Value>) -> bool) {
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

    pub(super) async fn is_there(&self, key: &Key) {
        self.wait(key, |object| object.is_some()).await;
    }

    pub(super) async fn is_gone(&self, key: &Key) {
        self.wait(key, |object| object.is_none()).await;
    }

    /// Also that the leader will hear of the end of the membership.
    pub(super) async fn is_joined(&self) {
        for key in exported().iter().chain(&[derived(), gateway()]) {
            self.is_there(key).await;
        }
        let is_held = |set: &Value| set["metadata"]["finalizers"] == json!(["multicluster.antrea.io/leave"]);
        let is_ready =
            |set: Option<&Value>| set.is_some_and(|set| set["status"]["readyClusters"] == 1 && is_held(set));
        self.wait(&set(), is_ready).await;
    }
}

pub(super) fn set() -> Key {
    Key::new(Kind::ClusterSet, "kube-system", "set")
}

pub(super) fn derived() -> Key {
    Key::new(Kind::Service, "shop", "antrea-mc-api")
}

pub(super) fn gateway() -> Key {
    Key::new(Kind::Gateway, "kube-system", "n1")
}

pub(super) fn announce() -> Key {
    Key::new(Kind::MemberClusterAnnounce, "area", "member-announce-from-west")
}

/// What the leader has of the member.
pub(super) fn exported() -> [Key; 5] {
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
