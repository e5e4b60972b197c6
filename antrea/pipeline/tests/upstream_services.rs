//! Our flows and groups of Services beside those that upstream Antrea installs for the same ones.
//!
//! `golden/upstream-service-NODE-{flows,groups}.txt`: recorded from upstream Antrea main at fc70f2bb7 (v2.8.0-dev) with
//! proxyAll, a cluster of two Nodes with two Pods each: Services with ClusterIPs, several endpoints, client affinity,
//! NodePorts, LoadBalancer addresses, external IPs, both traffic policies, and without endpoints. What differs is
//! listed here, and nothing else may.

use std::collections::BTreeSet;

use antrea_pipeline::multicluster::Multicluster;
use antrea_pipeline::service::{DirectServerReturn, ExternalTraffic, ServiceProxy, Services};
use antrea_pipeline::{
    Gateway, Peer, PeerNetwork, PeerRoute, Pipeline, PipelineConfig, PodInterface, PolicyEnforcement, Tunnel,
};
use antrea_types::{DualStack, IpFamily, OfPort, TunnelTraffic};

use crate::cluster::{BridgeNames, POD_A, POD_B, all_flows};
use crate::recorded_services::ServiceTable;
use crate::served::Served;
use crate::upstream::{by_design, with_source_of_frame};

/// Upstream's tables by number.
pub(crate) const TABLES: [&str; 30] = [
    "PipelineRootClassifier",
    "ARPSpoofGuard",
    "ARPResponder",
    "Classifier",
    "SpoofGuard",
    "UnSNAT",
    "ConntrackZone",
    "ConntrackState",
    "PreRoutingClassifier",
    "NodePortMark",
    "SessionAffinity",
    "ServiceLB",
    "EndpointDNAT",
    "AntreaPolicyEgressRule",
    "EgressRule",
    "EgressDefaultRule",
    "EgressMetric",
    "L3Forwarding",
    "EgressMark",
    "L3DecTTL",
    "SNATMark",
    "SNAT",
    "L2ForwardingCalc",
    "IngressSecurityClassifier",
    "AntreaPolicyIngressRule",
    "IngressRule",
    "IngressDefaultRule",
    "IngressMetric",
    "ConntrackCommit",
    "Output",
];

/// Tables of features that are not realized: their flows are absent, and a packet that upstream sends to one of them goes
/// to the next realized table instead.
const NOT_REALIZED: &[(&str, &str)] = &[
    // Network policies. The groups that log (type all) go with them.
    ("AntreaPolicyEgressRule", "L3Forwarding"),
    ("EgressRule", "L3Forwarding"),
    ("EgressDefaultRule", "L3Forwarding"),
    ("EgressMetric", "L3Forwarding"),
    ("IngressSecurityClassifier", "ConntrackCommit"),
    ("AntreaPolicyIngressRule", "ConntrackCommit"),
    ("IngressRule", "ConntrackCommit"),
    ("IngressDefaultRule", "ConntrackCommit"),
    ("IngressMetric", "ConntrackCommit"),
    // Egress.
    ("EgressMark", "L2ForwardingCalc"),
];

/// The round and category of flows that belong to features that are not realized, in realized tables: packets for the
/// log (network policies), and what L3Forwarding sends to EgressMark (Egress).
const OF_OTHER_FEATURES: [&str; 2] = [" cookie=0x302", " cookie=0x304"];

/// What the switch has learned itself while it was recorded.
const LEARNED: &str = "table=SessionAffinity, hard_timeout=300";

/// Upstream's flow for later packets of connections to Services.
const UNANSWERED_LOST: &str = " table=ConntrackState, priority=190,ct_state=-new+trk,ct_mark=0x10/0x10,ip ";

/// What only ours have, and why.
const ONLY_OURS: [&str; 3] = [
    // Without it Open vSwitch leaves the ports of UDP out of what it chooses a bucket by: each client would always get the
    // same endpoint.
    "selection_method=dp_hash,",
    // So that nobody can keep the agent busy with packets to Services without endpoints.
    "meter:259,",
    // So that translated sources do not share ports with the Node's own programs.
    ":1024-32767",
];

