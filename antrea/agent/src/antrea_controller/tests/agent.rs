//! An agent that listens, and the cluster in which it looks for the controller.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

use antrea_agent_policy::{PolicyEvent, Watch};
use antrea_kit::object_files;
use antrea_shared_api::watch::{Event, Watched};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::super::{AntreaController, Heard, watch_policies};
use crate::agent_info::ConnectionState;

const NAMESPACE: &str = "kube-system";

/// The name in the certificates of controllers.
pub(super) const NAME: &str = "antrea.kube-system.svc";

/// The token that controllers take unless they are told another.
pub(super) const TOKEN: &str = "agent-token";

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The API server, and the agent's token.
pub(super) struct Cluster {
    client: Client,
    folder: TempDir,
}

impl Cluster {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let client = object_files::client(folder.path()).unwrap();
        let cluster = Self { client, folder };
        cluster.set_token(TOKEN);
        cluster
    }

    /// A cluster in which a controller can be found.
    pub(super) async fn with(endpoints: &[SocketAddr], ca: &str) -> Self {
        let cluster = Self::new();
        cluster.set_ca(ca).await;
        cluster.set_endpoints(endpoints).await;
        cluster
    }

    pub(super) fn set_token(&self, token: &str) {
        fs::write(self.folder.path().join("token"), format!("{token}\n")).unwrap();
    }

    pub(super) async fn set_ca(&self, pem: &str) {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "antrea-ca"}, "data": {"ca.crt": pem},
        });
        self.set::<ConfigMap>("antrea-ca", &map).await;
    }

    /// All of them have the port of the last.
    pub(super) async fn set_endpoints(&self, endpoints: &[SocketAddr]) {
        let (mut addresses, mut port) = (Vec::new(), 0);
        for endpoint in endpoints {
            addresses.push(json!({"addresses": [endpoint.ip()], "conditions": {"ready": true}}));
            port = endpoint.port();
        }
        let slice = json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"name": "antrea-1", "labels": {"kubernetes.io/service-name": "antrea"}},
            "endpoints": addresses, "ports": [{"name": "", "port": port, "protocol": "TCP"}],
        });
        self.set::<EndpointSlice>("antrea-1", &slice).await;
    }

    async fn set<K>(&self, name: &str, object: &Value)
    where
        K: Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
        K: Clone + DeserializeOwned + serde::Serialize + std::fmt::Debug,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), NAMESPACE);
        if api.patch(name, &PatchParams::default(), &Patch::Merge(object)).await.is_err() {
            let object = serde_json::from_value(object.clone()).unwrap();
            api.create(&PostParams::default(), &object).await.unwrap();
        }
    }

    /// The way of an agent of this cluster to the controller.
    pub(super) fn controller(&self) -> AntreaController {
        let token = self.folder.path().join("token");
        AntreaController::with(self.client.clone(), NAMESPACE.to_owned(), token)
    }

    /// An agent on Node n1.
    pub(super) fn agent(&self) -> Agent {
        Agent::listening(self.controller(), 64)
    }
}

/// An agent that listens, until it is dropped.
pub(super) struct Agent {
    pub(super) controller: AntreaController,
    heard: mpsc::Receiver<Heard>,
    waiting: BTreeMap<Watch, VecDeque<String>>,
    /// Watches that have not sent yet what there is.
    beginning: BTreeSet<Watch>,
    _stop: tokio_util::sync::DropGuard,
}

impl Agent {
    pub(super) fn listening(controller: AntreaController, capacity: usize) -> Self {
        let (sender, heard) = mpsc::channel(capacity);
        let stop = CancellationToken::new();
        tokio::spawn(watch_policies(controller.clone(), "n1".parse().unwrap(), sender, stop.clone()));
        Self {
            controller,
            heard,
            waiting: BTreeMap::new(),
            beginning: BTreeSet::new(),
            _stop: stop.drop_guard(),
        }
    }

    /// What a watch says next, in short. Where rounds end is left out: that depends on other watches.
    pub(super) async fn next(&mut self, watch: Watch) -> String {
        loop {
            if let Some(text) = self.waiting.get_mut(&watch).and_then(VecDeque::pop_front) {
                return text;
            }
            let (of, text) = short(&self.hear().await);
            if text == "connected" {
                self.beginning.insert(of);
            }
            if text != "BOOKMARK" || self.beginning.remove(&of) {
                self.waiting.entry(of).or_default().push_back(text);
            }
        }
    }

    /// What any of them says next.
    pub(super) async fn hear(&mut self) -> Heard {
        let heard = timeout(PATIENCE, self.heard.recv()).await;
        heard.expect("nothing was heard").expect("the watches ended")
    }

    /// Checks what the watch of policies says next.
    #[track_caller]
    pub(super) fn hears<'a>(&'a mut self, expected: &'a [&str]) -> impl Future<Output = ()> + 'a {
        let caller = std::panic::Location::caller();
        async move {
            for expected in expected {
                assert_eq!(self.next(Watch::NetworkPolicies).await, *expected, "at {caller}");
            }
        }
    }

    /// Waits until all watches are connected, or one is not.
    pub(super) async fn is(&self, connection: ConnectionState) {
        let waiting = async {
            while self.controller.state().connection != connection {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, waiting).await.expect("the state did not change");
        assert_eq!(self.controller.is_connected(), connection == ConnectionState::Up);
    }
}

fn short(heard: &Heard) -> (Watch, String) {
    match heard {
        Heard::Connected(watch) => (*watch, "connected".to_owned()),
        Heard::Away(watch) => (*watch, "away".to_owned()),
        Heard::Event(PolicyEvent::NetworkPolicy(event)) => (Watch::NetworkPolicies, of_event(event)),
        Heard::Event(PolicyEvent::AddressGroup(event)) => (Watch::AddressGroups, of_event(event)),
        Heard::Event(PolicyEvent::AppliedToGroup(event)) => (Watch::AppliedToGroups, of_event(event)),
    }
}

/// `ADDED a`, `BOOKMARK`.
fn of_event<T: Watched>(event: &Event<T>) -> String {
    let event: Value = serde_json::from_slice(&event.to_line().unwrap()).unwrap();
    let name = event["object"]["metadata"]["name"].as_str().unwrap_or_default();
    format!("{} {name}", event["type"].as_str().unwrap()).trim_end().to_owned()
}
