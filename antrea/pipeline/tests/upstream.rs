//! Our flows beside those that upstream Antrea installs on the same Node.
//!
//! `golden/upstream-NODE-flows.txt`: recorded from upstream Antrea main at fc70f2bb7 (v2.8.0-dev), a cluster of two
//! Nodes with two Pods each and default settings; the flows of the Root pipeline and of PodConnectivity, and those for
//! unmatched packets. What differs is listed here, and nothing else may.

use std::collections::BTreeSet;

use antrea_openflow::{Cookie, Flow};
use antrea_pipeline::multicluster::Multicluster;
use antrea_pipeline::service::Services;
use antrea_pipeline::{
    Gateway, Peer, PeerNetwork, PeerRoute, Pipeline, PipelineConfig, PodInterface, PolicyEnforcement, Tunnel,
};
use antrea_types::{DualStack, OfPort, TunnelTraffic};

use crate::cluster::{BridgeNames, POD_A, POD_B, all_flows};

/// Tables of upstream's default features that are not realized: their flows are absent, and a packet that upstream
/// sends to one of them goes to the next realized table instead.
const NOT_REALIZED: &[(&str, &str)] = &[
    // AntreaProxy.
    ("UnSNAT", "ConntrackZone"),
    ("PreRoutingClassifier", "L3Forwarding"),
    ("SessionAffinity", "L3Forwarding"),
    ("ServiceLB", "L3Forwarding"),
    ("EndpointDNAT", "L3Forwarding"),
    ("SNATMark", "L2ForwardingCalc"),
    ("SNAT", "L2ForwardingCalc"),
    // Network policies. The flow that lets marked packets of the Node itself (kubelet's probes) pass to
    // ConntrackCommit goes with them: without policies there is nothing to be let past.
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

/// Upstream's ARPSpoofGuard believes a frame's own source, which the learning switch looks at then; here it has to be that of
/// the ARP packet. [`crate::neighbours`] is about that.
pub(crate) fn with_source_of_frame(line: &str) -> String {
    let Some((before, addresses)) = line.split_once(",arp_spa=") else { return line.to_owned() };
    let mac = addresses.split_once(",arp_sha=").and_then(|(_, rest)| rest.split(' ').next());
    match mac.filter(|_| before.contains(" table=ARPSpoofGuard,")) {
        Some(mac) => format!("{before},dl_src={mac},arp_spa={addresses}"),
        None => line.to_owned(),
    }
}

/// Upstream switches all multicast over IPv6, past all policies; here it takes the way of IPv4's.
const MULTICAST: &str = " table=IPv6, priority=200,ipv6,ipv6_dst=ff00::/8 actions=NORMAL";

/// Upstream leaves packets the MAC that a Pod has written where it takes that for right; here the IP address says who gets
/// them. These are the flows that do so, on both sides: the one within the subnet, or one for each Pod of it; what no Pod has;
/// what a Pod sends elsewhere. [`crate::foreign_macs`] is about them.
const BY_DESTINATION: [&str; 3] = [
    " table=L3Forwarding, priority=200,ip,reg0=0/0x200,",
    " table=L3Forwarding, priority=195,",
    " table=L3Forwarding, priority=180,",
];

/// Upstream hands the host whatever a Pod sends to a tunnel of a peer, as the packet of a peer. [`crate::forged_tunnels`] is
/// about that.
const FORGED: &str = " table=Output, priority=220,";

/// Upstream believes whatever comes through the tunnel; here it has to come from a peer. [`crate::far_ends`] is about these:
/// upstream's one, ours for each peer, and the one for connections from foreign addresses.
fn is_about_far_ends(line: &str) -> bool {
    let by_tunnel = ["in_port=32768", "in_port=\"antrea-tun0\""].iter().any(|port| line.contains(port));
    by_tunnel && line.contains(" table=Classifier, ")
        || line.contains(" table=ConntrackState, priority=195,ct_state=-est-rel+trk,")
}

/// Whether the flow is one of [`BY_DESTINATION`], [`FORGED`], or about far ends of the tunnel.
pub(crate) fn by_design(line: &str) -> bool {
    BY_DESTINATION.iter().any(|flow| line.contains(flow)) || line.contains(FORGED) || is_about_far_ends(line)
}

/// What upstream's flows become without the tables of [`NOT_REALIZED`].
fn expected(recorded: &str) -> BTreeSet<String> {
    let of_table = |line: &str, table: &str| line.contains(&format!(" table={table}, "));
    let differs = |line: &str| {
        by_design(line)
            || line.contains(MULTICAST)
            || NOT_REALIZED.iter().any(|(table, _)| of_table(line, table))
    };
    let mut flows = BTreeSet::new();
    for line in recorded.lines().filter(|line| !differs(line)) {
        let mut line = format!("{}\n", with_source_of_frame(line.trim()));
        for (table, instead) in NOT_REALIZED {
            line = line.replace(&format!("goto_table:{table}\n"), &format!("goto_table:{instead}\n"));
        }
        flows.insert(line.trim().to_owned());
    }
    flows
}

/// Upstream's record is of its first round.
fn in_round_one(flow: &Flow) -> Flow {
    Flow { cookie: Cookie(flow.cookie.0 | 1 << 48), ..flow.clone() }
}

struct Recorded {
    text: &'static str,
    subnet: u8,
    gateway_mac: &'static str,
    pods: [(&'static str, &'static str); 2],
    peer_subnet: u8,
    peer_ip: &'static str,
}

impl Recorded {
    fn pipeline(&self) -> Pipeline {
        let v4 = |text: String| DualStack { v4: Some(text), v6: None };
        Pipeline::new(PipelineConfig {
            gateway: Gateway {
                of_port: OfPort::GATEWAY,
                mac: self.gateway_mac.parse().unwrap(),
                ips: v4(format!("10.11.{}.1", self.subnet)).map(|text| text.parse().unwrap()),
            },
            tunnel: Some(Tunnel { of_port: OfPort::TUNNEL, traffic: TunnelTraffic::Udp(6081) }),
            local_pod_cidrs: v4(format!("10.11.{}.0/24", self.subnet)).map(|text| text.parse().unwrap()),
            services: Services::ByHost { cidrs: DualStack::default() },
            multicluster: Multicluster::Off,
            policies: PolicyEnforcement::Off,
        })
    }

    fn pods(&self) -> Vec<PodInterface> {
        let addresses = [(POD_A, 3), (POD_B, 4)];
        let pod = |((_, mac), (of_port, host)): (&(&str, &str), (OfPort, u8))| PodInterface {
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
        let [(pod_a, _), (pod_b, _)] = self.pods;
        let ports = vec![
            (OfPort::GATEWAY, "antrea-gw0"),
            (OfPort::TUNNEL, "antrea-tun0"),
            (POD_A, pod_a),
            (POD_B, pod_b),
        ];
        let names = BridgeNames { tables: pipeline.table_names(), ports };
        let flows = all_flows(&pipeline, &self.pods(), &[self.peer()]);
        let ours = flows.iter().map(|flow| in_round_one(flow).display(&names).to_string());
        let ours: BTreeSet<String> = ours.filter(|line| !by_design(line)).collect();
        let upstream = expected(self.text);
        let differ =
            |left: &BTreeSet<String>, right| left.difference(right).cloned().collect::<Vec<_>>().join("\n");
        assert_eq!(
            (differ(&upstream, &ours), differ(&ours, &upstream)),
            (String::new(), String::new()),
            "only upstream's; only ours"
        );
    }
}

#[test]
fn the_first_node_has_upstreams_flows() {
    Recorded {
        text: include_str!("golden/upstream-c2n1-flows.txt"),
        subnet: 0,
        gateway_mac: "02:83:db:9d:af:a1",
        pods: [("a-dc4592", "f6:f3:e5:36:f9:32"), ("b-adfee7", "56:58:8c:47:30:42")],
        peer_subnet: 1,
        peer_ip: "172.18.2.12",
    }
    .check();
}

#[test]
fn the_second_node_has_upstreams_flows() {
    Recorded {
        text: include_str!("golden/upstream-c2n2-flows.txt"),
        subnet: 1,
        gateway_mac: "12:fb:3d:89:29:72",
        pods: [("c-044a7f", "be:db:99:3b:47:57"), ("d-a6d2c7", "16:1a:e1:60:5d:ae")],
        peer_subnet: 0,
        peer_ip: "172.18.2.11",
    }
    .check();
}
