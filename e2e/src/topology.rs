//! The networks of a lab as network namespaces and veths.
//!
//! ```text
//! host ── router ── outside          a bridge in the router for every subnet; the router has its first address
//!           ├── c1-node ── c1 (API server), c1-n1 eth0, c1-n2 eth0, …
//!           └── c1-tran ──                  c1-n1 eth1, c1-n2 eth1, …
//! ```
//! Only subnets of the lab are routed, never Pods: a Pod's packet reaches `outside` with its own address, and the
//! answer has no way back. Source NAT is the product's task.

mod batch;

use anyhow::{Context, Result};

use crate::command::{Run as _, command};
use crate::names::{ClusterId, NodeId, Place};
use crate::plan::Plan;
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
    command("ip", &["-batch", "-"]).feed(&batch::links(plan)).context("cannot make the links of the lab")?;
    for place in plan.places() {
        let namespace = plan.name.namespace(place);
        in_namespace(&namespace, "sysctl").args(["-e", "-qw"]).args(sysctls(place)).run()?;
        configure(plan, place)?;
    }
    command("ip", &["-batch", "-"]).feed(&batch::host(plan)).context("cannot join the host to the lab")?;
    disable_checksum_offload(plan)
}

fn configure(plan: &Plan, place: Place) -> Result<()> {
    let lines = batch::configuration(plan, place)?;
    command("ip", &["-n", &plan.name.namespace(place), "-batch", "-"]).feed(&lines).map(drop)
}

/// Gives a Node the addresses and routes that the plan has for it, and takes everything else away: as when a machine boots,
/// links as well, of which Open vSwitch leaves its own when it is killed.
///
/// # Errors
/// When the kernel refuses one of them.
pub fn configure_again(plan: &Plan, node: NodeId) -> Result<()> {
    let place = Place::Node(node);
    let namespace = plan.name.namespace(place);
    let links = command("ip", &["-n", &namespace, "-oneline", "link"]).text()?;
    let others = links.lines().filter_map(link_name).filter(|name| !["lo", "eth0", "eth1"].contains(name));
    let gone = others.map(|name| format!("link del {name}\n"));
    // What is down has no routes, and of IPv6 no addresses.
    let clear = ["eth0", "eth1"].map(|link| format!("link set {link} down\naddr flush dev {link}\n"));
    let lines: String = gone.chain(clear).collect();
    command("ip", &["-n", &namespace, "-batch", "-"]).feed(&lines)?;
    configure(plan, place)
}

/// As `eth0` of `2: eth0@if9: <BROADCAST…`.
fn link_name(line: &str) -> Option<&str> {
    line.split([' ', '@', ':']).filter(|word| !word.is_empty()).nth(1)
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
