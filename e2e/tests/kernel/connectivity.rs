//! Pods reach each other and Nodes reach Pods, through the kernel and nothing else.

use std::fs;
use std::net::IpAddr;

use antrea_e2e::command::Run as _;
use antrea_e2e::wait;
use anyhow::{Context, Result, ensure};

use crate::cluster::{Cluster, Tunnel, UPLINK, node_address, with_cluster};
use crate::namespace::{program_in, within};
use crate::node::PATIENCE;
use crate::ping::ping;
use crate::pod::Pod;
use crate::tcp::{connect, transfer};

#[test]
fn pods_of_two_nodes_ping_each_other() {
    with_cluster("pods_of_two_nodes_ping_each_other", |cluster| {
        ping_both_ways(&cluster.client, &cluster.server)
    });
}

#[test]
fn pods_of_one_node_ping_each_other_and_talk_tcp() {
    with_cluster("pods_of_one_node_ping_each_other_and_talk_tcp", |cluster| {
        ping_both_ways(&cluster.client, &cluster.neighbour)?;
        transfer_both_ways(&cluster.client, &cluster.neighbour)
    });
}

#[test]
fn nodes_reach_their_own_pods_and_those_of_other_nodes() {
    with_cluster("nodes_reach_their_own_pods_and_those_of_other_nodes", |cluster| {
        for node in cluster.nodes() {
            for pod in [&cluster.client, &cluster.server] {
                for address in &pod.addresses {
                    ping(node.name, *address)?;
                    transfer(node.name, &pod.name, *address)?;
                }
            }
        }
        Ok(())
    });
}

#[test]
fn tcp_between_nodes_is_cut_into_segments_that_fill_the_wire_and_fit_it() {
    let name = "tcp_between_nodes_is_cut_into_segments_that_fill_the_wire_and_fit_it";
    with_cluster(name, |cluster| {
        let before = Sent::by(cluster.a.name)?;
        transfer_both_ways(&cluster.client, &cluster.server)?;
        let sent = Sent::by(cluster.a.name)?.since(&before);
        // With offloads the kernel would count a few packets of many segments.
        ensure!(sent.bytes / sent.packets <= 1514, "{sent:?} are larger than an Ethernet frame");
        ensure!(sent.packets > 2 * (4 << 20) / 1500, "{sent:?} are fewer than what was carried");
        Ok(())
    });
}

#[test]
fn the_kernel_tunnels_by_itself() {
    with_cluster("the_kernel_tunnels_by_itself", |cluster| {
        ensure_tunnelled_by_the_kernel(cluster, Tunnel::Geneve)
    });
}

#[test]
fn open_vswitch_answers_the_kernel_about_every_new_flow() {
    with_cluster("open_vswitch_answers_the_kernel_about_every_new_flow", |cluster| {
        for _ in 0..50 {
            for address in &cluster.server.addresses {
                connect(&cluster.client.name, &cluster.server.name, *address)?;
            }
        }
        cluster.ensure_nothing_was_lost()
    });
}

pub(crate) fn ping_both_ways(one: &Pod, other: &Pod) -> Result<()> {
    one.addresses.iter().try_for_each(|address| ping(&other.name, *address))?;
    other.addresses.iter().try_for_each(|address| ping(&one.name, *address))
}

/// Megabytes in both directions and families, in segments as large as the MTU of Pods allows.
pub(crate) fn transfer_both_ways(one: &Pod, other: &Pod) -> Result<()> {
    for (from, to) in [(one, other), (other, one)] {
        let mtu = mtu(&from.name)?;
        for address in &to.addresses {
            let segment = transfer(&from.name, &to.name, *address)?;
            let expected = mtu - headers(*address);
            ensure!(segment == expected, "{} -> {address}: segments of {segment}, not {expected}", from.name);
        }
    }
    Ok(())
}

/// IP, TCP and TCP's timestamps.
const fn headers(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(_) => 20 + 20 + 12,
        IpAddr::V6(_) => 40 + 20 + 12,
    }
}

fn mtu(pod: &str) -> Result<u32> {
    let text = program_in(pod, "cat").arg("/sys/class/net/eth0/mtu").text()?;
    text.trim().parse().context("the MTU is no number")
}

/// Flows of the kernel wrap packets for the other Node, in both Nodes.
pub(crate) fn ensure_tunnelled_by_the_kernel(cluster: &Cluster, tunnel: Tunnel) -> Result<()> {
    for (index, node) in cluster.nodes().into_iter().enumerate() {
        let shown = node.switch(&["dpctl/show"])?;
        ensure!(shown.contains("system@ovs-system") && shown.contains(tunnel.device()), "{shown}");
        let wrap = format!("set(tunnel(tun_id=0x0,dst={}", node_address(1 - index));
        wait::until(PATIENCE, &format!("flows of {} that tunnel", node.name), || {
            ping_both_ways(&cluster.client, &cluster.server)?;
            let flows = node.switch(&["dpctl/dump-flows"])?;
            let carries = |line: &str| line.contains(&wrap) && !line.contains("packets:0,");
            ensure!(flows.lines().any(carries), "{flows}");
            Ok(true)
        })?;
    }
    Ok(())
}

/// What a Node has sent over the cable.
#[derive(Debug)]
struct Sent {
    bytes: u64,
    packets: u64,
}

impl Sent {
    fn by(node: &str) -> Result<Self> {
        let table = within(node, || fs::read_to_string("/proc/thread-self/net/dev").context("no devices"))?;
        let line = table.lines().find_map(|line| line.trim().strip_prefix(UPLINK)?.strip_prefix(':'));
        let numbers: Vec<u64> =
            line.unwrap_or_default().split_whitespace().filter_map(|number| number.parse().ok()).collect();
        let (bytes, packets) = numbers.get(8).zip(numbers.get(9)).context("no counters of the cable")?;
        Ok(Self { bytes: *bytes, packets: *packets })
    }

    fn since(&self, before: &Self) -> Self {
        Self { bytes: self.bytes - before.bytes, packets: self.packets - before.packets }
    }
}
