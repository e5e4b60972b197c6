//! Services in the kernel's datapath: whom clients outside reach, and as whom they are seen.

use std::net::{IpAddr, SocketAddr};

use antrea_e2e::wait;
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::cluster::{Cluster, with_cluster};
use crate::connectivity::ping_both_ways;
use crate::listeners::{Listeners, Reached};
use crate::node::{Node, PATIENCE};
use crate::outside::{ADDRESSES, LOAD_BALANCER, Outside, node_addresses};
use crate::ping::ping;

/// Where the endpoints listen.
pub(crate) const PORT: u16 = 8080;
pub(crate) const NODE_PORT: u16 = 30080;

#[test]
fn a_node_port_with_traffic_policy_local_reaches_local_endpoints_that_see_the_client() {
    let name = "a_node_port_with_traffic_policy_local_reaches_local_endpoints_that_see_the_client";
    with_cluster(name, |cluster| {
        let outside = Outside::connect(cluster)?;
        let service = Service::apply(cluster, &json!({ "externalTrafficPolicy": "Local" }), &json!({}))?;
        let listeners = Listeners::open(&[&cluster.neighbour.name, &cluster.server.name], PORT)?;
        for (index, pod) in [&cluster.neighbour, &cluster.server].into_iter().enumerate() {
            for (address, own) in node_addresses(index)?.into_iter().zip(ADDRESSES) {
                let target = SocketAddr::new(address, NODE_PORT);
                // Agents may know the Service of the test before this one still.
                wait::until(PATIENCE, &format!("{target} to lead to {}", pod.name), || {
                    Ok(reach(&listeners, &outside, target)?.name == pod.name)
                })?;
                for _ in 0..5 {
                    let reached = reach(&listeners, &outside, target)?;
                    ensure!(
                        reached.name == pod.name,
                        "{target} leads to {}, not to {}",
                        reached.name,
                        pod.name
                    );
                    ensure!(
                        reached.client == own.parse::<IpAddr>()?,
                        "the client is seen as {}",
                        reached.client
                    );
                }
            }
        }
        service.delete()
    });
}

#[test]
fn a_node_port_reaches_endpoints_of_both_nodes() {
    with_cluster("a_node_port_reaches_endpoints_of_both_nodes", |cluster| {
        let outside = Outside::connect(cluster)?;
        let service = Service::apply(cluster, &json!({}), &json!({}))?;
        let listeners = Listeners::open(&[&cluster.neighbour.name, &cluster.server.name], PORT)?;
        for address in [node_addresses(0)?, node_addresses(1)?].concat() {
            let target = SocketAddr::new(address, NODE_PORT);
            for pod in [&cluster.neighbour, &cluster.server] {
                wait::until(PATIENCE, &format!("{target} to lead to {}", pod.name), || {
                    Ok(listeners.connect(outside.name, target)?.name == pod.name)
                })?;
            }
        }
        service.delete()
    });
}

#[test]
fn with_dsr_the_node_of_the_endpoint_answers_the_client() {
    with_cluster("with_dsr_the_node_of_the_endpoint_answers_the_client", |cluster| {
        let outside = Outside::connect(cluster)?;
        let annotations = json!({ "service.antrea.io/load-balancer-mode": "dsr" });
        let service = Service::apply(cluster, &json!({}), &annotations)?;
        // Node a has the load balancer's address; only the endpoint of Node b listens.
        let listeners = Listeners::open(&[&cluster.server.name], PORT)?;
        for (address, own) in LOAD_BALANCER.iter().zip(ADDRESSES) {
            let target = SocketAddr::new(address.parse()?, 80);
            reach(&listeners, &outside, target)?;
            let before = outside.received()?;
            for _ in 0..5 {
                let reached = listeners.connect_until_answered(outside.name, target)?;
                ensure!(reached.client == own.parse::<IpAddr>()?, "the client is seen as {}", reached.client);
            }
            let [a, b] = outside.received()?;
            ensure!(b >= before[1] + 10, "{target}: Node b sent {} packets", b - before[1]);
            // Neighbour discovery, and refusals of the endpoint that does not listen.
            println!("{target}: {} packets came from Node a, {} from Node b", a - before[0], b - before[1]);
        }
        service.delete()
    });
}

/// A process of the Node is known by a mark on its packets, which Open vSwitch sees; what the Node forwards has none.
#[test]
fn open_vswitch_sees_the_mark_of_packets_that_the_node_itself_sends() {
    with_cluster("open_vswitch_sees_the_mark_of_packets_that_the_node_itself_sends", |cluster| {
        let marked = Marked::count(&cluster.a)?;
        for address in &cluster.client.addresses {
            let before = marked.packets(OF_GATEWAY)?;
            ping(cluster.a.name, *address)?;
            // Open vSwitch asks the kernel about its flows every half second.
            wait::until(PATIENCE, "packets with the mark of the Node", || {
                Ok(marked.packets(OF_GATEWAY)? >= before + 3)
            })?;
        }
        ping_both_ways(&cluster.client, &cluster.server)?;
        ping_both_ways(&cluster.client, &cluster.neighbour)?;
        // What was sent before them is counted by now.
        let before = marked.packets(OF_GATEWAY)?;
        ping(cluster.a.name, *cluster.client.addresses.first().context("a Pod without an address")?)?;
        wait::until(PATIENCE, "packets with the mark of the Node", || {
            Ok(marked.packets(OF_GATEWAY)? > before)
        })?;
        ensure!(marked.packets(OF_OTHERS)? == 0, "what Pods send has the mark of the Node");
        marked.stop()
    });
}

