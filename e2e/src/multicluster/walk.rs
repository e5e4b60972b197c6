//! The way of a request through a ClusterSet, hop by hop, as packets on the links of Nodes show it.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddrV4};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::cluster_set::Member;
use super::nginx::{Example, Server, pod_ip};
use super::packets::{Capture, Syn};
use crate::command::Run as _;
use crate::lab::Lab;
use crate::names::{ClusterId, NodeId};
use crate::node;
use crate::pods::{PORT, Pod};

/// The link that tunnels go over.
const UNDERLAY: &str = "eth1";
/// How often the Service is asked, until every server has answered.
const REQUESTS: usize = 60;

/// A link that a request went over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hop {
    /// The Node.
    pub node: NodeId,
    /// Its link.
    pub link: String,
    /// Who the client is, as the packet has it.
    pub source: Ipv4Addr,
    /// Who the server is, as the packet has it.
    pub destination: SocketAddrV4,
    /// From and to which Node it was tunnelled.
    pub tunnel: Option<[Ipv4Addr; 2]>,
}

/// The way of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walk {
    /// Who answered.
    pub server: String,
    /// In the order of time.
    pub hops: Vec<Hop>,
}

/// What happened to a request before each hop.
const STEPS: [&str; 5] = [
    "the client asks the imported Service",
    "an endpoint is chosen, a ClusterIP of another cluster; to the Gateway",
    "source NAT to the Gateway's address; to the other cluster's Gateway",
    "the exported Service chooses its Pod; to the Pod's Node",
    "to the Pod",
];

/// Asks the imported Service until every server has answered, and follows one request to each.
///
/// # Errors
/// When a server does not answer, or a hop is not seen.
pub fn follow(lab: &Lab, example: &Example) -> Result<Vec<Walk>> {
    let client = &example.client;
    let first = Capture::start(lab, client.node, &veth(lab, client)?)?;
    let client_node = Capture::start(lab, client.node, UNDERLAY)?;
    let gateway = Capture::start(lab, gateway_node(client.node.cluster), UNDERLAY)?;
    let mut last = BTreeMap::new();
    for server in &example.servers {
        let theirs = Capture::start(lab, gateway_node(server.cluster), UNDERLAY)?;
        last.insert(
            server.pod.name.clone(),
            [theirs, Capture::start(lab, server.pod.node, &veth(lab, &server.pod)?)?],
        );
    }
    let mut walks = BTreeMap::new();
    for _ in 0..REQUESTS {
        let server = example.ask()?;
        let begun = next_to(&first, example.imported)?;
        let [theirs, pod] = last.get(&server).with_context(|| format!("{server:?} answered"))?;
        let mut hops = vec![hop(&first, &begun)];
        for capture in [&client_node, &gateway, theirs, pod] {
            hops.push(hop(capture, &same(lab, capture, &begun)?));
        }
        walks.entry(server.clone()).or_insert(Walk { server, hops });
        if walks.len() == example.servers.len() {
            return Ok(walks.into_values().collect());
        }
    }
    bail!("of {REQUESTS} requests, all were answered by {:?}", walks.keys())
}

/// The way that the document gives a request, with the addresses of this lab.
///
/// # Errors
/// When a cluster has no Gateway.
pub fn expected(lab: &Lab, members: &[Member], example: &Example, server: &Server) -> Result<Walk> {
    let client = &example.client;
    let gateway = |cluster| gateway_of(members, cluster);
    let (own, theirs) = (gateway(client.node.cluster)?, gateway(server.cluster)?);
    let (exported, pod) = (
        SocketAddrV4::new(server.cluster_ip, example.imported.port()),
        SocketAddrV4::new(pod_ip(&server.pod)?, PORT),
    );
    let (client_ip, client_veth, server_veth) =
        (pod_ip(client)?, veth(lab, client)?, veth(lab, &server.pod)?);
    let hop = |node, link: &str, source, destination, tunnel| Hop {
        node,
        link: link.to_owned(),
        source,
        destination,
        tunnel,
    };
    let (a1, s1) = (gateway_node(client.node.cluster), gateway_node(server.cluster));
    let hops = vec![
        hop(client.node, &client_veth, client_ip, example.imported, None),
        hop(
            client.node,
            UNDERLAY,
            client_ip,
            exported,
            Some([transport(lab, client.node)?, own.internal_ip]),
        ),
        hop(a1, UNDERLAY, own.gateway_ip, exported, Some([transport(lab, a1)?, theirs.gateway_ip])),
        hop(s1, UNDERLAY, own.gateway_ip, pod, Some([transport(lab, s1)?, transport(lab, server.pod.node)?])),
        hop(server.pod.node, &server_veth, own.gateway_ip, pod, None),
    ];
    Ok(Walk { server: server.pod.name.clone(), hops })
}

/// Follows a request to every server, which must have gone as [`expected`].
///
/// # Errors
/// The first that went otherwise.
pub fn check(lab: &Lab, members: &[Member], example: &Example) -> Result<Vec<Walk>> {
    let walks = follow(lab, example)?;
    for walk in &walks {
        let server = example.servers.iter().find(|server| server.pod.name == walk.server);
        let expected = expected(lab, members, example, server.context("nobody known answered")?)?;
        ensure!(*walk == expected, "a request went\n{walk}\nand was to go\n{expected}");
    }
    Ok(walks)
}

