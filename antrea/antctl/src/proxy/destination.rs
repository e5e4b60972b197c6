//! Where the API of an agent is, and what vouches for it.

use std::net::{IpAddr, SocketAddr};

use antrea_kit::kube_client::{bounded, status_code};
use antrea_shared_api::crd::v1beta1::AntreaAgentInfo;
use antrea_shared_api::well_known::NAMESPACE;
use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Node;
use kube::{Api, Client};

/// The API of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Destination {
    pub(super) address: SocketAddr,
    /// PEM.
    pub(super) ca: Vec<u8>,
    /// Where the agent and the ServiceAccount of antctl are.
    pub(super) namespace: String,
}

impl Destination {
    /// As the Node and its AntreaAgentInfo say.
    pub(super) async fn of_agent(client: &Client, name: &str) -> Result<Self> {
        let nodes: Api<Node> = Api::all(client.clone());
        let node = bounded(nodes.get(name)).await.with_context(|| format!("cannot read Node {name}"))?;
        let infos: Api<AntreaAgentInfo> = Api::all(client.clone());
        let info = match bounded(infos.get(name)).await {
            Err(error) if status_code(&error) == Some(404) => {
                return Err(error.context(format!("Node {name} has no agent of Antrea")));
            }
            info => info.with_context(|| format!("cannot read AntreaAgentInfo {name}"))?,
        };
        Self::new(&node, info)
    }

    fn new(node: &Node, info: AntreaAgentInfo) -> Result<Self> {
        let ip = node_ip(node).context("the Node has no address")?;
        let port = u16::try_from(info.api_port).ok().filter(|port| *port > 0);
        let port = port.context("the agent has not said yet where its API is: wait until it is ready")?;
        let ca = info.api_ca_bundle.filter(|ca| !ca.0.is_empty());
        let ca = ca.context("the agent has not said yet what vouches for its API: wait until it is ready")?;
        let namespace = info.pod_ref.namespace.unwrap_or_else(|| NAMESPACE.to_owned());
        Ok(Self { address: SocketAddr::new(ip, port), ca: ca.0, namespace })
    }
}

/// The first InternalIP, or else the first ExternalIP.
fn node_ip(node: &Node) -> Option<IpAddr> {
    let all = node.status.as_ref().and_then(|status| status.addresses.as_deref()).unwrap_or_default();
    let of_type = |wanted: &str| all.iter().find(|address| address.type_ == wanted);
    of_type("InternalIP").or_else(|| of_type("ExternalIP"))?.address.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(info: serde_json::Value) -> Result<Destination, String> {
        let node = json!({"metadata": {}, "status": {"addresses": [
            {"type": "Hostname", "address": "n"}, {"type": "ExternalIP", "address": "192.0.2.1"},
            {"type": "InternalIP", "address": "172.18.0.1"},
        ]}});
        let node = serde_json::from_value(node).unwrap();
        Destination::new(&node, serde_json::from_value(info).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn an_agent_is_at_its_node_and_port() {
        let found =
            check(json!({"apiPort": 10350, "apiCABundle": "Q0E=", "podRef": {"namespace": "antrea"}}))
                .unwrap();
        assert_eq!(found.address.to_string(), "172.18.0.1:10350");
        assert_eq!((found.ca.as_slice(), found.namespace.as_str()), (b"CA".as_slice(), "antrea"));
    }

    #[test]
    fn an_agent_that_has_said_nothing_yet_is_waited_for() {
        assert!(check(json!({})).unwrap_err().starts_with("the agent has not said yet where its API is"));
        let error = check(json!({"apiPort": 10350})).unwrap_err();
        assert!(error.starts_with("the agent has not said yet what vouches for its API"), "{error}");
    }
}
