//! The Node that the agent runs on, as Kubernetes knows it.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use antrea_agent_routing::Eligibility;
use antrea_config::AgentConfig;
use antrea_kit::backoff::{Backoff, jitter};
use antrea_kit::health::Check;
use antrea_kit::kube_client::{self, Access, AccessError, bounded};
use antrea_shared_api::well_known::{AGENT_FIELD_MANAGER, environment, node_annotation};
use antrea_types::{DualStack, NodeName};
use anyhow::{Context, Result};
use ipnet::IpNet;
use k8s_openapi::api::core::v1::{Node, Taint};
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;
use tracing::{info, warn};

/// What the cluster autoscaler puts on a Node that it is about to remove.
const TO_BE_DELETED_TAINT: &str = "ToBeDeletedByClusterAutoscaler";

/// What the agent needs to know of its own Node before it can connect Pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnNode {
    pub(crate) name: NodeName,
    /// The networks that its Pods get their addresses from; at least one.
    pub(crate) pod_cidrs: DualStack<IpNet>,
    /// The Node's addresses (`InternalIP`, or else `ExternalIP`).
    pub(crate) addresses: DualStack<IpAddr>,
    /// What an agent last wrote to `node.antrea.io/transport-addresses`.
    pub(crate) transport_annotation: Option<String>,
}

/// The name of the Node, which the manifest gives to the agent's container.
pub(crate) fn own_name() -> Result<NodeName> {
    let variable = environment::NODE_NAME;
    let name = std::env::var(variable).with_context(|| {
        format!("the environment variable {variable} is not set; the manifest sets it to spec.nodeName")
    })?;
    name.parse().with_context(|| format!("the environment variable {variable} cannot be used"))
}

/// Waits until the API server answers and the Node has a Pod CIDR, however long that takes. `ready` says what for.
pub(crate) async fn wait(client: &Client, name: &NodeName, ready: &Check) -> OwnNode {
    let api: Api<Node> = Api::all(client.clone());
    let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(5));
    let mut told = None;
    loop {
        let obstacle = match bounded(api.get(name.as_str())).await {
            Ok(node) => match own_node(name, &node) {
                Ok(own) => return own,
                Err(obstacle) => obstacle,
            },
            Err(error) => format!("the Node cannot be read: {error:#}"),
        };
        if told.as_ref() != Some(&obstacle) {
            warn!(node = %name, obstacle, "Waiting for the Node");
            ready.fail(format!("waiting for Node {name}: {obstacle}"));
            told = Some(obstacle);
        }
        tokio::time::sleep(backoff.wait(jitter())).await;
    }
}

fn own_node(name: &NodeName, node: &Node) -> Result<OwnNode, String> {
    let pod_cidrs: DualStack<IpNet> = pod_cidrs(node)
        .iter()
        .map(|text| text.parse().map_err(|_| format!("its Pod CIDR {text:?} is not a network")))
        .collect::<Result<Vec<IpNet>, _>>()?
        .into_iter()
        .collect();
    if pod_cidrs.is_empty() {
        return Err("it has no Pod CIDR (spec.podCIDRs): does kube-controller-manager run with --allocate-node-cidrs?".to_owned());
    }
    let annotations = node.metadata.annotations.as_ref();
    Ok(OwnNode {
        name: name.clone(),
        pod_cidrs,
        addresses: addresses(node),
        transport_annotation: annotations
            .and_then(|all| all.get(node_annotation::TRANSPORT_ADDRESSES))
            .cloned(),
    })
}

/// `spec.podCIDRs`, or what older API servers have in its place.
pub(crate) fn pod_cidrs(node: &Node) -> Vec<String> {
    let Some(spec) = &node.spec else { return Vec::new() };
    match &spec.pod_cidrs {
        Some(cidrs) if !cidrs.is_empty() => cidrs.clone(),
        _ => spec.pod_cidr.iter().cloned().collect(),
    }
}

/// All of the Node's addresses that are IP addresses, whatever their type.
pub(crate) fn all_addresses(node: &Node) -> BTreeSet<IpAddr> {
    let all = node.status.as_ref().and_then(|status| status.addresses.as_deref()).unwrap_or_default();
    all.iter().filter_map(|address| address.address.parse().ok()).collect()
}