/// The addresses of a Gateway.
struct Gateway {
    gateway_ip: Ipv4Addr,
    internal_ip: Ipv4Addr,
}

fn gateway_of(members: &[Member], cluster: ClusterId) -> Result<Gateway> {
    let member = members.iter().find(|member| member.cluster == cluster).context("no such cluster")?;
    let gateways = member.gateways()?;
    let gateway = gateways.first().with_context(|| format!("{cluster} has no Gateway"))?;
    let address = |field: &str| -> Result<Ipv4Addr> {
        let text = gateway[field].as_str().unwrap_or_default();
        text.parse().with_context(|| format!("the Gateway of {cluster} has {field} {text:?}"))
    };
    ensure!(
        gateway["metadata"]["name"] == Value::String(gateway_node(cluster).to_string()),
        "the Gateway of {cluster} is {gateway}"
    );
    Ok(Gateway { gateway_ip: address("gatewayIP")?, internal_ip: address("internalIP")? })
}

/// Where [`super::cluster_set::form`] puts the Gateway of a cluster.
fn gateway_node(cluster: ClusterId) -> NodeId {
    NodeId { cluster, number: 1 }
}

fn transport(lab: &Lab, node: NodeId) -> Result<Ipv4Addr> {
    match lab.plan().node(node)?.transport_ips.v4 {
        Some(std::net::IpAddr::V4(ip)) => Ok(ip),
        _ => bail!("{node} has no IPv4 address on {UNDERLAY}"),
    }
}

/// The Node's end of a Pod's link.
fn veth(lab: &Lab, pod: &Pod) -> Result<String> {
    let index = pod.exec(&["cat", "/sys/class/net/eth0/iflink"])?;
    let links = node::command_on(&lab.plan().name, pod.node, "ip")?.args(["-o", "link"]).text()?;
    let found = links.lines().find_map(|line| link_of(line, index.trim()));
    found.with_context(|| format!("{} has no link {} of Pod {}", pod.node, index.trim(), pod.name))
}

/// The name in `12: pod-a-9e1c2d@if3: <BROADCAST,…`, if the number is this.
fn link_of(line: &str, index: &str) -> Option<String> {
    let name = line.strip_prefix(index)?.strip_prefix(": ")?.split([':', '@']).next()?;
    Some(name.to_owned())
}

/// The next request to a server that is seen.
fn next_to(capture: &Capture, server: SocketAddrV4) -> Result<Syn> {
    loop {
        let syn = capture.next()?;
        if syn.destination == server {
            return Ok(syn);
        }
    }
}

/// A request that was seen elsewhere before, when it leaves this Node: it comes in by the underlay, too.
fn same(lab: &Lab, capture: &Capture, begun: &Syn) -> Result<Syn> {
    let own = transport(lab, capture.node)?;
    loop {
        let syn = capture.next()?;
        if syn.sequence == begun.sequence && syn.tunnel.is_none_or(|[from, _]| from == own) {
            return Ok(syn);
        }
    }
}

fn hop(capture: &Capture, syn: &Syn) -> Hop {
    Hop {
        node: capture.node,
        link: capture.link.clone(),
        source: *syn.source.ip(),
        destination: syn.destination,
        tunnel: syn.tunnel,
    }
}

impl fmt::Display for Walk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<7}{:<16}{:<17}{:<21}tunnel", "hop", "interface", "source", "destination")?;
        for (hop, step) in self.hops.iter().zip(STEPS) {
            let Hop { node, link, source, destination, tunnel } = hop;
            let tunnel = tunnel.map(|[from, to]| format!("{from} → {to}")).unwrap_or_default();
            let (node, source, destination) = (node.to_string(), source.to_string(), destination.to_string());
            write!(f, "\n{node:<7}{link:<16}{source:<17}{destination:<21}{tunnel:<29}{step}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_pods_link_is_found_by_its_number() {
        let line = "12: pod-a-9e1c2d@if3: <BROADCAST,MULTICAST,UP> mtu 1400";
        assert_eq!(link_of(line, "12").as_deref(), Some("pod-a-9e1c2d"));
        assert_eq!(link_of(line, "1"), None);
        assert_eq!(link_of("2: eth0: <BROADCAST>", "2").as_deref(), Some("eth0"));
    }

    #[test]
    fn a_walk_is_a_table() {
        let tunnel = ["172.18.3.12", "172.18.3.11"].map(|ip| ip.parse().unwrap());
        let hop = |link: &str, destination: &str, tunnel| Hop {
            node: "c1-n2".parse().unwrap(),
            link: link.to_owned(),
            source: Ipv4Addr::new(10, 21, 1, 4),
            destination: destination.parse().unwrap(),
            tunnel,
        };
        let hops =
            vec![hop("pod-a-9e1c2d", "10.112.37.5:80", None), hop("eth1", "10.96.2.22:80", Some(tunnel))];
        let walk = Walk { server: "pod-b".to_owned(), hops };
        insta::assert_snapshot!(walk, @r"
        hop    interface       source           destination          tunnel
        c1-n2  pod-a-9e1c2d    10.21.1.4        10.112.37.5:80                                    the client asks the imported Service
        c1-n2  eth1            10.21.1.4        10.96.2.22:80        172.18.3.12 → 172.18.3.11    an endpoint is chosen, a ClusterIP of another cluster; to the Gateway
        ");
    }
}
