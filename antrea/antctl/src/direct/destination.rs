//! Where the API of an agent or of the controller is, and what vouches for it.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use antrea_kit::kube_client::{bounded, status_code};
use antrea_shared_api::crd::v1beta1::{AntreaAgentInfo, AntreaControllerInfo};
use antrea_shared_api::well_known::{CONTROLLER_INFO, CONTROLLER_SERVICE, NAMESPACE, config_map};
use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::{Api, Client};

/// The key of the ConfigMap with what vouches for the controller.
const CA_KEY: &str = "ca.crt";

/// The API of an agent, or of the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Destination {
    pub(super) name: String,
    pub(super) address: SocketAddr,
    /// The name that its certificate has to be for.
    pub(super) server_name: String,
    /// PEM.
    pub(super) ca: Vec<u8>,
    /// Where it and the ServiceAccount of antctl are.
    pub(super) namespace: String,
}

impl Destination {
    /// As the Node and its AntreaAgentInfo say.
    pub(crate) async fn of_agent(client: &Client, node: &str) -> Result<Self> {
        let found = find_node(client, node).await?;
        let infos: Api<AntreaAgentInfo> = Api::all(client.clone());
        let info = match bounded(infos.get(node)).await {
            Err(error) if status_code(&error) == Some(404) => {
                return Err(error.context(format!("Node {node} has no agent of Antrea")));
            }
            info => info.with_context(|| format!("cannot read AntreaAgentInfo {node}"))?,
        };
        let ca = info.api_ca_bundle.map(|ca| ca.0).unwrap_or_default();
        Self::new(Component::Agent(node), &found, info.api_port, ca, info.pod_ref.namespace)
    }

    /// As AntreaControllerInfo, its Node and the ConfigMap with its CA say.
    pub(crate) async fn of_controller(client: &Client) -> Result<Self> {
        let infos: Api<AntreaControllerInfo> = Api::all(client.clone());
        let info = bounded(infos.get(CONTROLLER_INFO)).await.with_context(|| {
            format!("cannot read AntreaControllerInfo {CONTROLLER_INFO}, which says where the controller is")
        })?;
        let node = info.node_ref.name.filter(|name| !name.is_empty());
        let node =
            find_node(client, &node.context("the controller has not said on which Node it runs")?).await?;
        let namespace = info.pod_ref.namespace.unwrap_or_else(|| NAMESPACE.to_owned());
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &namespace);
        let map = bounded(maps.get(config_map::CA)).await.with_context(|| {
            format!("cannot read ConfigMap {namespace}/{}, which vouches for the controller", config_map::CA)
        })?;
        let ca = map.data.unwrap_or_default().remove(CA_KEY).unwrap_or_default();
        Self::new(Component::Controller, &node, info.api_port, ca.into_bytes(), Some(namespace))
    }

    fn new(
        component: Component<'_>,
        node: &Node,
        port: i32,
        ca: Vec<u8>,
        namespace: Option<String>,
    ) -> Result<Self> {
        let name = component.to_string();
        let ip = node_ip(node).with_context(|| format!("the Node of {name} has no address"))?;
        let port = u16::try_from(port).ok().filter(|port| *port > 0);
        let port = port
            .with_context(|| format!("{name} has not said yet where its API is: wait until it is ready"))?;
        anyhow::ensure!(
            !ca.is_empty(),
            "{name} has not said yet what vouches for its API: wait until it is ready"
        );
        let namespace = namespace.unwrap_or_else(|| NAMESPACE.to_owned());
        let server_name = component.server_name(&namespace);
        Ok(Self { name, address: SocketAddr::new(ip, port), server_name, ca, namespace })
    }
}

/// Whose API it is.
#[derive(Clone, Copy)]
enum Component<'a> {
    /// That of the agent of this Node.
    Agent(&'a str),
    /// That of the controller.
    Controller,
}

impl Component<'_> {
    /// A name that its certificate is for, also that of upstream's: agents have theirs for their own Nodes, the controller
    /// for its Service.
    fn server_name(self, namespace: &str) -> String {
        match self {
            Self::Agent(_) => "localhost".to_owned(),
            Self::Controller => format!("{CONTROLLER_SERVICE}.{namespace}.svc"),
        }
    }
}

impl fmt::Display for Component<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(node) => write!(f, "the agent of Node {node}"),
            Self::Controller => f.write_str("antrea-controller"),
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.address)
    }
}

async fn find_node(client: &Client, name: &str) -> Result<Node> {
    let nodes: Api<Node> = Api::all(client.clone());
    bounded(nodes.get(name)).await.with_context(|| format!("cannot read Node {name}"))
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

    fn check(port: i32, ca: &str, namespace: Option<&str>) -> Result<Destination, String> {
        let node = json!({"metadata": {}, "status": {"addresses": [
            {"type": "Hostname", "address": "n"}, {"type": "ExternalIP", "address": "192.0.2.1"},
            {"type": "InternalIP", "address": "172.18.0.1"},
        ]}});
        let node = serde_json::from_value(node).unwrap();
        let namespace = namespace.map(str::to_owned);
        Destination::new(Component::Agent("n"), &node, port, ca.into(), namespace)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn it_is_at_its_node_and_port() {
        let found = check(10350, "CA", Some("antrea")).unwrap();
        assert_eq!(found.to_string(), "the agent of Node n (172.18.0.1:10350)");
        assert_eq!((found.ca.as_slice(), found.namespace.as_str()), (b"CA".as_slice(), "antrea"));
        assert_eq!(check(10350, "CA", None).unwrap().namespace, "kube-system");
    }

    #[test]
    fn what_has_said_nothing_yet_is_waited_for() {
        let error = check(0, "CA", None).unwrap_err();
        assert_eq!(error, "the agent of Node n has not said yet where its API is: wait until it is ready");
        let error = check(10350, "", None).unwrap_err();
        assert_eq!(
            error,
            "the agent of Node n has not said yet what vouches for its API: wait until it is ready"
        );
    }
}