/// The first InternalIP of each family, and the first ExternalIP of a family that has none.
pub(crate) fn addresses(node: &Node) -> DualStack<IpAddr> {
    let all = node.status.as_ref().and_then(|status| status.addresses.as_deref()).unwrap_or_default();
    let of_type = |wanted: &'static str| {
        all.iter()
            .filter(move |address| address.type_ == wanted)
            .filter_map(|address| address.address.parse::<IpAddr>().ok())
    };
    of_type("InternalIP").chain(of_type("ExternalIP")).collect()
}

/// Whether load balancers may send it new connections: not where it is being deleted, and not where the cluster autoscaler
/// is about to (KEP-3836).
pub(crate) fn eligibility(node: &Node) -> Eligibility {
    let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    let leaves = |taint: &Taint| taint.key == TO_BE_DELETED_TAINT;
    if node.metadata.deletion_timestamp.is_some() || taints.into_iter().any(leaves) {
        Eligibility::Leaving
    } else {
        Eligibility::Eligible
    }
}

/// The client of the API server, as the configuration says.
pub(crate) async fn client(config: &AgentConfig) -> Result<Client, AccessError> {
    kube_client::client(access(config)).await
}

fn access(config: &AgentConfig) -> Access<'_> {
    Access {
        kubeconfig: config.kubeconfig.as_deref(),
        server: config.kube_api_server_override.as_ref().map(|address| address.as_str()),
        user_agent: concat!("antrea-agent/", env!("CARGO_PKG_VERSION")),
    }
}

/// Where that client reaches the API server (`kubeAPIServerOverride`, the kubeconfig or `KUBERNETES_SERVICE_HOST`), where
/// it is an address and no name.
pub(crate) async fn api_server(config: &AgentConfig) -> Option<IpAddr> {
    let config = kube_client::config(access(config)).await.ok()?;
    address_of(config.cluster_url.host()?)
}

