//! An API server with as much of list, watch, create, update, patch and delete as a controller needs.

mod answers;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use antrea_kit::server::{Handler, Limits, Server};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// No condition takes longer to come true, unless something is broken.
const PATIENCE: Duration = Duration::from_secs(30);

/// The kinds that every server knows, and where they are.
const NODES: &str = "/api/v1/nodes";
pub(crate) const PODS: &str = "/api/v1/pods";
pub(crate) const CONFIG_MAPS: &str = "/api/v1/namespaces/kube-system/configmaps";
pub(crate) const API_SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";
pub(crate) const MUTATING_WEBHOOKS: &str =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
pub(crate) const VALIDATING_WEBHOOKS: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
pub(crate) const NAMESPACES: &str = "/api/v1/namespaces";
pub(crate) const NETWORK_POLICIES: &str = "/apis/networking.k8s.io/v1/networkpolicies";
const BUILT_IN: [&str; 8] = [
    NODES,
    PODS,
    CONFIG_MAPS,
    API_SERVICES,
    MUTATING_WEBHOOKS,
    VALIDATING_WEBHOOKS,
    NAMESPACES,
    NETWORK_POLICIES,
];
const POLICIES: &str = "clusternetworkpolicies";
const POLICIES_OF_NAMESPACES: &str = "networkpolicies";
const GROUP: &str = "/apis/crd.antrea.io/v1beta1";

/// The objects of a kind, by name.
pub(crate) type Objects = BTreeMap<String, Value>;

#[derive(Default)]
struct Store {
    version: u64,
    kinds: BTreeMap<String, Objects>,
    events: Vec<(u64, String, Value)>,
    /// Up to which version it has forgotten what happened, and how it says so.
    forgotten: (u64, Expired),
    /// How often an object of a kind was to be created or deleted, whatever came of it.
    asked: BTreeMap<String, usize>,
    /// Kinds that cannot be listed or watched just now.
    hidden: BTreeSet<String>,
    /// The minor version that it says it has.
    minor: Option<&'static str>,
}

impl Store {
    fn knows(&self, path: &str) -> bool {
        !self.hidden.contains(path) && (BUILT_IN.contains(&path) || self.kinds.contains_key(path))
    }
}

/// How a watch is told that what happened since is forgotten. Real servers do both.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Expired {
    #[default]
    ByEvent,
    ByStatus,
}

/// The state of a cluster, which outlives its API server.
#[derive(Clone, Default)]
pub(crate) struct Cluster {
    store: Arc<Mutex<Store>>,
    changed: Arc<Notify>,
}

/// A server, until it is dropped.
pub(crate) struct ApiServer {
    pub(crate) address: SocketAddr,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<anyhow::Result<()>>,
}

impl ApiServer {
    /// Serves `cluster`, at `address` where a server was before.
    pub(crate) async fn start(cluster: &Cluster, address: Option<SocketAddr>) -> Self {
        let cluster = cluster.clone();
        let handler: Handler = Arc::new(move |request| {
            let cluster = cluster.clone();
            Box::pin(async move { cluster.answer(request).await })
        });
        let address = address.unwrap_or_else(|| SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        let server = Server::bind(address, None, Limits::default(), handler).await.unwrap();
        let stop = CancellationToken::new();
        Self { address: server.local_addr(), task: tokio::spawn(server.run(stop.clone())), stop }
    }

    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.task.await.unwrap().unwrap();
    }
}

impl Cluster {
    /// A cluster with the CRDs of Antrea.
    pub(crate) fn with_crds() -> Self {
        let cluster = Self::default();
        cluster.install_crds();
        cluster
    }

    /// The API server forgets what has happened so far, so that nobody can watch from before.
    pub(crate) fn forget_events(&self, expired: Expired) {
        let mut store = self.store.lock().unwrap();
        store.events.clear();
        store.forgotten = (store.version, expired);
    }

    /// Another cluster with the same objects, except what a controller publishes.
    pub(crate) fn copy(&self) -> Self {
        let mut kinds = self.store.lock().unwrap().kinds.clone();
        kinds.remove(CONFIG_MAPS);
        let copy = Self::default();
        copy.store.lock().unwrap().kinds = kinds;
        copy
    }

