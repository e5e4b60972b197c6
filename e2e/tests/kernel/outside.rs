//! A client outside, cabled to both Nodes. It has addresses of its own, to which each Node knows the way by its own
//! cable, and reaches the addresses of load balancers through the first Node.

use std::fs;
use std::net::IpAddr;

use antrea_e2e::command::{Run as _, command};
use anyhow::{Context, Result};

use crate::cluster::{Cluster, node_address, node_address_v6};
use crate::namespace::within;
use crate::node::Node;

/// Also that of its namespace.
const NAME: &str = "outside";

/// The outside's ends of its cables.
const CABLES: [&str; 2] = ["to-a", "to-b"];

/// Its own addresses (RFC 5737, RFC 3849).
pub(crate) const ADDRESSES: [&str; 2] = ["203.0.113.10", "2001:db8:113::10"];

/// Those of a load balancer.
pub(crate) const LOAD_BALANCER: [&str; 2] = ["198.51.100.10", "2001:db8:100::10"];

pub(crate) struct Outside {
    pub(crate) name: &'static str,
}

impl Outside {
    pub(crate) fn connect(cluster: &Cluster) -> Result<Self> {
        command("ip", &["netns", "add", NAME]).run()?;
        // From here on it goes whatever fails.
        let outside = Self { name: NAME };
        let mut own = String::from("link set lo up\n");
        for (address, length) in ADDRESSES.iter().zip([32, 128]) {
            own += &format!("address add {address}/{length} dev lo\n");
        }
        batch(NAME, &own)?;
        for (index, node) in cluster.nodes().into_iter().enumerate() {
            connect(node, index)?;
        }
        let [first, _] = gateways(0);
        let [first_v6, _] = gateways_v6(0);
        let [v4, v6] = LOAD_BALANCER;
        let [own_v4, own_v6] = ADDRESSES;
        let ways =
            format!("route add {v4} via {first} src {own_v4}\nroute add {v6} via {first_v6} src {own_v6}\n");
        batch(NAME, &ways)?;
        Ok(outside)
    }

    /// What came from each Node: packets.
    pub(crate) fn received(&self) -> Result<[u64; 2]> {
        let table = within(NAME, || fs::read_to_string("/proc/thread-self/net/dev").context("no devices"))?;
        let packets = |cable: &str| -> Result<u64> {
            let line = table.lines().find_map(|line| line.trim().strip_prefix(cable)?.strip_prefix(':'));
            let packets = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
            packets.with_context(|| format!("no counters of {cable}"))
        };
        let [a, b] = CABLES;
        Ok([packets(a)?, packets(b)?])
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        // What cannot be removed goes with the guest.
        let _ = command("ip", &["netns", "delete", NAME]).run();
    }
}

/// The addresses that NodePorts of a Node are asked at: those of its cable to the other Node.
pub(crate) fn node_addresses(index: usize) -> Result<[IpAddr; 2]> {
    let parse = |text: String| text.parse::<IpAddr>().with_context(|| format!("{text} is no address"));
    Ok([parse(node_address(index))?, parse(node_address_v6(index))?])
}

/// Of a cable to a Node: the Node's end, and the outside's.
fn gateways(index: usize) -> [String; 2] {
    [1, 2].map(|end| format!("192.168.{}.{end}", 101 + index))
}

fn gateways_v6(index: usize) -> [String; 2] {
    [1, 2].map(|end| format!("fd00:192:168:{}::{end}", 101 + index))
}

fn connect(node: &Node, index: usize) -> Result<()> {
    let cable = CABLES[index];
    let ends =
        ["link", "add", cable, "netns", NAME, "type", "veth", "peer", "name", "wan0", "netns", node.name];
    command("ip", &ends).run()?;
    let ([near, far], [near_v6, far_v6]) = (gateways(index), gateways_v6(index));
    let ([own, own_v6], [target, target_v6]) = (ADDRESSES, node_addresses(index)?);
    let outside = format!(
        "address add {far}/24 dev {cable}\naddress add {far_v6}/64 dev {cable} nodad\nlink set {cable} up\n\
         route add {target} via {near} src {own}\nroute add {target_v6} via {near_v6} src {own_v6}\n"
    );
    batch(NAME, &outside)?;
    let inside = format!(
        "address add {near}/24 dev wan0\naddress add {near_v6}/64 dev wan0 nodad\nlink set wan0 up\n\
         route add {own} via {far}\nroute add {own_v6} via {far_v6}\n"
    );
    batch(node.name, &inside)
}

fn batch(namespace: &str, lines: &str) -> Result<()> {
    command("ip", &["-n", namespace, "-batch", "-"]).feed(lines).map(drop)
}
