//! The Pods of the tests of Services: servers and clients, all of them netexec.

use std::net::IpAddr;

use antrea_e2e::images::AGNHOST_IMAGE;
use antrea_e2e::kubectl::Kubectl;
use antrea_e2e::lab::Lab;
use antrea_e2e::names::NodeId;
use antrea_e2e::pods::{PORT, Pod};
use antrea_types::{DualStack, IpFamily};
use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::api::Api;
use super::network::Network;

/// A Pod, and its network.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    /// What it answers when it is asked for its hostname.
    pub(crate) name: String,
    pub(crate) node: NodeId,
    pub(crate) ips: DualStack<IpAddr>,
    pub(crate) network: Network,
}

impl Peer {
    pub(crate) fn ip(&self, family: IpFamily) -> Result<IpAddr> {
        self.ips.get(family).copied().with_context(|| format!("{} has no address of {family}", self.name))
    }
}

/// Two servers on the first Node, two on the second, a client on each.
pub(crate) fn create(
    lab: &Lab,
    kubectl: &Kubectl,
    api: &Api,
    [here, there]: [NodeId; 2],
) -> Result<Vec<Peer>> {
    let wanted = [
        ("server-a", "server", here),
        ("server-b", "server", here),
        ("server-c", "server", there),
        ("server-d", "server", there),
        ("client-a", "client", here),
        ("client-b", "client", there),
    ];
    for (name, role, node) in wanted {
        api.apply(&manifest(name, role, node))?;
    }
    kubectl.wait("condition=Ready", 120, &["pod", "-l", "role"])?;
    wanted.into_iter().map(|(name, ..)| find(lab, kubectl, name)).collect()
}

/// A Pod that is ready.
pub(crate) fn find(lab: &Lab, kubectl: &Kubectl, name: &str) -> Result<Peer> {
    let Pod { name, node, ips, .. } = Pod::existing(kubectl, name)?;
    Ok(Peer { network: Network::of_pod(lab, node, &name)?, name, node, ips })
}

/// It listens on 8080, which it calls `web`, and on 8081; UDP on 8080.
///
/// Its probe asks nothing: what it has answered, a server remembers for a minute, as [`super::ask`] says, and the Node may
/// soon come from the probe's port to the same server by its Service.
pub(crate) fn manifest(name: &str, role: &str, node: NodeId) -> Value {
    let script = format!(
        "/agnhost netexec --http-port=8081 --udp-port=-1 & exec /agnhost netexec --http-port={PORT} --udp-port={PORT}"
    );
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": name, "namespace": "default", "labels": { "app": name, "role": role } },
        "spec": {
            "nodeName": node,
            "terminationGracePeriodSeconds": 1,
            "containers": [{
                "name": "agnhost",
                "image": AGNHOST_IMAGE,
                "imagePullPolicy": "IfNotPresent",
                "command": ["sh", "-c", script],
                "ports": [{ "name": "web", "containerPort": PORT, "protocol": "TCP" }],
                "readinessProbe": { "tcpSocket": { "port": PORT }, "periodSeconds": 1 },
            }],
        },
    })
}
