//! The iptables rules, IP sets and sysctls of a Node that carries Pod traffic.

use antrea_types::{DualStack, IpFamily, TunnelTraffic};
use ipnet::IpNet;

use crate::iptables::{
    BuiltinChain, InterfaceIs, Layer4, Match, Port, Rule, Ruleset, SetDirection, SourcePorts, Table,
    TableRules, Target,
};
use crate::service_rules::{
    node_port_dnat, untracked_incoming, untracked_outgoing, virtual_source_masquerade,
};
use crate::service_traffic::service_sets;
use crate::{ExternalMasquerade, HostConfig, HostPlan, IpSet, ServiceTraffic, Sysctl};

/// Marks packets that the Node itself sends to its Pods, so that no policy applies to the kubelet's probes.
pub(crate) const HOST_LOCAL_SOURCE_MARK: u32 = 0x8000_0000;

/// The name of the IP set that holds the Pod CIDRs of all Nodes.
const fn pod_ip_set(family: IpFamily) -> &'static str {
    match family {
        IpFamily::V4 => "ANTREA-POD-IP",
        IpFamily::V6 => "ANTREA-POD-IP6",
    }
}

/// The name of the IP set that holds the far ends of tunnels.
const fn far_end_ip_set(family: IpFamily) -> &'static str {
    match family {
        IpFamily::V4 => "ANTREA-TUNNEL-IP",
        IpFamily::V6 => "ANTREA-TUNNEL-IP6",
    }
}

/// Computes what a Node needs. IP sets are always there for both families, as upstream has them.
pub fn host_rules(config: &HostConfig) -> HostPlan {
    let mut rulesets = config.own_pod_cidrs.map(|pod_cidr| ruleset(config, pod_cidr));
    if config.tunnel == Some(TunnelTraffic::Gre) {
        rulesets.v4.get_or_insert_with(|| gre_rules(config));
    }
    HostPlan {
        ip_sets: ip_sets(config),
        unwanted_ip_sets: match config.services {
            ServiceTraffic::ByHost => service_sets().into(),
            ServiceTraffic::ByAgent(_) => Vec::new(),
        },
        tunnel_drops: tunnel_drops(config, &rulesets),
        rulesets,
        sysctls: sysctls(config),
    }
}

fn ip_sets(config: &HostConfig) -> Vec<IpSet> {
    let pods = IpFamily::ALL.map(|family| IpSet::of_nets(pod_ip_set(family), family, &config.pod_cidrs));
    let far_ends = config.tunnel.into_iter().flat_map(|_| {
        IpFamily::ALL.map(|family| IpSet::of_ips(far_end_ip_set(family), family, &config.far_ends))
    });
    let of_services = config.services.agent().into_iter().flat_map(|agent| agent.ip_sets());
    pods.into_iter().chain(far_ends).chain(of_services).collect()
}

fn sysctls(config: &HostConfig) -> Vec<Sysctl> {
    let mut sysctls = Vec::new();
    if config.own_pod_cidrs.v4.is_some() {
        sysctls.push(Sysctl::new("net/ipv4/ip_forward", 1));
        // ARP requests to Pods carry the gateway's own address.
        sysctls.push(Sysctl::ipv4_of_interface(&config.gateway, "arp_announce", 1));
    }
    if config.own_pod_cidrs.v6.is_some() {
        sysctls.push(Sysctl::new("net/ipv6/conf/all/forwarding", 1));
    }
    sysctls
}

fn ruleset(config: &HostConfig, pod_cidr: IpNet) -> Ruleset {
    Ruleset {
        tables: [
            (Table::Raw, raw(config, IpFamily::of_net(&pod_cidr), &config.services)),
            (Table::Mangle, mangle(config, IpFamily::of_net(&pod_cidr))),
            (Table::Nat, nat(config, pod_cidr)),
            (Table::Filter, filter(config, IpFamily::of_net(&pod_cidr))),
        ]
        .into(),
    }
}

/// Where Pods have IPv6 alone: GRE carries that over IPv4.
fn gre_rules(config: &HostConfig) -> Ruleset {
    let raw = raw(config, IpFamily::V4, &ServiceTraffic::ByHost);
    let filter = TableRules::default()
        .with(BuiltinChain::Input, tunnel_input(config, IpFamily::V4))
        .with(BuiltinChain::Output, tunnel_output(config, IpFamily::V4));
    Ruleset { tables: [(Table::Raw, raw), (Table::Filter, filter)].into() }
}