/// Flows for clients that have an endpoint: whether their Service still has it. Upstream's has none.
fn is_for_remembered_endpoint(line: &str) -> bool {
    line.contains(" table=ServiceLB, ")
        && ["/0x7ffff,", "reg4=0x40000/0x70000"].iter().any(|text| line.contains(text))
}

/// A line of ours without that.
fn as_upstream(line: String) -> String {
    ONLY_OURS.iter().fold(line, |line, text| line.replace(text, ""))
}

/// A recorded line with names of tables.
fn named(line: &str) -> String {
    let line = line.trim_start();
    let mut text = match line.contains(" table=") || line.starts_with("group_id") {
        true => line.to_owned(),
        false => line.replacen(", ", ", table=0, ", 1),
    };
    for (before, after) in [
        (" table=", ","),
        ("goto_table:", "\n"),
        ("resubmit(,", ")"),
        ("(table=", ","),
        ("commit,table=", ","),
    ] {
        for (number, name) in TABLES.iter().enumerate() {
            text = format!("{text}\n")
                .replace(&format!("{before}{number}{after}"), &format!("{before}{name}{after}"));
            text.truncate(text.trim_end().len());
        }
    }
    format!(" {text}")
}

/// What upstream's flows and groups become here.
fn expected(recorded: &str) -> BTreeSet<String> {
    let of_other_features = |line: &str| {
        let tables = NOT_REALIZED.iter().any(|(table, _)| line.contains(&format!(" table={table}, ")));
        tables || OF_OTHER_FEATURES.iter().any(|cookie| line.starts_with(cookie)) || line.contains("type=all")
    };
    let differs = |line: &str| of_other_features(line) || line.contains(LEARNED) || by_design(line);
    let lines = recorded.lines().map(named).filter(|line| !differs(line));
    lines.map(|line| ours_instead(&line)).collect()
}

fn ours_instead(line: &str) -> String {
    let mut line = format!("{}\n", with_source_of_frame(line.trim()));
    for (table, instead) in NOT_REALIZED {
        line = line.replace(&format!("goto_table:{table}\n"), &format!("goto_table:{instead}\n"));
        line = line.replace(&format!("commit,table={table},"), &format!("commit,table={instead},"));
    }
    // Upstream gives packets to one connection of several by a number that it draws, and says that no flow has matched.
    if let Some((before, after)) = line.split_once("controller(reason=no_match,id=") {
        line = format!("{before}controller({}", after.split_once(',').unwrap().1);
    }
    // What is sent again before an answer is new and translated; upstream's has no flow for it.
    line = line
        .replace(UNANSWERED_LOST, " table=ConntrackState, priority=190,ct_state=+trk,ct_mark=0x10/0x10,ip ");
    // Learned flows carry no round: clients keep their endpoint over a restart of the agent.
    line = line.replace("delete_learned,cookie=0x3030000", "delete_learned,cookie=0x30000");
    // They say which group chose the endpoint, so that it is not kept when it leaves.
    line = line.replace(
        ",load:0x2->NXM_NX_REG4[16..18],load:0x1->NXM_NX_REG0[9]",
        ",load:NXM_NX_REG7[]->NXM_NX_REG7[],load:0x4->NXM_NX_REG4[16..18],load:0x1->NXM_NX_REG0[9]",
    );
    // And there are not as many of them as clients want.
    line.replace(",eth_type=", ",limit=16384,eth_type=").trim().to_owned()
}

