//! What `ip -batch` is given to make the networks of a lab.

use std::fmt::Write as _;
use std::net::IpAddr;

use antrea_types::DualStack;
use anyhow::Result;
use ipnet::IpNet;

use super::{control_plane_port, node_bridge, node_ports, transport_bridge};
use crate::names::Place;
use crate::plan::{ClusterPlan, NodePlan, Plan, address_in};

/// Every namespace and every link, made in the host's namespace.
pub(super) fn links(plan: &Plan) -> String {
    let mut batch = String::new();
    for place in plan.places() {
        batch += &format!("netns add {}\n", plan.name.namespace(place));
    }
    let router = plan.name.namespace(Place::Router);
    let mut veth = |place: Place, link: &str, port: &str| {
        let namespace = plan.name.namespace(place);
        batch += &format!("link add {link} netns {namespace} type veth peer name {port} netns {router}\n");
    };
    veth(Place::Outside, "eth0", "outside");
    for cluster in &plan.clusters {
        veth(Place::Cluster(cluster.id), "eth0", &control_plane_port(cluster.id));
        for node in &cluster.nodes {
            let [eth0, eth1] = node_ports(node.id);
            veth(Place::Node(node.id), "eth0", &eth0);
            veth(Place::Node(node.id), "eth1", &eth1);
        }
    }
    batch + &format!("link add {} type veth peer name host netns {router}\n", plan.name.host_link())
}

/// Addresses and routes of a place, made inside its namespace.
pub(super) fn configuration(plan: &Plan, place: Place) -> Result<String> {
    let mut batch = "link set lo up\n".to_owned();
    match place {
        Place::Router => router(&mut batch, plan),
        Place::Outside => {
            let subnets = plan.restrict(plan.block.outside());
            interface(&mut batch, "eth0", &subnets, |subnet| address_in(subnet, 2));
            default_routes(&mut batch, &subnets);
        }
        Place::Cluster(id) => {
            let cluster = plan.cluster(id)?;
            let own = cluster.control_plane;
            interface(&mut batch, "eth0", &cluster.node_subnets, |subnet| matching(&own, subnet));
            default_routes(&mut batch, &cluster.node_subnets);
        }
        Place::Node(id) => node(&mut batch, plan, plan.cluster(id.cluster)?, plan.node(id)?),
    }
    Ok(batch)
}

fn router(batch: &mut String, plan: &Plan) {
    for cluster in &plan.clusters {
        let node_ports_of = |index: usize| {
            cluster.nodes.iter().filter_map(move |node| node_ports(node.id).into_iter().nth(index))
        };
        let eth0 = node_ports_of(0).chain([control_plane_port(cluster.id)]);
        bridge(batch, &node_bridge(cluster.id), &cluster.node_subnets, eth0);
        bridge(batch, &transport_bridge(cluster.id), &cluster.transport_subnets, node_ports_of(1));
    }
    interface(batch, "outside", &plan.restrict(plan.block.outside()), ClusterPlan::gateway);
    interface(batch, "host", &plan.restrict(plan.block.host()), |subnet| address_in(subnet, 2));
}

/// Multicast is flooded: nobody here queries for listeners, and neighbour discovery is multicast.
fn bridge(batch: &mut String, name: &str, subnets: &DualStack<IpNet>, ports: impl Iterator<Item = String>) {
    *batch += &format!("link add {name} type bridge mcast_snooping 0\n");
    for port in ports {
        *batch += &format!("link set {port} master {name} up\n");
    }
    interface(batch, name, subnets, ClusterPlan::gateway);
}

fn node(batch: &mut String, plan: &Plan, cluster: &ClusterPlan, node: &NodePlan) {
    interface(batch, "eth0", &cluster.node_subnets, |subnet| matching(&node.node_ips, subnet));
    interface(batch, "eth1", &cluster.transport_subnets, |subnet| matching(&node.transport_ips, subnet));
    default_routes(batch, &cluster.node_subnets);
    for other in plan.clusters.iter().filter(|other| other.id != cluster.id) {
        for family in cluster.transport_subnets.families() {
            let own = cluster.transport_subnets.get(family).and_then(ClusterPlan::gateway);
            if let (Some(to), Some(gateway)) = (other.transport_subnets.get(family), own) {
                *batch += &format!("route add {to} via {gateway} dev eth1\n");
            }
        }
    }
}

/// Addresses are usable at once: nobody else can have them, so duplicate address detection is skipped.
fn interface(
    batch: &mut String,
    link: &str,
    subnets: &DualStack<IpNet>,
    address: impl Fn(&IpNet) -> Option<IpAddr>,
) {
    for subnet in subnets.iter() {
        if let Some(address) = address(subnet) {
            let flag = if address.is_ipv6() { " nodad" } else { "" };
            *batch += &format!("addr add {address}/{} dev {link}{flag}\n", subnet.prefix_len());
        }
    }
    *batch += &format!("link set {link} up\n");
}