    /// The API server forgets a kind: it is as if it could not be listed.
    pub(crate) fn hide(&self, path: &str) {
        self.store.lock().unwrap().hidden.insert(path.to_owned());
    }

    pub(crate) fn show(&self, path: &str) {
        self.store.lock().unwrap().hidden.remove(path);
    }

    /// The API server has another version.
    pub(crate) fn set_minor_version(&self, minor: &'static str) {
        self.store.lock().unwrap().minor = Some(minor);
    }

    /// A Namespace with the label `name=NAME`.
    pub(crate) fn add_namespace(&self, name: &str) {
        self.put(NAMESPACES, name, json!({"metadata": {"name": name, "labels": {"name": name}}}));
    }

    /// A Pod `NAMESPACE/NAME` with the label `app=NAME`.
    pub(crate) fn add_pod(&self, pod: &str, node: &str, ip: &str) {
        let (namespace, name) = pod.split_once('/').unwrap();
        let metadata = json!({"namespace": namespace, "name": name, "labels": {"app": name}});
        let spec = json!({"nodeName": node, "containers": [{"name": "c", "image": "i"}]});
        let status = json!({"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}]});
        self.put(PODS, pod, json!({"metadata": metadata, "spec": spec, "status": status}));
    }

    /// An object that is written out: a Namespace, a Pod or a NetworkPolicy.
    pub(crate) fn add(&self, object: Value) {
        let metadata = &object["metadata"];
        let name = metadata["name"].as_str().unwrap();
        let name = metadata["namespace"].as_str().map_or(name.to_owned(), |space| format!("{space}/{name}"));
        let path = match object["kind"].as_str().unwrap() {
            "Namespace" => NAMESPACES,
            "Pod" => PODS,
            _ => NETWORK_POLICIES,
        };
        self.put(path, &name, object);
    }

    pub(crate) fn delete_pod(&self, pod: &str) {
        self.remove(PODS, pod);
    }

    /// A NetworkPolicy `NAMESPACE/NAME` whose UID is its name: Pods `app=to` admit Pods `app=from`.
    pub(crate) fn add_network_policy(&self, policy: &str, to: &str, from: &str) {
        let (namespace, name) = policy.split_once('/').unwrap();
        let app = |app: &str| json!({"podSelector": {"matchLabels": {"app": app}}});
        let mut spec = app(to);
        spec["policyTypes"] = json!(["Ingress"]);
        spec["ingress"] = json!([{"from": [app(from)]}]);
        let metadata = json!({"namespace": namespace, "name": name, "uid": name, "generation": 1});
        self.put(NETWORK_POLICIES, policy, json!({"metadata": metadata, "spec": spec}));
    }

    pub(crate) fn delete_network_policy(&self, policy: &str) {
        self.remove(NETWORK_POLICIES, policy);
    }

    /// The ConfigMap that agents are configured with.
    pub(crate) fn configure_agents(&self, text: &str) {
        let map = json!({"metadata": {"name": "antrea-config"}, "data": {"antrea-agent.conf": text}});
        self.put(CONFIG_MAPS, "antrea-config", map);
    }

    pub(crate) fn add_api_service(&self, name: &str) {
        let service = json!({"name": "antrea", "namespace": "kube-system"});
        let spec = json!({"service": service, "groupPriorityMinimum": 100, "versionPriority": 100});
        self.put(API_SERVICES, name, json!({"metadata": {"name": name}, "spec": spec}));
    }

    /// A configuration with one webhook for each of these Services.
    pub(crate) fn add_webhooks(&self, path: &str, name: &str, services: &[&str]) {
        let webhook = |service: &&str| {
            let client_config = json!({"service": {"name": service, "namespace": "kube-system"}});
            json!({
                "name": service, "clientConfig": client_config,
                "sideEffects": "None", "admissionReviewVersions": ["v1"],
            })
        };
        let webhooks: Vec<_> = services.iter().map(webhook).collect();
        self.put(path, name, json!({"metadata": {"name": name}, "webhooks": webhooks}));
    }

    pub(crate) fn install_crds(&self) {
        for kind in ["tiers", "antreaagentinfos", "antreacontrollerinfos", POLICIES, POLICIES_OF_NAMESPACES] {
            self.store.lock().unwrap().kinds.entry(format!("{GROUP}/{kind}")).or_default();
        }
    }

    pub(crate) fn add_node(&self, name: &str) {
        self.put(NODES, name, json!({"metadata": {"name": name}}));
    }

    pub(crate) fn add_policy(&self, name: &str) {
        let policy = json!({"metadata": {"name": name, "generation": 1}, "spec": {"priority": 1}});
        self.put(&format!("{GROUP}/{POLICIES}"), name, policy);
    }

    /// A policy of Antrea in a Namespace, written out.
    pub(crate) fn add_policy_of_namespace(&self, object: Value) {
        let name = |key: &str| object["metadata"][key].as_str().unwrap();
        let name = format!("{}/{}", name("namespace"), name("name"));
        self.put(&format!("{GROUP}/{POLICIES_OF_NAMESPACES}"), &name, object);
    }

    pub(crate) fn delete_node(&self, name: &str) {
        self.remove(NODES, name);
    }

    pub(crate) fn edit(&self, kind: &str, name: &str, edit: impl FnOnce(&mut Value)) {
        let mut object = self.objects(kind).remove(name).unwrap();
        edit(&mut object);
        self.put(&path_of(kind), name, object);
    }

    pub(crate) fn delete(&self, kind: &str, name: &str) {
        self.remove(&path_of(kind), name);
    }

    /// The objects of a kind of Antrea, or of those below a path.
    pub(crate) fn objects(&self, kind: &str) -> Objects {
        self.store.lock().unwrap().kinds.get(&path_of(kind)).cloned().unwrap_or_default()
    }

    /// Waits until the objects of a kind are as wanted.
    #[track_caller]
    pub(crate) fn until(
        &self,
        kind: &'static str,
        wanted: impl Fn(&Objects) -> bool,
    ) -> impl Future<Output = ()> {
        let waiting = async move {
            loop {
                let changed = self.changed.notified();
                if wanted(&self.objects(kind)) {
                    return;
                }
                changed.await;
            }
        };
        async move {
            let waited = timeout(PATIENCE, waiting).await;
            assert!(waited.is_ok(), "{kind} did not become as wanted: {:#?}", self.objects(kind));
        }
    }

    /// How many requests were to create or delete an object of a kind, whatever came of them.
    pub(crate) fn asked(&self, kind: &str) -> usize {
        self.store.lock().unwrap().asked.get(&format!("{GROUP}/{kind}")).copied().unwrap_or_default()
    }

    fn count(&self, kind: &str) {
        *self.store.lock().unwrap().asked.entry(kind.to_owned()).or_default() += 1;
    }

    fn put(&self, path: &str, name: &str, mut object: Value) -> Value {
        let mut store = self.store.lock().unwrap();
        store.version += 1;
        object["metadata"]["resourceVersion"] = store.version.to_string().into();
        let event = json!({"type": "MODIFIED", "object": object});
        let version = store.version;
        store.events.push((version, path.to_owned(), event));
        store.kinds.entry(path.to_owned()).or_default().insert(name.to_owned(), object.clone());
        self.changed.notify_waiters();
        object
    }

    fn remove(&self, path: &str, name: &str) -> Option<Value> {
        let mut store = self.store.lock().unwrap();
        let mut object = store.kinds.get_mut(path)?.remove(name)?;
        store.version += 1;
        let version = store.version;
        object["metadata"]["resourceVersion"] = version.to_string().into();
        store.events.push((version, path.to_owned(), json!({"type": "DELETED", "object": object})));
        self.changed.notify_waiters();
        Some(object)
    }
}

/// Where the objects of a kind are: of one of Antrea by its name.
fn path_of(kind: &str) -> String {
    if kind.starts_with('/') { kind.to_owned() } else { format!("{GROUP}/{kind}") }
}