/// The address that the host part of a URL is; an IPv6 one stands in brackets.
fn address_of(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Tells peers where the tunnels of a Node end when that is not where its Node IP is; `None` takes it back.
pub(crate) async fn annotate_transport_addresses(
    client: &Client,
    node: &NodeName,
    wanted: Option<&str>,
) -> Result<()> {
    annotate(client, node, node_annotation::TRANSPORT_ADDRESSES, wanted).await
}

/// Tells peers where else tunnels of a Node come from; `None` takes it back.
pub(crate) async fn annotate_tunnel_sources(
    client: &Client,
    node: &NodeName,
    wanted: Option<&str>,
) -> Result<()> {
    annotate(client, node, node_annotation::TUNNEL_SOURCES, wanted).await
}

/// Takes back all that agents write about a Node.
pub(crate) async fn remove_annotations(client: &Client, node: &NodeName) -> Result<()> {
    annotate_transport_addresses(client, node, None).await?;
    annotate_tunnel_sources(client, node, None).await
}

async fn annotate(client: &Client, node: &NodeName, key: &str, value: Option<&str>) -> Result<()> {
    let api: Api<Node> = Api::all(client.clone());
    let patch = Patch::Merge(json!({"metadata": {"annotations": {key: value}}}));
    let parameters =
        PatchParams { field_manager: Some(AGENT_FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    // A patch of the status may change annotations and, unlike one of the Node, no taints. Labels and the status itself are
    // kept from agents by an admission policy of the chart.
    bounded(api.patch_status(node.as_str(), &parameters, &patch))
        .await
        .with_context(|| format!("cannot annotate Node {node} with {key}"))?;
    info!(%node, key, value, "Annotated the Node");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(node: serde_json::Value) -> Result<OwnNode, String> {
        own_node(&"node-1".parse().unwrap(), &serde_json::from_value(node).unwrap())
    }

    #[tokio::test]
    async fn nothing_that_agents_write_about_a_node_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let annotations =
            "{node.antrea.io/transport-addresses: 192.0.2.1, node.antrea.io/tunnel-sources: 192.0.2.2, a: b}";
        let node =
            format!("{{apiVersion: v1, kind: Node, metadata: {{name: n1, annotations: {annotations}}}}}");
        std::fs::write(folder.path().join("node.yaml"), node).unwrap();
        let client = antrea_kit::object_files::client(folder.path()).unwrap();
        remove_annotations(&client, &"n1".parse().unwrap()).await.unwrap();
        let node = Api::<Node>::all(client).get("n1").await.unwrap();
        let left: Vec<String> = node.metadata.annotations.unwrap_or_default().into_keys().collect();
        assert_eq!(left, ["a"]);
    }

    #[test]
    fn a_dual_stack_node_has_two_pod_cidrs() {
        let node = check(json!({"metadata": {}, "spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24", "fd00::/80"]}})).unwrap();
        assert_eq!(
            node.pod_cidrs.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["10.0.0.0/24", "fd00::/80"]
        );
    }

    #[test]
    fn a_node_without_pod_cidr_is_waited_for() {
        let obstacle = check(json!({"metadata": {}, "spec": {}})).unwrap_err();
        assert!(obstacle.starts_with("it has no Pod CIDR"), "{obstacle}");
    }

    #[test]
    fn a_pod_cidr_that_is_none_is_named() {
        let obstacle = check(json!({"metadata": {}, "spec": {"podCIDRs": ["10.0.0.0/33"]}})).unwrap_err();
        assert_eq!(obstacle, "its Pod CIDR \"10.0.0.0/33\" is not a network");
    }

    #[track_caller]
    fn check_eligibility(metadata: &serde_json::Value, taint: &str, expect: Eligibility) {
        let taints = json!([{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}, {"key": taint, "effect": "NoSchedule"}]);
        let node = json!({"metadata": metadata, "spec": {"unschedulable": true, "taints": taints}});
        assert_eq!(eligibility(&serde_json::from_value(node).unwrap()), expect);
    }

    #[test]
    fn a_node_that_is_about_to_go_gets_no_new_connections_from_load_balancers() {
        check_eligibility(&json!({}), "example.com/other", Eligibility::Eligible);
        check_eligibility(&json!({}), "ToBeDeletedByClusterAutoscaler", Eligibility::Leaving);
        let deleted = json!({"deletionTimestamp": "2026-01-01T00:00:00Z"});
        check_eligibility(&deleted, "example.com/other", Eligibility::Leaving);
    }

    #[test]
    fn internal_addresses_go_before_external_ones() {
        let node = check(json!({
            "metadata": {},
            "spec": {"podCIDR": "10.0.0.0/24"},
            "status": {"addresses": [
                {"type": "ExternalIP", "address": "192.0.2.1"},
                {"type": "InternalIP", "address": "172.18.0.1"},
                {"type": "ExternalIP", "address": "2001:db8::1"},
                {"type": "Hostname", "address": "node-1"},
            ]},
        }))
        .unwrap();
        assert_eq!(
            node.addresses.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["172.18.0.1", "2001:db8::1"]
        );
    }

    #[test]
    fn every_address_of_a_node_is_known_whatever_its_type() {
        let node = json!({"metadata": {}, "status": {"addresses": [
            {"type": "InternalIP", "address": "172.18.0.1"},
            {"type": "InternalIP", "address": "10.1.0.1"},
            {"type": "InternalIP", "address": "fd00:18::1"},
            {"type": "ExternalIP", "address": "192.0.2.1"},
            {"type": "Hostname", "address": "198.51.100.1"},
            {"type": "InternalDNS", "address": "node-1.internal"},
        ]}});
        let all = all_addresses(&serde_json::from_value(node).unwrap());
        let all: Vec<String> = all.iter().map(ToString::to_string).collect();
        assert_eq!(all, ["10.1.0.1", "172.18.0.1", "192.0.2.1", "198.51.100.1", "fd00:18::1"]);
    }

    #[test]
    fn the_host_of_a_url_may_be_an_address() {
        for (host, address) in
            [("172.18.0.2", "172.18.0.2"), ("[fd00:18::2]", "fd00:18::2"), ("kubernetes.default.svc", "")]
        {
            assert_eq!(address_of(host), address.parse().ok(), "{host}");
        }
    }
}
