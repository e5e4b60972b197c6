//! Whether a Node has exactly what its Pods need: ports, links, flows and addresses, each compared as a whole.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use antrea_e2e::names::NodeId;
use antrea_e2e::wait;
use anyhow::{Result, ensure};
use serde_json::Value;

use crate::cluster::Cluster;
use crate::traces::{BRIDGE, DATABASE};

/// Links and ports of a Node that are no Pod's.
const OWN: [&str; 5] = ["antrea-gw0", "antrea-tun0", "eth0", "eth1", "br-int"];

type Names = BTreeSet<String>;

/// What is found on a Node.
#[derive(Debug)]
struct Found {
    ports: Names,
    links: Names,
    /// The ports that flows are for. A flow of a port that is gone has a number here.
    ports_of_flows: Names,
    addresses: BTreeSet<IpAddr>,
}

/// Waits until no Node has more or less than its Pods need.
pub(crate) fn ensure_none(cluster: &Cluster<'_>) -> Result<()> {
    for node in &cluster.plan()?.nodes {
        let what = format!("{} to have what its Pods need and nothing else", node.id);
        wait::until(Duration::from_secs(60), &what, || check(cluster, node.id).map(|()| true))?;
    }
    Ok(())
}

fn check(cluster: &Cluster<'_>, node: NodeId) -> Result<()> {
    let pods = addresses_of_pods(cluster, node)?;
    let found = Found::on(cluster, node)?;
    let wanted: BTreeSet<IpAddr> = pods.iter().flatten().copied().collect();
    ensure!(found.ports.len() == pods.len(), "{} Pods and {found:?}", pods.len());
    ensure!(found.links == found.ports, "links are not those of ports: {found:?}");
    ensure!(found.ports_of_flows == found.ports, "flows are not those of ports: {found:?}");
    // Those of IPv6 that are left come back later: the traces of a Pod are waited for elsewhere.
    let excess = found.addresses.difference(&wanted).any(IpAddr::is_ipv4);
    let complete = found.addresses.is_superset(&wanted) && !excess;
    ensure!(complete, "Pods have {wanted:?}, and reserved are {:?}", found.addresses);
    Ok(())
}

/// The addresses of each Pod with a network of its own; those that are being deleted count.
fn addresses_of_pods(cluster: &Cluster<'_>, node: NodeId) -> Result<Vec<Vec<IpAddr>>> {
    let field = format!("--field-selector=spec.nodeName={node}");
    let list = cluster.kubectl.json(&["get", "pods", "--all-namespaces", &field])?;
    let pods = list["items"].as_array().into_iter().flatten();
    let addresses = |pod: &Value| {
        let ips = pod["status"]["podIPs"].as_array().into_iter().flatten();
        ips.filter_map(|entry| entry["ip"].as_str()?.parse().ok()).collect()
    };
    Ok(pods.filter(|pod| pod["spec"]["hostNetwork"] != Value::Bool(true)).map(addresses).collect())
}

impl Found {
    fn on(cluster: &Cluster<'_>, node: NodeId) -> Result<Self> {
        let run = |words: &[&str]| cluster.on_node(node, words);
        let flows = run(&["ovs-ofctl", "-O", "OpenFlow15", "--names", "dump-flows", BRIDGE])?;
        let links = run(&["ip", "-o", "link", "show", "type", "veth"])?;
        Ok(Self {
            ports: of_pods(run(&["ovs-vsctl", DATABASE, "list-ports", "br-int"])?.lines()),
            links: of_pods(links.lines().filter_map(link_name)),
            ports_of_flows: of_pods(flows.split([',', ' ']).filter_map(flow_port)),
            addresses: reserved(&run(&["ls", "/run/antrea/cni/networks/antrea"])?),
        })
    }
}

fn of_pods<'a>(names: impl Iterator<Item = &'a str>) -> Names {
    names.filter(|name| !OWN.contains(name)).map(str::to_owned).collect()
}

/// `7: NAME@if2: <…`
fn link_name(line: &str) -> Option<&str> {
    line.split_whitespace().nth(1)?.split(['@', ':']).next()
}

/// `in_port="NAME"`
fn flow_port(word: &str) -> Option<&str> {
    Some(word.strip_prefix("in_port=")?.trim_matches('"'))
}

/// Files of host-local that are named by an address, beside its lock and what it gave out last.
fn reserved(files: &str) -> BTreeSet<IpAddr> {
    files.lines().filter_map(|file| file.parse().ok()).collect()
}

#[test]
fn names_of_pods_are_found_in_what_programs_print() {
    let links = "2: eth0@if4: <UP>\n7: web-1a2b3c@if2: <BROADCAST,UP> mtu 1450\n";
    assert_eq!(of_pods(links.lines().filter_map(link_name)), ["web-1a2b3c".to_owned()].into());
    let flows = " cookie=0x1, table=Classifier, priority=190,in_port=\"web-1a2b3c\" actions=drop\n \
                 table=Classifier, priority=200,in_port=\"antrea-gw0\" actions=drop\n in_port=7 actions=drop\n";
    let found = of_pods(flows.split([',', ' ']).filter_map(flow_port));
    assert_eq!(found, ["7".to_owned(), "web-1a2b3c".to_owned()].into());
    let files = "10.11.0.2\nfd00:10:1::2\nlast_reserved_ip.0\nlock\n";
    assert_eq!(reserved(files), ["10.11.0.2".parse().unwrap(), "fd00:10:1::2".parse().unwrap()].into());
}
