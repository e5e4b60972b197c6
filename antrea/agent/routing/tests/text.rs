//! Nodes from text, and decisions as text.

use std::str::FromStr;

use antrea_agent_routing::{Eligibility, NodeRecord, NodeRoutes, OwnNode, TrafficMode, TunnelProtocol, plan};
use antrea_hostplan::Transport;
use antrea_pipeline::PeerRoute;

/// The Node `node-1` with the given Pod networks, separated by commas. Its transport addresses are 172.18.0.1/24 and
/// fd00:18::1/64 on eth0.
pub(crate) fn own(mode: TrafficMode, pod_cidrs: &str) -> OwnNode {
    OwnNode {
        name: "node-1".parse().unwrap(),
        pod_cidrs: list(pod_cidrs).into_iter().collect(),
        gateway: "gw0".parse().unwrap(),
        transport: Transport {
            interface: "eth0".parse().unwrap(),
            addresses: list("172.18.0.1/24,fd00:18::1/64").into_iter().collect(),
        },
        mode,
        tunnel: TunnelProtocol::Geneve,
    }
}

/// A Node from `NAME CREATED pods=CIDR,… at=ADDRESS,… also=ADDRESS,… transport=TEXT sources=TEXT`, of which all but the first
/// two may be absent.
pub(crate) fn node(line: &str) -> NodeRecord {
    let mut words = line.split_whitespace();
    let name = words.next().unwrap().parse().unwrap();
    let created = words.next().unwrap().parse().unwrap();
    let value = |key: &str| words.clone().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    let texts = |key| value(key).map(|texts| texts.split(',').map(str::to_owned).collect());
    NodeRecord {
        name,
        created,
        pod_cidrs: texts("pods").unwrap_or_default(),
        addresses: value("at").map(|text| list(text).into_iter().collect()).unwrap_or_default(),
        all_addresses: value("also").map(|text| list(text).into_iter().collect()).unwrap_or_default(),
        zone: None,
        eligibility: Eligibility::Eligible,
        transport_addresses: value("transport").map(str::to_owned),
        tunnel_sources: value("sources").map(str::to_owned),
    }
}

/// What is decided for these Nodes.
pub(crate) fn decide(own: &OwnNode, nodes: &str) -> String {
    let nodes: Vec<NodeRecord> =
        nodes.lines().map(str::trim).filter(|line| !line.is_empty()).map(node).collect();
    describe(&plan(own, &nodes))
}

fn describe(routes: &NodeRoutes) -> String {
    let mut lines: Vec<String> = routes.own_routes.iter().map(ToString::to_string).collect();
    for (name, peer) in &routes.peers {
        for network in peer.peer.networks.iter() {
            let way = match network.route {
                PeerRoute::Tunnel { remote } => format!("tunnel to {remote}"),
                PeerRoute::Host => "host".to_owned(),
            };
            lines.push(format!("{name}: {} by {way}", network.pod_cidr));
        }
        lines.extend(peer.routes.iter().map(|route| format!("{name}: {route}")));
        lines.extend(peer.neighbours.iter().map(|neighbour| format!("{name}: {neighbour}")));
    }
    lines.extend(routes.problems.iter().map(|(name, problem)| format!("{name}! {problem}")));
    lines.join("\n")
}

fn list<T: FromStr>(text: &str) -> Vec<T>
where
    T::Err: std::fmt::Debug,
{
    text.split(',').map(|item| item.parse().unwrap()).collect()
}
