//! What happens to single packets in a real Open vSwitch with connection tracking and address translation, which
//! `ofproto/trace` leaves out.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use antrea_types::OfPort;

use crate::bridge::Bridge;
use crate::packets::Packet;

/// A flow: its table, and the rest of it as text.
type FlowText = (u8, String);

/// The way of a packet.
pub(crate) struct Passage {
    /// The flows that it met, and how often.
    flows: BTreeMap<FlowText, u64>,
    /// How often it began anew behind connection tracking.
    pub(crate) recirculations: u64,
    /// The connections of its client's port that are known afterwards.
    pub(crate) connections: Vec<String>,
    names: Vec<&'static str>,
}

/// The tables whose actions are of interest beyond their name.
const SHOWN: [&str; 4] = ["L3Forwarding", "L2ForwardingCalc", "Output", "EndpointDNAT"];

impl Passage {
    /// How many tables the packet came to, one counted as often as it came there.
    pub(crate) fn lookups(&self) -> u64 {
        self.flows.values().sum()
    }

    /// Whether it left by a port.
    pub(crate) fn reaches_output(&self) -> bool {
        self.flows
            .keys()
            .any(|(_, text)| text.contains("actions=output:") || text.contains("actions=IN_PORT"))
    }

    /// The port that it left by, found by its MAC.
    pub(crate) fn leaves_by(&self) -> Option<OfPort> {
        let found = self.flows.keys().filter(|(table, _)| self.name(*table) == "L2ForwardingCalc");
        let port = |text: &str| {
            u32::from_str_radix(text.split_once("set_field:0x")?.1.split_once("->reg1")?.0, 16).ok()
        };
        let port = found.filter_map(|(_, text)| port(text)).next();
        port.filter(|_| self.reaches_output()).map(OfPort)
    }

    /// What was done to the packet once its destination was known.
    pub(crate) fn forwarding(&self) -> Vec<&FlowText> {
        let forwards = |table: &u8| self.name(*table) != "EndpointDNAT" && SHOWN.contains(&self.name(*table));
        self.flows.keys().filter(|(table, _)| forwards(table)).collect()
    }

    fn name(&self, table: u8) -> &'static str {
        self.names.get(usize::from(table)).copied().unwrap_or("?")
    }

    fn tables(&self) -> String {
        let mut times: BTreeMap<u8, u64> = BTreeMap::new();
        for ((table, _), count) in &self.flows {
            *times.entry(*table).or_default() += count;
        }
        let text = |(table, count): (&u8, &u64)| match count {
            1 => self.name(*table).to_owned(),
            count => format!("{} ({count})", self.name(*table)),
        };
        times.iter().map(text).collect::<Vec<_>>().join(" > ")
    }
}

/// The tables that were visited, in the order of their numbers; what some of them did; the connections.
impl fmt::Display for Passage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  recirculations: {}", self.tables(), self.recirculations)?;
        for ((table, text), _) in
            self.flows.iter().filter(|((table, _), _)| SHOWN.contains(&self.name(*table)))
        {
            let actions = text.split_once("actions=").map_or("", |(_, actions)| actions);
            let own = actions.split("goto_table:").next().unwrap_or(actions).trim_end_matches(',');
            if !own.is_empty() {
                write!(f, "\n  {}: {own}", self.name(*table))?;
            }
        }
        self.connections.iter().try_for_each(|connection| write!(f, "\n  {}", masked(connection)))
    }
}

/// The port of a connection's client, and the one that answers come to.
pub(crate) fn client_ports(connection: &str) -> Option<(u16, u16)> {
    let (original, reply) = connection.split_once("reply=(")?;
    let number = |text: &str, key: &str| text.split_once(key)?.1.split([',', ')']).next()?.parse().ok();
    Some((number(original, "sport=")?, number(reply, "dport=")?))
}

/// Without the port of a translated source, which Open vSwitch draws.
fn masked(connection: &str) -> String {
    match client_ports(connection) {
        Some((client, answered)) if client != answered => {
            connection.replace(&format!("dport={answered})"), "dport=drawn)")
        }
        _ => connection.to_owned(),
    }
}

impl Bridge {
    /// The port that answers to a client's port come to: another one where its source was translated.
    pub(crate) fn answered_at(&self, client: u16) -> u16 {
        let connections = self.connections();
        let mut ports = connections.iter().filter_map(|text| client_ports(text));
        ports.find(|(port, answered)| *port == client && answered != port).map_or(client, |(_, port)| port)
    }

    /// Sends a packet as if it came in by its port, alone.
    pub(crate) fn send(&self, packet: &Packet) -> Passage {
        static ALONE: Mutex<()> = Mutex::new(());
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let (before, recirculated) = (self.flow_counts(), self.recirculations());
        let bytes: String = packet.bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        let tunnel = packet.far_end().map_or_else(String::new, |far_end| match far_end {
            IpAddr::V4(far_end) => format!("set_field:{far_end}->tun_src,"),
            IpAddr::V6(far_end) => format!("set_field:{far_end}->tun_ipv6_src,"),
        });
        let text = format!("in_port={},packet={bytes},actions={tunnel}resubmit(,0)", packet.in_port);
        self.ovs.ofctl(["packet-out", "br-int", &text]).unwrap();
        let mut flows = self.flow_counts();
        for (flow, count) in &mut flows {
            *count -= before.get(flow).copied().unwrap_or_default();
        }
        flows.retain(|_, count| *count > 0);
        let recirculations = self.recirculations() - recirculated;
        let client = packet.ports.map(|port| [format!("port={port},"), format!("port={port})")]);
        let mut connections = self.connections();
        connections
            .retain(|connection| client.iter().all(|port| port.iter().any(|text| connection.contains(text))));
        let names = self.names.tables.iter().map(|(_, name)| *name).collect();
        Passage { flows, recirculations, connections, names }
    }

    /// How many packets each flow has matched.
    fn flow_counts(&self) -> BTreeMap<FlowText, u64> {
        self.ovs.appctl(["revalidator/purge"]).unwrap();
        let dump = self.ovs.ofctl(["--no-names", "dump-flows", "br-int"]).unwrap();
        dump.lines().filter_map(count).collect()
    }

    /// How many packets the datapath has looked at anew.
    fn recirculations(&self) -> u64 {
        let text = self.ovs.appctl(["dpif-netdev/pmd-stats-show"]).unwrap();
        let counts = text.lines().filter_map(|line| line.trim().strip_prefix("packet recirculations: "));
        counts.map(|count| count.parse::<u64>().unwrap()).sum()
    }

    /// The connections that are known, without their states.
    pub(crate) fn connections(&self) -> Vec<String> {
        let text = self.ovs.appctl(["dpctl/dump-conntrack"]).unwrap();
        let lines = text.lines().map(|line| line.split(",protoinfo").next().unwrap_or(line).to_owned());
        let mut lines: Vec<String> = lines.collect();
        lines.sort_unstable();
        lines
    }

    /// The flows that the switch has learned, without what they counted.
    pub(crate) fn learned(&self) -> String {
        let dump = self.dump();
        let learned = dump.lines().filter(|line| line.contains("_timeout=") && !line.contains("learn("));
        learned.map(str::trim).collect::<Vec<_>>().join("\n")
    }
}

/// A line of `dump-flows`; what is not a flow is left out.
fn count(line: &str) -> Option<(FlowText, u64)> {
    let table = line.split_once(" table=")?.1.split(',').next()?.parse().ok()?;
    let packets = line.split_once("n_packets=")?.1.split(',').next()?.parse().ok()?;
    let text = line.split_once("priority=")?.1.to_owned();
    Some(((table, text), packets))
}
