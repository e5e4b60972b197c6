//! A real Open vSwitch with the bridges of both Nodes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use antrea_ovs::openflow::Connection;
use antrea_ovs::testing::{OvsProcess, why_unavailable};
use antrea_ovs::{FlowEdit, FlowSet, Round, Switch, unixctl};
use antrea_pipeline::policy::FlowChange;
use antrea_policy_reference::Options;
use antrea_types::OfPort;
use tokio::runtime::Runtime;

use crate::node::{NODES, Node};

/// The set of flows of all policies.
const POLICIES: &str = "policies";

/// Nobody but the tests changes the switches: they need not be looked after.
const SELDOM: Duration = Duration::from_secs(3600);

/// Both Nodes' switches, with everything that does not depend on policies.
pub(crate) struct Lab {
    pub(crate) nodes: [Node; 2],
    switches: [Switch; 2],
    control_socket: PathBuf,
    runtime: Runtime,
    // Its daemons end last.
    _ovs: OvsProcess,
}

impl Lab {
    /// With room for the Pods of random clusters; none where there cannot be one, which is then said.
    pub(crate) fn start(options: &Options) -> Option<Self> {
        if let Some(reason) = why_not() {
            println!("SKIPPED {}: {reason}", std::thread::current().name().unwrap_or("a test"));
            return None;
        }
        // As many come and go as half of those that stay.
        let hosts = 2..2 + u8::try_from(options.pods + options.pods / 2).unwrap();
        let place = |host: u8| (1 + host % 2, host);
        let pods: Vec<(u8, u8)> = hosts.map(place).collect();
        let nodes = NODES.map(|number| {
            let own = pods.iter().filter(|(node, _)| *node == number);
            Node::new(number, own.map(|(_, host)| *host).collect())
        });
        let ovs = OvsProcess::start().unwrap();
        nodes.iter().for_each(|node| add_bridge(&ovs, node));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.unwrap();
        let switches = nodes.each_ref().map(|node| {
            let _guard = runtime.enter();
            let (connection, _) = Connection::open(ovs.management_socket(&node.name()));
            Switch::checked_every(SELDOM, connection, Round::next(None), Vec::new())
        });
        let control_socket = ovs.directory().join("vswitchd.ctl");
        for (node, switch) in nodes.iter().zip(&switches) {
            let set = FlowSet { flows: node.flows(), meters: node.pipeline.meters(), groups: Vec::new() };
            runtime.block_on(switch.apply("node", set)).unwrap();
        }
        Some(Self { nodes, switches, control_socket, runtime, _ovs: ovs })
    }

    /// Changes the flows of policies on a Node, all at once.
    pub(crate) fn change(&self, node: usize, changes: Vec<FlowChange>) {
        let edits = changes.into_iter().map(|change| match change {
            FlowChange::Add(flow) | FlowChange::Modify(flow) => FlowEdit::Put(flow),
            FlowChange::Delete(flow) => FlowEdit::Remove(flow),
        });
        let edits = edits.collect();
        self.runtime.block_on(async { self.switches[node].edit(POLICIES, edits).done().await }).unwrap();
    }

    /// Gives the switch of a Node, which an earlier agent has left as it is, the flows that a new one begins with.
    pub(crate) fn replace(&self, node: usize, changes: Vec<FlowChange>) {
        let flows = changes.into_iter().filter_map(|change| match change {
            FlowChange::Add(flow) | FlowChange::Modify(flow) => Some(flow),
            FlowChange::Delete(_) => None,
        });
        let flows: Vec<_> = flows.collect();
        self.runtime.block_on(self.switches[node].apply(POLICIES, flows)).unwrap();
    }

    /// What the switch of a Node does with a packet, as `ovs-appctl ofproto/trace` prints it.
    pub(crate) fn trace(&self, node: usize, packet: &str) -> String {
        let bridge = self.nodes[node].name();
        let arguments = ["--names", &bridge, packet];
        let answer = unixctl::command(&self.control_socket, "ofproto/trace", &arguments);
        self.runtime.block_on(answer).unwrap_or_else(|error| panic!("{packet}: {error}"))
    }
}

/// Why there cannot be one, if there cannot.
fn why_not() -> Option<String> {
    if !Path::new("/dev/net/tun").exists() {
        return Some("the userspace datapath needs /dev/net/tun".to_owned());
    }
    why_unavailable()
}

fn add_bridge(ovs: &OvsProcess, node: &Node) {
    let bridge = node.name();
    let mut command = format!(
        "add-br {bridge} -- set bridge {bridge} datapath_type=netdev fail-mode=secure protocols=OpenFlow15"
    );
    let mut add = |name: &str, number, settings: &str| {
        let port = format!(" -- add-port {bridge} {name} -- set interface {name} ofport_request={number}");
        command.push_str(&format!("{port} {settings}"));
    };
    // Tunnels of one switch are told apart by their ports.
    let (own, _) = node.numbers();
    let tunnel = format!(
        "type=geneve options:key=flow options:remote_ip=flow options:dst_port={}",
        6080 + u16::from(own)
    );
    add(&node.gateway_name(), OfPort::GATEWAY, "type=internal");
    add(&format!("tun{own}"), OfPort::TUNNEL, &tunnel);
    for (name, number) in node.ports() {
        add(&name, number, "type=internal");
    }
    ovs.vsctl(command.split_whitespace()).unwrap();
}
