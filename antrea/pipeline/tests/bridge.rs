//! A real Open vSwitch with the flows of a Node, in a network namespace of its own.

use std::fmt::{Display, Write as _};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use antrea_ovs::testing::{OvsProcess, why_unavailable};
use antrea_pipeline::service::ServiceProxy;
use antrea_types::{IpFamily, OfPort};

use crate::cluster::{BridgeNames, DUAL, POD_A, POD_B, all_flows, node, peers, pods, services};
use crate::served::{self, Served, answering_directly, everything};

/// The ends of the tunnel of a packet from node 2: IPv6 goes over IPv6.
pub(crate) const fn from_node_2(family: IpFamily) -> &'static str {
    match family {
        IpFamily::V4 => "tun_src=172.18.0.2,tun_dst=172.18.0.1",
        IpFamily::V6 => "tun_ipv6_src=fd00:18::2,tun_ipv6_dst=fd00:18::1",
    }
}

/// The bridge of a dual-stack Node with two Pods and two peers. The underlay is a bridge beside it, as the userspace
/// datapath wants it.
pub(crate) struct Bridge {
    pub(crate) ovs: OvsProcess,
    pub(crate) names: BridgeNames,
}

/// The bridge that the tests running now share; none where there cannot be one, which is then said.
pub(crate) fn bridge() -> Option<Arc<Bridge>> {
    static SHARED: Mutex<Weak<Bridge>> = Mutex::new(Weak::new());
    shared(&SHARED, || {
        let pipeline = node(DUAL, services());
        Bridge::start(BridgeNames::of(&pipeline), &all_flows(&pipeline, &pods(DUAL), &peers(DUAL)), &[""; 0])
    })
}

/// The bridge of such a Node that serves Services itself.
pub(crate) fn service_bridge() -> Option<Arc<Bridge>> {
    static SHARED: Mutex<Weak<Bridge>> = Mutex::new(Weak::new());
    shared(&SHARED, || Bridge::serving(everything(DUAL)))
}

/// As [`service_bridge`], with endpoints that may answer directly.
pub(crate) fn direct_bridge() -> Option<Arc<Bridge>> {
    static SHARED: Mutex<Weak<Bridge>> = Mutex::new(Weak::new());
    shared(&SHARED, || Bridge::serving(answering_directly(DUAL)))
}

pub(crate) fn shared(bridge: &Mutex<Weak<Bridge>>, start: impl FnOnce() -> Bridge) -> Option<Arc<Bridge>> {
    if let Some(reason) = why_not() {
        println!("SKIPPED {}: {reason}", std::thread::current().name().unwrap_or("a test"));
        return None;
    }
    let mut shared = bridge.lock().unwrap_or_else(PoisonError::into_inner);
    let bridge = shared.upgrade().unwrap_or_else(|| Arc::new(start()));
    *shared = Arc::downgrade(&bridge);
    Some(bridge)
}

/// Why there cannot be one, if there cannot.
pub(crate) fn why_not() -> Option<String> {
    if !Path::new("/dev/net/tun").exists() {
        return Some("the userspace datapath needs /dev/net/tun".to_owned());
    }
    why_unavailable()
}

impl Bridge {
    /// With the flows of a Node that serves Services.
    fn serving(proxy: ServiceProxy) -> Self {
        let groups = Served::by(&proxy, DUAL);
        let pipeline = served::node(DUAL, proxy);
        let flows = served::node_flows(&pipeline, DUAL);
        Self::start(BridgeNames::of(&pipeline), &flows, &groups.groups(&pipeline))
    }

    pub(crate) fn start<F: Display, G: Display>(names: BridgeNames, flows: &[F], groups: &[G]) -> Self {
        let bridge = Self { ovs: OvsProcess::start().unwrap(), names };
        bridge.add_ports();
        for (meter, rate) in [(259, 5000), (260, 100)] {
            let text =
                format!("meter={meter},pktps,burst,band=type=drop,rate={rate},burst_size={}", 2 * rate);
            bridge.ovs.ofctl(["add-meter", "br-int", &text]).unwrap();
        }
        for (command, text) in [("add-groups", lines(groups)), ("replace-flows", lines(flows))] {
            let file = bridge.ovs.directory().join(command);
            fs::write(&file, text).unwrap();
            bridge.ovs.ofctl([command, "br-int", &file.display().to_string()]).unwrap();
        }
        bridge
    }

