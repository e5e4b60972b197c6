//! The CNI plugin called by hand, as a container runtime that forgets what it has done would.

use antrea_e2e::command::Run as _;
use antrea_e2e::names::NodeId;
use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::cluster::{Cluster, on_the_cluster};
use crate::traces::Traces;

const CONFIGURATION: &str =
    r#"{"cniVersion":"1.0.0","name":"antrea","type":"antrea","ipam":{"type":"host-local"}}"#;
const NETWORK_NAMESPACE: &str = "by-hand";

#[test]
fn cni_add_and_del_can_be_repeated() {
    on_the_cluster("cni_add_and_del_can_be_repeated", |cluster| {
        let (node, _) = cluster.two_nodes()?;
        cluster.on_node(node, &["ip", "netns", "add", NETWORK_NAMESPACE])?;
        let result = add_and_delete_twice(cluster, node);
        cluster.on_node(node, &["ip", "netns", "delete", NETWORK_NAMESPACE])?;
        result
    });
}

fn add_and_delete_twice(cluster: &Cluster<'_>, node: NodeId) -> Result<()> {
    let first = call(cluster, node, "ADD")?;
    let second = call(cluster, node, "ADD")?;
    ensure!(first == second, "the second ADD says something else:\n{first}\n{second}");
    let traces = traces(node, &first)?;
    traces.ensure_there(cluster)?;
    call(cluster, node, "DEL")?;
    call(cluster, node, "DEL")?;
    traces.ensure_gone(cluster)
}

fn call(cluster: &Cluster<'_>, node: NodeId, command: &str) -> Result<String> {
    let namespace = format!("CNI_NETNS=/var/run/netns/{NETWORK_NAMESPACE}");
    let command = format!("CNI_COMMAND={command}");
    let words = [
        "env",
        &command,
        &namespace,
        "CNI_CONTAINERID=0123456789abcdef",
        "CNI_IFNAME=eth0",
        "CNI_PATH=/opt/cni/bin",
        "CNI_ARGS=IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=by-hand",
        "/opt/cni/bin/antrea",
    ];
    cluster.command(node, &words)?.feed(CONFIGURATION)
}

/// What the result of ADD names: the interface outside of the sandbox, and the addresses.
fn traces(node: NodeId, result: &str) -> Result<Traces> {
    let result: Value =
        serde_json::from_str(result).with_context(|| format!("ADD printed no JSON: {result}"))?;
    let interfaces = result["interfaces"].as_array().into_iter().flatten();
    let outside =
        interfaces.into_iter().find(|interface| interface["sandbox"].as_str().is_none_or(str::is_empty));
    let interface = outside.and_then(|interface| interface["name"].as_str());
    let ips = result["ips"].as_array().into_iter().flatten();
    let addresses: Vec<String> =
        ips.filter_map(|ip| Some(ip["address"].as_str()?.split('/').next()?.to_owned())).collect();
    ensure!(addresses.len() == 2, "ADD gave other than one address of each family: {result}");
    let interface = interface.with_context(|| format!("ADD names no interface of the Node: {result}"))?;
    Ok(Traces { node, interface: interface.to_owned(), addresses })
}