/// Waits until somebody is reached.
fn reach(listeners: &Listeners, outside: &Outside, target: SocketAddr) -> Result<Reached> {
    wait::eventually(PATIENCE, &format!("{target} to answer"), || {
        listeners.connect(outside.name, target).map(Some)
    })
}

/// A Service and its EndpointSlices as files of both Nodes.
pub(crate) struct Service<'a> {
    nodes: [&'a Node; 2],
}

const FILE: &str = "objects/service.yaml";

impl<'a> Service<'a> {
    /// Over the neighbour, of Node a, and the server, of Node b.
    pub(crate) fn apply(cluster: &'a Cluster, spec: &Value, annotations: &Value) -> Result<Self> {
        let mut service = service(annotations);
        for (key, value) in spec.as_object().into_iter().flatten() {
            service["spec"][key] = value.clone();
        }
        let slices = [slice(cluster, "IPv4", 0)?, slice(cluster, "IPv6", 1)?];
        let objects: Vec<String> = [service].iter().chain(&slices).map(ToString::to_string).collect();
        let nodes = cluster.nodes();
        nodes.iter().try_for_each(|node| node.write(FILE, &objects.join("\n---\n")))?;
        Ok(Self { nodes })
    }

    pub(crate) fn delete(self) -> Result<()> {
        self.nodes.iter().try_for_each(|node| node.remove(FILE))
    }
}

fn service(annotations: &Value) -> Value {
    let ingress: Vec<Value> = LOAD_BALANCER.iter().map(|ip| json!({ "ip": ip, "ipMode": "VIP" })).collect();
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": "web", "namespace": "default", "annotations": annotations },
        "spec": {
            "type": "LoadBalancer",
            "clusterIP": "10.96.0.80",
            "clusterIPs": ["10.96.0.80", "fd00:10:96::80"],
            "ipFamilies": ["IPv4", "IPv6"],
            "externalTrafficPolicy": "Cluster",
            "internalTrafficPolicy": "Cluster",
            "ports": [{ "name": "web", "protocol": "TCP", "port": 80, "targetPort": PORT, "nodePort": NODE_PORT }],
        },
        "status": { "loadBalancer": { "ingress": ingress } },
    })
}

/// `family` is the place of its addresses in the list of a Pod.
fn slice(cluster: &Cluster, address_type: &str, family: usize) -> Result<Value> {
    let pods = [(&cluster.neighbour, &cluster.a), (&cluster.server, &cluster.b)];
    let endpoints = pods.map(|(pod, node)| {
        let conditions = json!({ "ready": true, "serving": true, "terminating": false });
        json!({ "addresses": [pod.addresses.get(family)], "conditions": conditions, "nodeName": node.name })
    });
    ensure!(
        endpoints.iter().all(|endpoint| endpoint["addresses"][0].is_string()),
        "a Pod without {address_type}"
    );
    Ok(json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": format!("web-{family}"),
            "namespace": "default",
            "labels": { "kubernetes.io/service-name": "web" },
        },
        "addressType": address_type,
        "ports": [{ "name": "web", "protocol": "TCP", "port": PORT }],
        "endpoints": endpoints,
    }))
}

/// Flows of the test's own that count packets with the mark, of the gateway and of other ports, and change nothing.
struct Marked<'a> {
    node: &'a Node,
}

const OF_GATEWAY: &str = "cookie=0x7e57/-1";
const OF_OTHERS: &str = "cookie=0x7e58/-1";

impl<'a> Marked<'a> {
    fn count(node: &'a Node) -> Result<Self> {
        let first = node.flows(&["dump-flows", "table=0"])?;
        for family in ["ip", "ipv6"] {
            let next = first.lines().find_map(|line| {
                let (matched, actions) = line.trim().split_once(" actions=")?;
                matched.ends_with(&format!(",{family}")).then_some(actions)
            });
            let Some(actions) = next else { bail!("no flow of {family} in the first table:\n{first}") };
            for first in ["cookie=0x7e57,priority=65000,in_port=antrea-gw0", "cookie=0x7e58,priority=64999"] {
                let flow =
                    format!("{first},table=0,{family},pkt_mark=0x80000000/0x80000000,actions={actions}");
                node.flows(&["add-flow", &flow]).map(drop)?;
            }
        }
        Ok(Self { node })
    }

    fn packets(&self, cookie: &str) -> Result<u64> {
        let flows = self.node.flows(&["dump-flows", cookie])?;
        let counts = flows.split([' ', ',']).filter_map(|word| word.strip_prefix("n_packets="));
        counts.map(|count| count.parse::<u64>().context("no count")).sum()
    }

    fn stop(self) -> Result<()> {
        [OF_GATEWAY, OF_OTHERS]
            .iter()
            .try_for_each(|cookie| self.node.flows(&["del-flows", cookie]).map(drop))
    }
}
