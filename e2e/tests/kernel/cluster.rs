//! Two Nodes with a cable between them, two Pods on the first and one on the second. Tests share them, one after the
//! other; one that fails leaves none to the next.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};

use antrea_e2e::command::{Run as _, command};
use antrea_e2e::{guest, wait};
use anyhow::{Context, Result, ensure};

use crate::namespace::program_in;
use crate::node::{Node, PATIENCE, ServiceProxy};
use crate::pod::Pod;

/// Names of Nodes; the place in this list is part of their addresses.
const NODES: [&str; 2] = ["node-a", "node-b"];

/// The cable's end in a Node.
pub(crate) const UPLINK: &str = "eth0";

pub(crate) struct Cluster {
    pub(crate) a: Node,
    pub(crate) b: Node,
    /// Both on Node a.
    pub(crate) client: Pod,
    pub(crate) neighbour: Pod,
    /// On Node b.
    pub(crate) server: Pod,
    tunnel: Tunnel,
    /// What the kernel of each Node lost while Open vSwitch was away, or waited for its flows.
    lost: Vec<u64>,
}

/// The tunnel between the Nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tunnel {
    Geneve,
    Vxlan,
    Gre,
}

impl Tunnel {
    /// As the agent's configuration has it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Geneve => "geneve",
            Self::Vxlan => "vxlan",
            Self::Gre => "gre",
        }
    }

    /// The device that Open vSwitch makes for it in the kernel.
    pub(crate) const fn device(self) -> &'static str {
        match self {
            Self::Geneve => "genev_sys_6081",
            Self::Vxlan => "vxlan_sys_4789",
            Self::Gre => "gre_sys",
        }
    }
}

/// Runs a test on the cluster with Geneve. Where this is no guest it prints so and returns.
///
/// # Panics
/// When the test fails; what the Nodes logged is printed before.
pub(crate) fn with_cluster(name: &str, test: impl FnOnce(&mut Cluster) -> Result<()>) {
    with_tunnel(name, Tunnel::Geneve, test);
}

/// As [`with_cluster`], with any tunnel.
pub(crate) fn with_tunnel(name: &str, tunnel: Tunnel, test: impl FnOnce(&mut Cluster) -> Result<()>) {
    static SHARED: Mutex<Option<Cluster>> = Mutex::new(None);
    if std::env::var_os(guest::MARK).is_none() {
        println!("SKIPPED {name}: it is for a guest; `cargo xtask test` starts one");
        return;
    }
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    let cluster = shared.take().map_or_else(Cluster::start, Ok);
    let test = |cluster: &mut Cluster| cluster.change_tunnel(tunnel).and_then(|()| test(cluster));
    let result = cluster.and_then(|cluster| run(cluster, test)).map(|cluster| *shared = Some(cluster));
    assert!(result.is_ok(), "{name}: {:?}", result.err());
}

/// The cluster again, when the test passes.
fn run(mut cluster: Cluster, test: impl FnOnce(&mut Cluster) -> Result<()>) -> Result<Cluster> {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        test(&mut cluster).and_then(|()| cluster.ensure_nothing_was_lost())
    }));
    if !matches!(outcome, Ok(Ok(()))) {
        cluster.print_logs();
    }
    outcome.unwrap_or_else(|cause| resume_unwind(cause)).map(|()| cluster)
}

impl Cluster {
    fn start() -> Result<Self> {
        wait_for_processors()?;
        let mut a = Node::create(NODES[0])?;
        let mut b = Node::create(NODES[1])?;
        connect()?;
        let pods = start_nodes(&mut a, &mut b).and_then(|()| {
            Ok((Pod::create(&a, "client")?, Pod::create(&a, "neighbour")?, Pod::create(&b, "server")?))
        });
        match pods {
            Ok((client, neighbour, server)) => {
                let lost = vec![a.lost()?, b.lost()?];
                Ok(Self { a, b, client, neighbour, server, tunnel: Tunnel::Geneve, lost })
            }
            Err(error) => {
                println!("{}{}", a.logs(), b.logs());
                Err(error)
            }
        }
    }