/// For families without a ruleset. The kernel takes UDP tunnel packets of both families, whichever of them Pods have, and has no
/// flows for those of the other one: each that is accepted costs ovs-vswitchd. So they are dropped in table mangle, before
/// others accept them in table filter.
fn tunnel_drops(config: &HostConfig, rulesets: &DualStack<Ruleset>) -> DualStack<Ruleset> {
    let mut drops = DualStack::default();
    for family in IpFamily::ALL.into_iter().filter(|family| rulesets.get(*family).is_none()) {
        if let Some(drop) = drop_of_strangers(config, family) {
            let mangle = TableRules::default().with(BuiltinChain::Input, vec![drop]);
            drops.insert(family, Ruleset { tables: [(Table::Mangle, mangle)].into() });
        }
    }
    drops
}

/// Tunnel traffic as rules of a family see it: none for GRE over IPv6, which Open vSwitch does not send.
fn tunnel_layer4(config: &HostConfig, family: IpFamily) -> Option<Layer4> {
    match (config.tunnel?, family) {
        (TunnelTraffic::Udp(port), _) => Some(Layer4::Udp(Port::Destination(port))),
        (TunnelTraffic::Gre, IpFamily::V4) => Some(Layer4::Gre),
        (TunnelTraffic::Gre, IpFamily::V6) => None,
    }
}

/// Tunnel traffic is not tracked: its addresses and ports say nothing of the connections inside.
fn raw(config: &HostConfig, family: IpFamily, services: &ServiceTraffic) -> TableRules {
    let (mut incoming, mut outgoing) = (Vec::new(), Vec::new());
    if let Some(layer4) = tunnel_layer4(config, family) {
        let rule = |comment| Rule::new(comment, Target::NoTrack).layer4(layer4);
        incoming.push(rule("do not track incoming encapsulation packets").matching(Match::DestinationLocal));
        outgoing.push(rule("do not track outgoing encapsulation packets").matching(Match::SourceLocal));
    }
    if services.agent().is_some() {
        incoming.extend(untracked_incoming(family));
        outgoing.push(untracked_outgoing(family));
    }
    TableRules::default().with(BuiltinChain::Prerouting, incoming).with(BuiltinChain::Output, outgoing)
}

/// Packets that the Node sends to a Service go to the gateway only once the Service's address is translated, which is after
/// OUTPUT. Source addresses are translated later. What is forwarded passes POSTROUTING, too, and may have an address of this Node
/// as its source: the kernel refuses that for IPv4 only.
fn mangle(config: &HostConfig, family: IpFamily) -> TableRules {
    let mark = |comment| {
        let rule = Rule::new(comment, Target::OrMark(HOST_LOCAL_SOURCE_MARK));
        rule.output(InterfaceIs::Only(config.gateway.clone())).matching(Match::SourceLocal)
    };
    let of_socket = mark("mark LOCAL packets to Services").matching(Match::OfSocket);
    let forged = forged_tunnel_packets(config, family);
    // Packets to Pods may have any port.
    let to_others = |rule: &Rule| rule.clone().output(InterfaceIs::Not(config.gateway.clone()));
    TableRules::default()
        .with(BuiltinChain::Prerouting, Vec::new())
        .with(BuiltinChain::Forward, forged.iter().map(to_others).collect())
        .with(BuiltinChain::Input, forged)
        .with(BuiltinChain::Output, vec![mark("mark LOCAL output packets")])
        .with(BuiltinChain::Postrouting, vec![of_socket])
}

/// A forged tunnel packet leaves with this Node's address, so peers would accept any Pod of this Node as its inner source: what
/// Pods send to a tunnel endpoint, and what a Service translates to one. The bridge drops what Pods send there, but does not see what kube-proxy makes of a packet. Here
/// destinations are translated, and nobody has accepted the packet yet, as others may in table filter.
fn forged_tunnel_packets(config: &HostConfig, family: IpFamily) -> Vec<Rule> {
    let Some(layer4) = tunnel_layer4(config, family) else { return Vec::new() };
    let drop = |comment| Rule::new(comment, Target::Drop).layer4(layer4);
    vec![
        drop("drop encapsulation packets from Pods").input(InterfaceIs::Only(config.gateway.clone())),
        drop("drop encapsulation packets to Services").matching(Match::Translated),
    ]
}

/// Drops UDP tunnel packets from unknown sources before the rule that opens the port. GRE has no port and may belong to another
/// tunnel of the host, so it is only accepted from peers and otherwise left to the host's rules. The bridge drops packets of
/// unknown sources even if another rule accepts them first. Upstream's agent rebuilds this chain without these rules; it would
/// not keep the set up to date.
fn tunnel_input(config: &HostConfig, family: IpFamily) -> Vec<Rule> {
    let Some(layer4) = tunnel_layer4(config, family) else { return Vec::new() };
    let allow = Rule::new("allow tunnel input packets", Target::Accept).layer4(layer4);
    match drop_of_strangers(config, family) {
        Some(drop) => vec![drop, allow],
        None => {
            vec![allow.matching(Match::InSet(far_end_ip_set(family).to_owned(), SetDirection::Source))]
        }
    }
}