pub(crate) struct Recorded {
    pub(crate) flows: &'static str,
    pub(crate) groups: &'static str,
    services: &'static str,
    subnet: u8,
    node_ip: &'static str,
    gateway_mac: &'static str,
    pods: [&'static str; 2],
    /// The Pod of which upstream has no flow for connections to itself: it is nobody's endpoint. We do not look.
    never_endpoint: Option<&'static str>,
    peer_subnet: u8,
    pub(crate) peer_ip: &'static str,
}

impl Recorded {
    pub(crate) fn pipeline(&self) -> Pipeline {
        let v4 = |text: String| DualStack { v4: Some(text), v6: None };
        Pipeline::new(PipelineConfig {
            gateway: Gateway {
                of_port: OfPort::GATEWAY,
                mac: self.gateway_mac.parse().unwrap(),
                ips: v4(format!("10.11.{}.1", self.subnet)).map(|text| text.parse().unwrap()),
            },
            tunnel: Some(Tunnel { of_port: OfPort::TUNNEL, traffic: TunnelTraffic::Udp(6081) }),
            local_pod_cidrs: v4(format!("10.11.{}.0/24", self.subnet)).map(|text| text.parse().unwrap()),
            services: Services::ByProxy(ServiceProxy {
                external: ExternalTraffic::ByAgent {
                    node_port_addresses: vec![self.node_ip.parse().unwrap()],
                },
                direct_server_return: DirectServerReturn::Off,
                refusal_rate: 5000,
            }),
            multicluster: Multicluster::Off,
            policies: PolicyEnforcement::Off,
        })
    }

    pub(crate) fn served(&self) -> Served {
        ServiceTable { text: self.services, local: format!("10.11.{}.", self.subnet) }.served(IpFamily::V4)
    }

    pub(crate) fn node_flows(&self, pipeline: &Pipeline) -> Vec<antrea_openflow::Flow> {
        all_flows(pipeline, &self.pods(), &[self.peer()])
    }

    pub(crate) fn pods(&self) -> Vec<PodInterface> {
        let addresses = [(POD_A, 3), (POD_B, 4)];
        let pod = |(mac, (of_port, host)): (&&str, (OfPort, u8))| PodInterface {
            of_port,
            mac: mac.parse().unwrap(),
            ips: DualStack { v4: format!("10.11.{}.{host}", self.subnet).parse().ok(), v6: None },
        };
        self.pods.iter().zip(addresses).map(pod).collect()
    }

    fn peer(&self) -> Peer {
        let subnet = self.peer_subnet;
        let network = PeerNetwork {
            pod_cidr: format!("10.11.{subnet}.0/24").parse().unwrap(),
            gateway_ip: format!("10.11.{subnet}.1").parse().unwrap(),
            route: PeerRoute::Tunnel { remote: self.peer_ip.parse().unwrap() },
        };
        let networks = DualStack { v4: Some(network), v6: None };
        Peer { node: "peer".parse().unwrap(), addresses: [self.peer_ip.parse().unwrap()].into(), networks }
    }