    pub(crate) fn nodes(&self) -> [&Node; 2] {
        [&self.a, &self.b]
    }

    /// Starts the agents again for another tunnel.
    fn change_tunnel(&mut self, tunnel: Tunnel) -> Result<()> {
        if self.tunnel != tunnel {
            for node in [&mut self.a, &mut self.b] {
                node.configure(tunnel, ServiceProxy::Antrea)?;
                node.crash_agent()?;
                node.start_agent()?;
            }
            self.tunnel = tunnel;
        }
        Ok(())
    }

    /// Open vSwitch has answered the kernel whenever it asked about a packet.
    pub(crate) fn ensure_nothing_was_lost(&self) -> Result<()> {
        let lost = vec![self.a.lost()?, self.b.lost()?];
        ensure!(
            lost == self.lost,
            "packets that Open vSwitch did not answer for: {:?}, now {lost:?}",
            self.lost
        );
        Ok(())
    }

    /// What was lost up to now was lost while Open vSwitch was away.
    pub(crate) fn open_vswitch_was_away(&mut self) -> Result<()> {
        self.lost = vec![self.a.lost()?, self.b.lost()?];
        Ok(())
    }

    fn print_logs(&self) {
        println!("{}{}", self.a.logs(), self.b.logs());
    }
}

/// Open vSwitch 3.1 counts the processors again only when the clock is past ten seconds: before, it finds none, and has
/// nobody to answer the kernel.
fn wait_for_processors() -> Result<()> {
    wait::until(PATIENCE, "the guest to be up for ten seconds", || {
        let uptime = fs::read_to_string("/proc/uptime").context("cannot read /proc/uptime")?;
        Ok(uptime.split('.').next().and_then(|seconds| seconds.parse().ok()).is_some_and(|up: u32| up > 10))
    })
}

/// The cable. Its ends do without offloads: what leaves a Node has the size that it has on a wire.
fn connect() -> Result<()> {
    let [a, b] = NODES;
    let cable = ["link", "add", UPLINK, "netns", a, "type", "veth", "peer", "name", UPLINK, "netns", b];
    command("ip", &cable).run()?;
    for (index, node) in NODES.into_iter().enumerate() {
        for address in [format!("{}/24", node_address(index)), format!("{}/64", node_address_v6(index))] {
            command("ip", &["-n", node, "address", "add", &address, "dev", UPLINK, "nodad"]).run()?;
        }
        command("ip", &["-n", node, "link", "set", UPLINK, "up"]).run()?;
        let offloads =
            ["-K", UPLINK, "tso", "off", "gso", "off", "gro", "off", "tx-udp_tnl-segmentation", "off"];
        program_in(node, "ethtool").args(offloads).run()?;
    }
    Ok(())
}

pub(crate) fn node_address(index: usize) -> String {
    format!("172.30.0.{}", index + 1)
}

pub(crate) fn node_address_v6(index: usize) -> String {
    format!("fd00:172:30::{}", index + 1)
}

fn start_nodes(a: &mut Node, b: &mut Node) -> Result<()> {
    for node in [a, b] {
        let objects: Vec<String> =
            NODES.iter().enumerate().map(|(index, name)| object(index, name)).collect();
        node.write("objects/nodes.yaml", &objects.join("---\n"))?;
        node.start_open_vswitch()?;
        node.start_agent()?;
    }
    Ok(())
}

fn object(index: usize, name: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Node\nmetadata: {{name: {name}}}\n\
         spec: {{podCIDR: 10.30.{index}.0/24, podCIDRs: [10.30.{index}.0/24, 'fd00:10:30:{index}::/64']}}\n\
         status: {{addresses: [{{type: InternalIP, address: {}}}, {{type: InternalIP, address: '{}'}}]}}\n",
        node_address(index),
        node_address_v6(index)
    )
}