    fn add_ports(&self) {
        let bridges = "add-br br-phy -- set bridge br-phy datapath_type=netdev \
            -- add-br br-int -- set bridge br-int datapath_type=netdev fail-mode=secure protocols=OpenFlow15";
        self.ovs.vsctl(bridges.split_whitespace()).unwrap();
        let tunnel = "type=geneve options:key=flow options:remote_ip=flow";
        for (name, number, settings) in [
            ("antrea-gw0", OfPort::GATEWAY, "type=internal"),
            ("antrea-tun0", OfPort::TUNNEL, tunnel),
            ("pod-a", POD_A, "type=internal"),
            ("pod-b", POD_B, "type=internal"),
            ("stranger", OfPort(9), "type=internal"),
        ] {
            let text =
                format!("add-port br-int {name} -- set interface {name} ofport_request={number} {settings}");
            self.ovs.vsctl(text.split_whitespace()).unwrap();
        }
        for arguments in [
            "address add 172.18.0.1/16 dev br-phy",
            "address add fd00:18::1/64 dev br-phy nodad",
            "link set br-phy up",
        ] {
            self.ovs.ip(arguments.split_whitespace()).unwrap();
        }
    }

    /// Its OpenFlow socket.
    pub(crate) fn management_socket(&self) -> PathBuf {
        self.ovs.management_socket("br-int")
    }

    /// The flows as the switch prints them, without names.
    pub(crate) fn dump(&self) -> String {
        self.ovs.ofctl(["--no-stats", "--no-names", "dump-flows", "br-int"]).unwrap()
    }

    /// The way of a packet that opens a connection, as `ovs-appctl ofproto/trace` knows it: for each pass through the
    /// switch (connection tracking begins a new one) the tables and what then happens to the packet.
    pub(crate) fn walk(&self, packet: &str) -> String {
        self.walk_in("trk,new", packet)
    }

    /// The way of a packet of a connection in this state; `ct_mark` in `packet` is the connection's.
    pub(crate) fn walk_in(&self, state: &str, packet: &str) -> String {
        let arguments = ["ofproto/trace", "--names", "br-int", packet, "--ct-next", state];
        summary(&self.ovs.appctl(arguments).unwrap(), &self.names)
    }
}

fn lines<T: Display>(objects: &[T]) -> String {
    objects.iter().fold(String::new(), |mut text, object| {
        writeln!(text, "{object}").unwrap();
        text
    })
}

/// One line for each pass: the tables of br-int, then what they do to the packet.
fn summary(trace: &str, names: &BridgeNames) -> String {
    let (mut tables, mut lines, mut outcome) = (Vec::new(), Vec::new(), Vec::new());
    let mut inside = true;
    for line in trace.lines() {
        if let Some(bridge) = line.strip_prefix("bridge(") {
            inside = bridge.starts_with("\"br-int\"");
        } else if let Some(actions) = line.strip_prefix("Datapath actions: ") {
            // The underlay has no other end: what enters the tunnel is dropped after that.
            let shown = Some(readable(actions)).filter(|actions| outcome.is_empty() || actions != "drop");
            outcome.splice(..0, shown);
            lines.push(format!("{}: {}", tables.join(" > "), outcome.join(",")));
            (tables, outcome) = (Vec::new(), Vec::new());
        } else if let Some(far_end) = line.trim_start().strip_prefix("-> tunneling to ") {
            outcome.push(format!("tunnel to {}", far_end.split_whitespace().next().unwrap()));
        } else if let Some(table) = names.of_trace_line(line).filter(|_| inside) {
            tables.push(table);
        }
    }
    lines.join("\n")
}

/// Without the marks of recirculation, and what goes to several ports in the order of their names.
fn readable(actions: &str) -> String {
    let actions = actions.split(",recirc(").next().unwrap_or(actions);
    let mut ports: Vec<&str> = actions.split(',').collect();
    if !actions.contains('(') {
        ports.sort_unstable();
    }
    ports.join(",")
}
