//! One Pod's connections take no server away from anybody.

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use antrea_e2e::names::NodeId;
use anyhow::{Context, Result};

use crate::agent_access::token;
use crate::cluster::{Cluster, NAMESPACE, on_the_cluster};
use crate::http_codes;
use crate::services::network::Network;

/// More than an agent keeps of clients that it does not know.
const CONNECTIONS: usize = 1500;

/// What antctl may ask the controller.
const POLICIES: &str = "/apis/controlplane.antrea.io/v1beta2/networkpolicies";

/// What a connection may take; a server that takes none lets it wait for longer.
const SOON: Duration = Duration::from_secs(2);

#[test]
fn connections_of_a_pod_keep_no_probe_and_nobody_with_a_token_from_an_answer() {
    let name = "connections_of_a_pod_keep_no_probe_and_nobody_with_a_token_from_an_answer";
    on_the_cluster(name, |cluster| {
        let workload = cluster.workload(1)?;
        let (here, there) = cluster.two_nodes()?;
        let pod = Network::of_pod(cluster.lab, there, &workload.pod_on(there)?.name)?;
        let antctl = token(cluster, &["antctl", "-n", NAMESPACE])?;
        for (node, port, path) in [(here, 10350, "/agentinfo"), (controller_node(cluster)?, 10349, POLICIES)]
        {
            let address = SocketAddr::new(node_ip(cluster, node)?, port);
            let _crowd =
                pod.within(|| (0..CONNECTIONS).map(|_| connect(address)).collect::<Result<Vec<_>>>())?;
            let probe = format!("https://127.0.0.1:{port}/livez");
            ensure_answered(cluster, node, None, &probe)?;
            // From the Node of the Pod, behind whose address some of the Pod's traffic comes.
            ensure_answered(cluster, there, Some(&antctl), &format!("https://{address}{path}"))?;
        }
        workload.delete()
    });
}

fn connect(address: SocketAddr) -> Result<TcpStream> {
    TcpStream::connect_timeout(&address, SOON).with_context(|| format!("{address} takes no connection"))
}

fn ensure_answered(cluster: &Cluster<'_>, from: NodeId, token: Option<&str>, url: &str) -> Result<()> {
    let urls = [url.to_owned()];
    let seconds = SOON.as_secs().to_string();
    let curl = http_codes::curl(&["--max-time", &seconds], token, &urls);
    let curl: Vec<&str> = curl.iter().map(String::as_str).collect();
    http_codes::ensure_each_is("200", &cluster.on_node(from, &curl)?, &urls)
}

fn controller_node(cluster: &Cluster<'_>) -> Result<NodeId> {
    let words = ["get", "pods", "-n", NAMESPACE, "-l", "component=antrea-controller"];
    let pods = cluster.kubectl.json(&words)?;
    let node = pods["items"][0]["spec"]["nodeName"].as_str().context("no antrea-controller runs")?;
    node.parse().with_context(|| format!("{node} is no Node of the lab"))
}

fn node_ip(cluster: &Cluster<'_>, node: NodeId) -> Result<IpAddr> {
    let object = cluster.kubectl.json(&["get", "node", &node.to_string()])?;
    let addresses = object["status"]["addresses"].as_array().into_iter().flatten();
    let ip = addresses.into_iter().find(|address| address["type"] == "InternalIP");
    let ip = ip.and_then(|address| address["address"].as_str()).context("the Node has no address")?;
    ip.parse().with_context(|| format!("{ip} is no address"))
}
