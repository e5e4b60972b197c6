//! Beside kube-proxy, which gives clients of NodePorts the gateway's address: they are not taken for the Node.

use std::net::{IpAddr, SocketAddr};

use antrea_e2e::command::Run as _;
use anyhow::{Result, ensure};

use crate::cluster::{Cluster, Tunnel, with_cluster};
use crate::listeners::Listeners;
use crate::namespace::program_in;
use crate::node::{Node, ServiceProxy};
use crate::outside::{Outside, node_addresses};
use crate::pod::Pod;
use crate::policies::SILENCE;
use crate::policy_files::{Policy, open};
use crate::services::PORT;

/// NodePorts that lead to the Pod that is isolated, and to its neighbour.
const ISOLATED: u16 = 30081;
const OPEN: u16 = 30082;

#[test]
fn beside_kube_proxy_a_node_reaches_its_own_isolated_pod_and_clients_of_its_node_ports_do_not() {
    let name = "beside_kube_proxy_a_node_reaches_its_own_isolated_pod_and_clients_of_its_node_ports_do_not";
    with_cluster(name, |cluster| {
        cluster.a.configure(Tunnel::Geneve, ServiceProxy::Kube)?;
        Policy::isolation().enforce(&mut cluster.a, &cluster.client)?;
        let ports = [(ISOLATED, &cluster.client), (OPEN, &cluster.neighbour)];
        cluster.nodes().into_iter().try_for_each(|node| serve(node, &ports))?;
        ensure_only_the_node_reaches_the_isolated_pod(cluster)?;
        cluster.nodes().into_iter().try_for_each(stop)?;
        cluster.a.configure(Tunnel::Geneve, ServiceProxy::Antrea)?;
        open(&mut cluster.a)
    });
}

fn ensure_only_the_node_reaches_the_isolated_pod(cluster: &Cluster) -> Result<()> {
    let (client, neighbour) = (&cluster.client.name, &cluster.neighbour.name);
    let outside = Outside::connect(cluster)?;
    let listeners = Listeners::open(&[client, neighbour], PORT)?;
    for index in [0, 1] {
        for (address, gateway) in node_addresses(index)?.into_iter().zip(gateways(index)) {
            let reached = listeners.connect_until_answered(outside.name, SocketAddr::new(address, OPEN))?;
            ensure!(reached.name == *neighbour, "{address} leads to {}", reached.name);
            ensure!(reached.client == gateway.parse::<IpAddr>()?, "the client is seen as {}", reached.client);
            let target = SocketAddr::new(address, ISOLATED);
            let reached = listeners.try_to_connect(outside.name, target, SILENCE);
            ensure!(reached.is_err(), "{target} leads to an isolated Pod: {reached:?}");
        }
    }
    let by_service = node_addresses(0)?.map(|address| SocketAddr::new(address, ISOLATED));
    let direct = cluster.client.addresses.iter().map(|address| SocketAddr::new(*address, PORT));
    for target in by_service.into_iter().chain(direct) {
        let reached = listeners.connect(cluster.a.name, target)?;
        ensure!(reached.name == *client, "{target} leads to {}", reached.name);
    }
    Ok(())
}

/// The addresses of a Node's gateway.
fn gateways(index: usize) -> [String; 2] {
    [format!("10.30.{index}.1"), format!("fd00:10:30:{index}::1")]
}

/// The rules of kube-proxy's mode `nftables` for NodePorts with one endpoint each, in one table for both families.
fn serve(node: &Node, ports: &[(u16, &Pod)]) -> Result<()> {
    let mut services = String::new();
    for (port, pod) in ports {
        services += &format!("    tcp dport {port} jump mark-for-masquerade\n");
        for address in &pod.addresses {
            let family = if address.is_ipv4() { "ip" } else { "ip6" };
            let endpoint = SocketAddr::new(*address, PORT);
            services += &format!("    meta l4proto tcp tcp dport {port} dnat {family} to {endpoint}\n");
        }
    }
    let table = format!(
        "table inet kube-proxy {{
  chain nat-prerouting {{
    type nat hook prerouting priority dstnat;
    fib daddr type local jump nodeports
  }}
  chain nat-output {{
    type nat hook output priority -100;
    fib daddr type local jump nodeports
  }}
  chain nat-postrouting {{
    type nat hook postrouting priority srcnat;
    jump masquerading
  }}
  chain nodeports {{
{services}  }}
  chain mark-for-masquerade {{
    meta mark set meta mark or 0x4000
  }}
  chain masquerading {{
    meta mark & 0x4000 == 0 return
    meta mark set meta mark xor 0x4000
    masquerade fully-random
  }}
}}
"
    );
    nft(node, &table)
}

fn stop(node: &Node) -> Result<()> {
    nft(node, "delete table inet kube-proxy\n")
}

fn nft(node: &Node, rules: &str) -> Result<()> {
    program_in(node.name, "nft").args(["-f", "-"]).feed(rules).map(drop)
}
