//! Pods for tests: agnhost's `netexec`, and the questions one asks from inside them.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use antrea_types::DualStack;
use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::images::AGNHOST_IMAGE;
use crate::kubectl::Kubectl;
use crate::names::NodeId;
use crate::wait;

/// Where netexec listens, for HTTP and for UDP.
pub const PORT: u16 = 8080;

/// A Pod of Namespace `default` that runs netexec.
#[derive(Debug, Clone)]
pub struct Pod {
    kubectl: Kubectl,
    /// Its name, which is what `/hostname` answers.
    pub name: String,
    /// Where it runs.
    pub node: NodeId,
    /// Its addresses.
    pub ips: DualStack<IpAddr>,
}

impl Pod {
    /// Creates Pods and does not wait for them.
    ///
    /// # Errors
    /// When the API server refuses one.
    pub fn apply(kubectl: &Kubectl, wanted: &[(&str, NodeId)]) -> Result<()> {
        let manifests: Vec<String> = wanted.iter().map(|(name, node)| manifest(name, *node)).collect();
        kubectl.apply(&manifests.join("\n---\n"))
    }

    /// Creates Pods and waits until they are ready.
    ///
    /// # Errors
    /// When one is not ready after two minutes.
    pub fn create(kubectl: &Kubectl, wanted: &[(&str, NodeId)]) -> Result<Vec<Self>> {
        Self::apply(kubectl, wanted)?;
        let names: Vec<String> = wanted.iter().map(|(name, _)| format!("pod/{name}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        kubectl.wait("condition=Ready", 120, &names)?;
        wanted.iter().map(|(name, _)| Self::existing(kubectl, name)).collect()
    }

    /// A Pod that is there already.
    ///
    /// # Errors
    /// When it has no address.
    pub fn existing(kubectl: &Kubectl, name: &str) -> Result<Self> {
        let pod = kubectl.json(&["get", "pod", name])?;
        let addresses = pod["status"]["podIPs"].as_array().into_iter().flatten();
        let parsed: Option<Vec<IpAddr>> = addresses.map(|entry| entry["ip"].as_str()?.parse().ok()).collect();
        let ips =
            parsed.filter(|ips| !ips.is_empty()).with_context(|| format!("Pod {name} has no address"))?;
        let node = pod["spec"]["nodeName"].as_str().with_context(|| format!("Pod {name} is on no Node"))?;
        Ok(Self {
            kubectl: kubectl.clone(),
            name: name.to_owned(),
            node: node.parse()?,
            ips: ips.into_iter().collect(),
        })
    }

    /// Runs a command in it.
    ///
    /// # Errors
    /// When the command fails.
    pub fn exec(&self, command: &[&str]) -> Result<String> {
        self.kubectl.exec("default", &self.name, command)
    }

    /// What an HTTP server answers to `GET path`; within 5 s or not at all.
    ///
    /// # Errors
    /// When there is no answer, or it is an HTTP error.
    pub fn get(&self, server: SocketAddr, path: &str) -> Result<String> {
        self.exec(&["curl", "-gsSf", "--max-time", "5", &format!("http://{server}{path}")])
    }

    /// Pings with packets of `size` bytes of payload that must not be fragmented.
    ///
    /// # Errors
    /// When no answer comes back.
    pub fn ping(&self, address: IpAddr, size: u16) -> Result<()> {
        let (size, to) = (size.to_string(), address.to_string());
        self.exec(&["ping", "-c", "1", "-W", "2", "-M", "do", "-s", &size, &to]).map(|_| ())
    }

    /// Waits until pings come back, or until none does.
    ///
    /// # Errors
    /// When that is not so after 20 s.
    pub fn wait_for_ping(&self, address: IpAddr, wanted: Reachable) -> Result<()> {
        let what = format!("{address} to be {wanted:?} from Pod {}", self.name);
        wait::until(Duration::from_secs(20), &what, || {
            let answered = self.ping(address, 56).is_ok();
            Ok(answered == (wanted == Reachable::Yes))
        })
    }
}

/// Whether packets come through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reachable {
    /// They do.
    Yes,
    /// They do not.
    No,
}

fn manifest(name: &str, node: NodeId) -> String {
    let mut spec = netexec();
    spec["nodeName"] = json!(node);
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": name, "labels": { "app": name, "server": "netexec" } },
        "spec": spec,
    })
    .to_string()
}

/// The `spec` of a Pod that serves netexec, wherever it is put.
pub fn netexec() -> Value {
    json!({
        "terminationGracePeriodSeconds": 1,
        "containers": [{
            "name": "agnhost",
            "image": AGNHOST_IMAGE,
            "imagePullPolicy": "IfNotPresent",
            "args": ["netexec", format!("--http-port={PORT}"), format!("--udp-port={PORT}")],
            "readinessProbe": { "httpGet": { "path": "/healthz", "port": PORT }, "periodSeconds": 1 },
        }],
    })
}
