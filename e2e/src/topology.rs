//! The networks of a lab as network namespaces and veths.
//!
//! ```text
//! host ── router ── outside          a bridge in the router for every subnet; the router has its first address
//!           ├── c1-node ── c1 (API server), c1-n1 eth0, c1-n2 eth0, …
//!           └── c1-tran ──                  c1-n1 eth1, c1-n2 eth1, …
//! ```
//! Only subnets of the lab are routed, never Pods: a Pod's packet reaches `outside` with its own address, and the
//! answer has no way back. Source NAT is the product's task.

use std::fmt::Write as _;

use antrea_types::DualStack;
use anyhow::{Context, Result};
use ipnet::IpNet;

use crate::command::{Run as _, command};
use crate::names::{ClusterId, NodeId, Place};
use crate::plan::{ClusterPlan, NodePlan, Plan, address_in};
use crate::processes::namespace_path;

/// The router's bridge for the subnet of eth0.
pub fn node_bridge(cluster: ClusterId) -> String {
    format!("{cluster}-node")
}

/// The router's bridge for the subnet of eth1.
pub fn transport_bridge(cluster: ClusterId) -> String {
    format!("{cluster}-tran")
}

/// The router's ends of a Node's eth0 and eth1.
pub fn node_ports(node: NodeId) -> [String; 2] {
    [format!("{node}-0"), format!("{node}-1")]
}

/// The router's end of the link to a cluster's control plane.
pub fn control_plane_port(cluster: ClusterId) -> String {
    format!("{cluster}-cp")
}

/// A command that runs in a network namespace and otherwise like any other.
pub fn in_namespace(namespace: &str, program: impl AsRef<std::ffi::OsStr>) -> std::process::Command {
    let mut command = std::process::Command::new("nsenter");
    command.arg(format!("--net={}", namespace_path(namespace).display())).arg("--").arg(program);
    command
}

/// Makes namespaces, links, addresses and routes.
///
/// # Errors
/// When the kernel refuses one of them.
pub fn create(plan: &Plan) -> Result<()> {
    // Kernels that have these built in, or have none of them, know no such modules.
    command("modprobe", &["-aq", "br_netfilter", "overlay", "tun"]).run().ok();
    command("ip", &["-batch", "-"]).feed(&links(plan)).context("cannot make the links of the lab")?;
    for place in plan.places() {
        let namespace = plan.name.namespace(place);
        in_namespace(&namespace, "sysctl").args(["-e", "-qw"]).args(sysctls(place)).run()?;
        let batch = configuration(plan, place)?;
        command("ip", &["-n", &namespace, "-batch", "-"]).feed(&batch)?;
    }
    command("ip", &["-batch", "-"])
        .feed(&host_configuration(plan))
        .context("cannot join the host to the lab")?;
    disable_checksum_offload(plan)
}

fn links(plan: &Plan) -> String {
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

/// Forwarding where packets are forwarded. No router advertisement is listened to anywhere.
fn sysctls(place: Place) -> Vec<&'static str> {
    let mut settings = vec!["net.ipv6.conf.all.accept_ra=0", "net.ipv6.conf.default.accept_ra=0"];
    if matches!(place, Place::Router | Place::Node(_)) {
        settings.extend(["net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"]);
    }
    // A Service proxy on a Node must see what its bridge forwards; the router's bridges are plain switches.
    match place {
        Place::Router => {
            settings
                .extend(["net.bridge.bridge-nf-call-iptables=0", "net.bridge.bridge-nf-call-ip6tables=0"]);
        }
        Place::Node(_) => {
            settings
                .extend(["net.bridge.bridge-nf-call-iptables=1", "net.bridge.bridge-nf-call-ip6tables=1"]);
        }
        Place::Outside | Place::Cluster(_) => {}
    }
    settings
}

/// What `ip -batch` does inside a namespace.
fn configuration(plan: &Plan, place: Place) -> Result<String> {
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
    address: impl Fn(&IpNet) -> Option<std::net::IpAddr>,
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

fn matching(addresses: &DualStack<std::net::IpAddr>, subnet: &IpNet) -> Option<std::net::IpAddr> {
    addresses.iter().copied().find(|address| subnet.contains(address))
}

fn host_configuration(plan: &Plan) -> String {
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

/// A userspace Open vSwitch sees packets as the kernel hands them to a socket: without a checksum where the sender
/// left it to the hardware. So no sender outside of Nodes leaves it.
fn disable_checksum_offload(plan: &Plan) -> Result<()> {
    let ports = plan.clusters.iter().flat_map(|cluster| {
        let nodes = cluster.nodes.iter().flat_map(|node| node_ports(node.id));
        nodes.chain([control_plane_port(cluster.id), node_bridge(cluster.id), transport_bridge(cluster.id)])
    });
    let router: Vec<String> = ports.chain(["outside".to_owned(), "host".to_owned()]).collect();
    ethtool(in_namespace(&plan.name.namespace(Place::Router), "sh"), &router)?;
    let eth0 = ["eth0".to_owned()];
    ethtool(in_namespace(&plan.name.namespace(Place::Outside), "sh"), &eth0)?;
    for cluster in &plan.clusters {
        ethtool(in_namespace(&plan.name.namespace(Place::Cluster(cluster.id)), "sh"), &eth0)?;
    }
    ethtool(std::process::Command::new("sh"), &[plan.name.host_link()])
}

fn ethtool(mut shell: std::process::Command, links: &[String]) -> Result<()> {
    shell
        .args(["-c", "for link; do ethtool -K \"$link\" tx off >/dev/null || exit; done", "sh"])
        .args(links)
        .run()
}