fn default_routes(batch: &mut String, subnets: &DualStack<IpNet>) {
    for gateway in subnets.iter().filter_map(ClusterPlan::gateway) {
        *batch += &format!("route add default via {gateway}\n");
    }
}

fn matching(addresses: &DualStack<IpAddr>, subnet: &IpNet) -> Option<IpAddr> {
    addresses.iter().copied().find(|address| subnet.contains(address))
}

/// The host's end of the link to the router, and its way to all subnets of the lab.
pub(super) fn host(plan: &Plan) -> String {
    let mut batch = String::new();
    let subnets = plan.restrict(plan.block.host());
    interface(&mut batch, &plan.name.host_link(), &subnets, |subnet| address_in(subnet, 1));
    for (block, subnet) in plan.restrict(plan.block.nets()).iter().zip(subnets.iter()) {
        if let Some(router) = address_in(subnet, 2) {
            let _ = writeln!(batch, "route add {block} via {router} dev {}", plan.name.host_link());
        }
    }
    batch
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Families, Install, Request};

    fn plan() -> Plan {
        let request = Request {
            name: "lab".parse().unwrap(),
            clusters: 2,
            nodes: 1,
            families: Families::Dual,
            service_proxy: None,
            install: Install::None,
            settings: Vec::new(),
        };
        request.plan(&[]).unwrap()
    }

    #[test]
    fn a_node_has_two_links_and_the_router_between_it_and_everything_else() {
        insta::assert_snapshot!(configuration(&plan(), "c1-n1".parse().unwrap()).unwrap(), @r"
        link set lo up
        addr add 172.18.2.11/24 dev eth0
        addr add fd00:172:18:2::b/64 dev eth0 nodad
        link set eth0 up
        addr add 172.18.3.11/24 dev eth1
        addr add fd00:172:18:3::b/64 dev eth1 nodad
        link set eth1 up
        route add default via 172.18.2.1
        route add default via fd00:172:18:2::1
        route add 172.18.5.0/24 via 172.18.3.1 dev eth1
        route add fd00:172:18:5::/64 via fd00:172:18:3::1 dev eth1
        ");
    }

    #[test]
    fn the_router_is_a_switch_for_each_subnet() {
        insta::assert_snapshot!(configuration(&plan(), Place::Router).unwrap(), @r"
        link set lo up
        link add c1-node type bridge mcast_snooping 0
        link set c1-n1-0 master c1-node up
        link set c1-cp master c1-node up
        addr add 172.18.2.1/24 dev c1-node
        addr add fd00:172:18:2::1/64 dev c1-node nodad
        link set c1-node up
        link add c1-tran type bridge mcast_snooping 0
        link set c1-n1-1 master c1-tran up
        addr add 172.18.3.1/24 dev c1-tran
        addr add fd00:172:18:3::1/64 dev c1-tran nodad
        link set c1-tran up
        link add c2-node type bridge mcast_snooping 0
        link set c2-n1-0 master c2-node up
        link set c2-cp master c2-node up
        addr add 172.18.4.1/24 dev c2-node
        addr add fd00:172:18:4::1/64 dev c2-node nodad
        link set c2-node up
        link add c2-tran type bridge mcast_snooping 0
        link set c2-n1-1 master c2-tran up
        addr add 172.18.5.1/24 dev c2-tran
        addr add fd00:172:18:5::1/64 dev c2-tran nodad
        link set c2-tran up
        addr add 172.18.254.1/24 dev outside
        addr add fd00:172:18:fe::1/64 dev outside nodad
        link set outside up
        addr add 172.18.255.2/24 dev host
        addr add fd00:172:18:ff::2/64 dev host nodad
        link set host up
        ");
    }

    #[test]
    fn every_link_ends_in_the_router() {
        insta::assert_snapshot!(links(&plan()), @r"
        netns add lab-router
        netns add lab-outside
        netns add lab-c1-cp
        netns add lab-c1-n1
        netns add lab-c2-cp
        netns add lab-c2-n1
        link add eth0 netns lab-outside type veth peer name outside netns lab-router
        link add eth0 netns lab-c1-cp type veth peer name c1-cp netns lab-router
        link add eth0 netns lab-c1-n1 type veth peer name c1-n1-0 netns lab-router
        link add eth1 netns lab-c1-n1 type veth peer name c1-n1-1 netns lab-router
        link add eth0 netns lab-c2-cp type veth peer name c2-cp netns lab-router
        link add eth0 netns lab-c2-n1 type veth peer name c2-n1-0 netns lab-router
        link add eth1 netns lab-c2-n1 type veth peer name c2-n1-1 netns lab-router
        link add alab-lab type veth peer name host netns lab-router
        ");
        insta::assert_snapshot!(host(&plan()), @r"
        addr add 172.18.255.1/24 dev alab-lab
        addr add fd00:172:18:ff::1/64 dev alab-lab nodad
        link set alab-lab up
        route add 172.18.0.0/16 via 172.18.255.2 dev alab-lab
        route add fd00:172:18::/48 via fd00:172:18:ff::2 dev alab-lab
        ");
    }
}
