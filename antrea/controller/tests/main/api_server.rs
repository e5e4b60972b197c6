//! An API server with as much of list, watch, create, update, patch and delete as a controller needs.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use antrea_kit::health::{not_found, text};
use antrea_kit::server::{Answer, Handler, Limits, Server};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::{Method, Request, StatusCode};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// No condition takes longer to come true, unless something is broken.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a watch without events lasts.
const WATCH: Duration = Duration::from_secs(1);

/// The kinds that every server knows, and where they are.
const NODES: &str = "/api/v1/nodes";
const POLICIES: &str = "clusternetworkpolicies";
const GROUP: &str = "/apis/crd.antrea.io/v1beta1";

/// The objects of a kind, by name.
pub(crate) type Objects = BTreeMap<String, Value>;

#[derive(Default)]
struct Store {
    version: u64,
    kinds: BTreeMap<String, Objects>,
    events: Vec<(u64, String, Value)>,
    /// How often an object of a kind was to be created or deleted, whatever came of it.
    asked: BTreeMap<String, usize>,
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

    pub(crate) fn install_crds(&self) {
        for kind in ["tiers", "antreaagentinfos", "antreacontrollerinfos", POLICIES] {
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

    pub(crate) fn delete_node(&self, name: &str) {
        self.remove(NODES, name);
    }

    pub(crate) fn edit(&self, kind: &str, name: &str, edit: impl FnOnce(&mut Value)) {
        let mut object = self.objects(kind).remove(name).unwrap();
        edit(&mut object);
        self.put(&format!("{GROUP}/{kind}"), name, object);
    }

    pub(crate) fn delete(&self, kind: &str, name: &str) {
        self.remove(&format!("{GROUP}/{kind}"), name);
    }

    /// The objects of a kind of Antrea.
    pub(crate) fn objects(&self, kind: &str) -> Objects {
        self.store.lock().unwrap().kinds.get(&format!("{GROUP}/{kind}")).cloned().unwrap_or_default()
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

    async fn answer(&self, request: Request<Incoming>) -> Answer {
        let path = request.uri().path().to_owned();
        if path == NODES || self.store.lock().unwrap().kinds.contains_key(&path) {
            let query = request.uri().query().unwrap_or_default().to_owned();
            return match *request.method() {
                Method::POST => self.create(&path, body(request).await),
                _ if query.contains("watch=") => self.watch(&path, &query).await,
                _ => self.list(&path),
            };
        }
        let (path, part) = match path.strip_suffix("/status") {
            Some(object) => (object, "status"),
            None => (path.as_str(), "spec"),
        };
        let Some((kind, name)) = path.rsplit_once('/') else { return not_found() };
        if *request.method() == Method::DELETE {
            self.count(kind);
        }
        let present =
            self.store.lock().unwrap().kinds.get(kind).and_then(|objects| objects.get(name)).cloned();
        let Some(mut present) = present else { return refuse(StatusCode::NOT_FOUND) };
        match *request.method() {
            Method::GET => answer(&present),
            Method::DELETE => self.remove(kind, name).map_or_else(not_found, |object| answer(&object)),
            Method::PUT => {
                let object = body(request).await;
                if object["metadata"]["resourceVersion"] != present["metadata"]["resourceVersion"] {
                    return refuse(StatusCode::CONFLICT);
                }
                answer(&self.put(kind, name, object))
            }
            Method::PATCH => {
                for (key, value) in body(request).await[part].as_object().unwrap() {
                    present[part][key] = value.clone();
                }
                answer(&self.put(kind, name, present))
            }
            _ => not_found(),
        }
    }

    fn create(&self, path: &str, object: Value) -> Answer {
        self.count(path);
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        if self.store.lock().unwrap().kinds[path].contains_key(&name) {
            return refuse(StatusCode::CONFLICT);
        }
        answer(&self.put(path, &name, object))
    }

    fn list(&self, path: &str) -> Answer {
        let store = self.store.lock().unwrap();
        let items: Vec<_> = store.kinds.get(path).into_iter().flat_map(BTreeMap::values).collect();
        answer(&json!({"metadata": {"resourceVersion": store.version.to_string()}, "items": items}))
    }

    /// The events since a version, once there are any.
    async fn watch(&self, path: &str, query: &str) -> Answer {
        let since = query.split('&').find_map(|item| item.strip_prefix("resourceVersion="));
        let since: u64 = since.unwrap().parse().unwrap();
        let events = async {
            loop {
                let changed = self.changed.notified();
                let events = self.events_since(path, since);
                if !events.is_empty() {
                    return events;
                }
                changed.await;
            }
        };
        text(StatusCode::OK, timeout(WATCH, events).await.unwrap_or_default())
    }

    fn events_since(&self, path: &str, since: u64) -> String {
        let store = self.store.lock().unwrap();
        let later = store.events.iter().filter(|(version, kind, _)| *version > since && kind == path);
        later.map(|(_, _, event)| format!("{event}\n")).collect()
    }
}

async fn body(request: Request<Incoming>) -> Value {
    let bytes = request.into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&bytes).unwrap()
}

fn answer(object: &Value) -> Answer {
    text(StatusCode::OK, object.to_string())
}

fn refuse(status: StatusCode) -> Answer {
    let reason = if status == StatusCode::NOT_FOUND { "NotFound" } else { "AlreadyExists" };
    let code = status.as_u16();
    let body =
        json!({"kind": "Status", "status": "Failure", "code": code, "message": reason, "reason": reason});
    text(status, body.to_string())
}