fn drop_of_strangers(config: &HostConfig, family: IpFamily) -> Option<Rule> {
    let udp = tunnel_layer4(config, family).filter(|layer4| *layer4 != Layer4::Gre)?;
    let drop = Rule::new("drop tunnel input packets from unknown peers", Target::Drop).layer4(udp);
    Some(drop.matching(Match::NotInSet(far_end_ip_set(family).to_owned(), SetDirection::Source)))
}

fn tunnel_output(config: &HostConfig, family: IpFamily) -> Vec<Rule> {
    let allow = |layer4| Rule::new("allow tunnel output packets", Target::Accept).layer4(layer4);
    tunnel_layer4(config, family).map(allow).into_iter().collect()
}

fn nat(config: &HostConfig, pod_cidr: IpNet) -> TableRules {
    let mut rules = Vec::new();
    if let ExternalMasquerade::On(source_ports) = config.external_masquerade {
        let pods = pod_ip_set(IpFamily::of_net(&pod_cidr)).to_owned();
        let rule = Rule::new("masquerade Pod to external packets", Target::Masquerade(source_ports))
            .source(pod_cidr.trunc())
            .output(InterfaceIs::Not(config.gateway.clone()))
            .matching(Match::NotInSet(pods, SetDirection::Destination));
        rules.push(rule);
    }
    // Pods answer to the gateway only: a local source that is not the gateway's own would not find the way back.
    let local = Rule::new("masquerade LOCAL traffic", Target::Masquerade(SourcePorts::RandomFully))
        .output(InterfaceIs::Only(config.gateway.clone()))
        .matching(Match::SourceNotOfOutput)
        .matching(Match::SourceLocal);
    rules.push(local);
    if config.services.agent().is_none() {
        return TableRules::default().with(BuiltinChain::Postrouting, rules);
    }
    let family = IpFamily::of_net(&pod_cidr);
    rules.push(virtual_source_masquerade(family));
    let node_ports = |whose: &str| vec![node_port_dnat(&format!("DNAT {whose} to NodePort packets"), family)];
    TableRules::default()
        .with_first(BuiltinChain::Prerouting, node_ports("external"))
        .with_first(BuiltinChain::Output, node_ports("local"))
        .with(BuiltinChain::Postrouting, rules)
}

fn filter(config: &HostConfig, family: IpFamily) -> TableRules {
    let gateway = || InterfaceIs::Only(config.gateway.clone());
    let accept = |comment: &str| Rule::new(comment, Target::Accept);
    let forward = vec![
        accept("accept packets from local Pods").input(gateway()),
        accept("accept packets to local Pods").output(gateway()),
    ];
    let (mut input, mut output) = (tunnel_input(config, family), tunnel_output(config, family));
    if let Some(port) = config.services.agent().and_then(|agent| agent.health_check_port) {
        server("allow proxy health check", port, &mut input, &mut output);
    }
    server("allow Agent APIServer", config.agent_api_port, &mut input, &mut output);
    if let Some(port) = config.membership_port {
        membership(port, &mut input, &mut output);
    }
    TableRules::default()
        .with(BuiltinChain::Input, input)
        .with(BuiltinChain::Forward, forward)
        .with(BuiltinChain::Output, output)
}

/// A TCP server on this Node.
fn server(comment: &str, port: u16, input: &mut Vec<Rule>, output: &mut Vec<Rule>) {
    let layer4 = Layer4::Tcp(Port::Destination(port));
    input.push(Rule::new(&format!("{comment} input packets"), Target::Accept).layer4(layer4));
    output.push(established(&format!("{comment} reply packets"), port));
}

/// Agents talk to each other both ways, over TCP and UDP.
fn membership(port: u16, input: &mut Vec<Rule>, output: &mut Vec<Rule>) {
    for (rules, direction, reply) in [(input, "input", "reply input"), (output, "output", "reply")] {
        let comment = |what: &str| format!("allow Agent cluster memberships {what} packets");
        let tcp = Layer4::Tcp(Port::Destination(port));
        let udp = Layer4::Udp(Port::Destination(port));
        rules.push(Rule::new(&comment(&format!("TCP {direction}")), Target::Accept).layer4(tcp));
        rules.push(established(&comment(&format!("TCP {reply}")), port));
        rules.push(Rule::new(&comment(&format!("UDP {direction}")), Target::Accept).layer4(udp));
    }
}

/// Packets of TCP servers to clients that are connected.
fn established(comment: &str, port: u16) -> Rule {
    Rule::new(comment, Target::Accept).layer4(Layer4::Tcp(Port::Source(port))).matching(Match::Established)
}