    #[track_caller]
    fn check(&self) {
        let pipeline = self.pipeline();
        let names = BridgeNames::of(&pipeline);
        let served = self.served();
        let mut flows = self.node_flows(&pipeline);
        flows.extend(served.flows(&pipeline));
        let in_round_three = |mut flow: antrea_openflow::Flow| {
            flow.cookie.0 |= 3 << 48;
            as_upstream(flow.display(&names).to_string())
        };
        let to_itself = self.never_endpoint.map(|pod| format!("nw_src={pod},nw_dst={pod}"));
        let counts = |text: &String| {
            let never = to_itself.as_ref().is_some_and(|pod| text.contains(pod));
            !(never || by_design(text) || is_for_remembered_endpoint(text))
        };
        check_same(&expected(self.flows), &flows.into_iter().map(in_round_three).filter(counts).collect());
        let groups = served.groups(&pipeline);
        let groups = groups.iter().map(|group| as_upstream(group.display(&names).to_string())).collect();
        check_same(&expected(self.groups), &groups);
    }
}

#[track_caller]
pub(crate) fn check_same(upstream: &BTreeSet<String>, ours: &BTreeSet<String>) {
    let differ =
        |left: &BTreeSet<String>, right| left.difference(right).cloned().collect::<Vec<_>>().join("\n");
    assert_eq!(
        (differ(upstream, ours), differ(ours, upstream)),
        (String::new(), String::new()),
        "only upstream's; only ours"
    );
}

pub(crate) const FIRST: Recorded = Recorded {
    flows: include_str!("golden/upstream-service-c2n1-flows.txt"),
    groups: include_str!("golden/upstream-service-c2n1-groups.txt"),
    services: "
        5: 172.18.2.1:6443 | tcp 10.97.0.1:443
        6: 172.18.2.1:10349 | tcp 10.97.205.1:443
        7: 10.11.1.3:8080 | tcp 10.97.0.101:80
        8: 10.11.1.3:8081 | udp 10.97.0.101:81
        9: 10.11.1.3:8080 | tcp 10.97.0.110:80 | external 192.0.2.80:80
        10: 10.11.0.4:8080 10.11.1.3:8080 172.18.0.1:8080 10.11.0.3:8080 | tcp 10.97.0.102:80
        11: 10.11.0.3:8080 | tcp 10.97.0.108:80
        12: | tcp 10.97.0.109:80
        13: 10.11.0.3:8080 | sticky 10.97.0.103:80
        14: 10.11.1.3:8080 | tcp 10.97.0.106:80 | external 172.18.2.240:80 | node-port 30082
        15: 10.11.0.4:8080 | tcp 10.97.0.104:80 | node-port 30080
        16: 10.11.0.4:8080 | node-port-else-17 30081
        17: 10.11.0.4:8080 | tcp 10.97.0.105:80
        18: | external-else-19 172.18.2.241:80 | node-port-else-19 30083
        19: 10.11.1.3:8080 | tcp 10.97.0.107:80",
    subnet: 0,
    node_ip: "172.18.2.11",
    gateway_mac: "02:83:db:9d:af:a1",
    pods: ["f6:f3:e5:36:f9:32", "56:58:8c:47:30:42"],
    never_endpoint: None,
    peer_subnet: 1,
    peer_ip: "172.18.2.12",
};

pub(crate) const SECOND: Recorded = Recorded {
    flows: include_str!("golden/upstream-service-c2n2-flows.txt"),
    groups: include_str!("golden/upstream-service-c2n2-groups.txt"),
    services: "
        5: 172.18.2.1:10349 | tcp 10.97.205.1:443
        6: 172.18.2.1:6443 | tcp 10.97.0.1:443
        7: 10.11.1.3:8081 | udp 10.97.0.101:81
        8: 10.11.1.3:8080 | tcp 10.97.0.101:80
        9: | tcp 10.97.0.109:80
        10: | node-port-else-11 30081
        11: 10.11.0.4:8080 | tcp 10.97.0.105:80
        12: 10.11.1.3:8080 | tcp 10.97.0.110:80 | external 192.0.2.80:80
        13: 172.18.0.1:8080 10.11.0.3:8080 10.11.0.4:8080 10.11.1.3:8080 | tcp 10.97.0.102:80
        14: 10.11.0.3:8080 | sticky 10.97.0.103:80
        15: 10.11.1.3:8080 | tcp 10.97.0.106:80 | external 172.18.2.240:80 | node-port 30082
        16: | tcp 10.97.0.108:80
        17: 10.11.1.3:8080 | external-else-18 172.18.2.241:80 | node-port-else-18 30083
        18: 10.11.1.3:8080 | tcp 10.97.0.107:80
        19: 10.11.0.4:8080 | tcp 10.97.0.104:80 | node-port 30080",
    subnet: 1,
    node_ip: "172.18.2.12",
    gateway_mac: "12:fb:3d:89:29:72",
    pods: ["be:db:99:3b:47:57", "16:1a:e1:60:5d:ae"],
    never_endpoint: Some("10.11.1.4"),
    peer_subnet: 0,
    peer_ip: "172.18.2.11",
};

#[test]
fn the_first_node_serves_as_upstreams_does() {
    FIRST.check();
}

#[test]
fn the_second_node_serves_as_upstreams_does() {
    SECOND.check();
}
