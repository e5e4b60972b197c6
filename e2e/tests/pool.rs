//! A Node runs out of addresses: Pods wait and say why, and run once there is one again.

use std::time::Duration;

use antrea_e2e::names::NodeId;
use antrea_e2e::pod_cidrs::PodCidrs;
use antrea_e2e::pods::Pod;
use antrea_e2e::wait;
use anyhow::{Context, Result, bail, ensure};
use ipnet::{IpNet, Ipv4Net};

use crate::cluster::{Cluster, on_the_cluster};

/// A container that there is not.
const HOLDER: &str = "reserved-by-a-test";
/// Where host-local keeps who has which address: a file each.
const FILES: &str = "/run/antrea/cni/networks/antrea";

#[test]
fn a_pod_waits_for_an_address_says_so_and_runs_once_there_is_one() {
    on_the_cluster("a_pod_waits_for_an_address_says_so_and_runs_once_there_is_one", |cluster| {
        let (node, _) = cluster.two_nodes()?;
        reserve_all_but_one(cluster, node)?;
        let result = two_pods_and_one_address(cluster, node);
        give_back(cluster, node)?;
        result
    });
}

fn two_pods_and_one_address(cluster: &Cluster<'_>, node: NodeId) -> Result<()> {
    let first = Pod::create(&cluster.kubectl, &[("first", node)])?.pop().context("no Pod was made")?;
    let address = first.ips.v4.context("the Pod has no IPv4 address")?;
    Pod::apply(&cluster.kubectl, &[("second", node)])?;
    let network = network_of(cluster, node)?;
    wait_for_event(cluster, "second", &format!("no address is left in {network}: delete Pods of this Node"))?;
    cluster.kubectl.text(&["delete", "pod", "first", "--timeout=90s"])?;
    cluster.kubectl.wait("condition=Ready", 120, &["pod/second"])?;
    let second = Pod::existing(&cluster.kubectl, "second")?;
    ensure!(
        second.ips.v4 == Some(address),
        "the address that became free is {address}, the Pod has {:?}",
        second.ips
    );
    cluster.kubectl.text(&["delete", "pod", "second", "--timeout=90s"]).map(drop)
}

/// What the kubelet says of a Pod that it cannot start.
fn wait_for_event(cluster: &Cluster<'_>, pod: &str, expected: &str) -> Result<()> {
    let selector = format!("--field-selector=involvedObject.name={pod},reason=FailedCreatePodSandBox");
    let get = ["get", "events", &selector, "-o", "jsonpath={.items[*].message}"];
    wait::until(Duration::from_secs(60), &format!("an event of Pod {pod} that says {expected:?}"), || {
        Ok(cluster.kubectl.text(&get)?.contains(expected))
    })
}

fn network_of(cluster: &Cluster<'_>, node: NodeId) -> Result<Ipv4Net> {
    let cidrs = PodCidrs::parse(&cluster.kubectl.json(&["get", "nodes"])?);
    match cidrs.of(node)?.v4 {
        Some(IpNet::V4(network)) => Ok(network),
        _ => bail!("{node} has no IPv4 Pod CIDR"),
    }
}

/// Reserves the IPv4 addresses of a Node that no Pod has, but for one of them, as host-local would for other Pods.
fn reserve_all_but_one(cluster: &Cluster<'_>, node: NodeId) -> Result<()> {
    let hosts = network_of(cluster, node)?.hosts().skip(1).map(|address| address.to_string());
    let script = format!(
        "set -C; cd {FILES}; for a in {}; do printf '{HOLDER}\\r\\neth0' > $a && last=$a; done 2>/dev/null; rm $last",
        hosts.collect::<Vec<_>>().join(" ")
    );
    cluster.on_node(node, &["bash", "-c", &script]).map(drop)
}

fn give_back(cluster: &Cluster<'_>, node: NodeId) -> Result<()> {
    let script = format!("cd {FILES} && grep -lx '{HOLDER}.' -- *.* | xargs -r rm");
    cluster.on_node(node, &["bash", "-c", &script]).map(drop)
}
