//! A Node with two Pods and two peers, in the families that a test asks for, and the text of its flows.

use std::net::IpAddr;

use antrea_openflow::{Flow, Names, TableId};
use antrea_pipeline::multicluster::Multicluster;
use antrea_pipeline::service::Services;
use antrea_pipeline::{
    Gateway, NodeTraffic, Peer, PeerNetwork, PeerRoute, Pipeline, PipelineConfig, PodInterface,
    PolicyEnforcement, Tunnel,
};
use antrea_types::{DualStack, IpFamily, OfPort, TunnelTraffic};
use ipnet::IpNet;

/// The families of a cluster.
#[derive(Clone, Copy)]
pub(crate) struct Families(pub(crate) &'static [IpFamily]);

pub(crate) const V4: Families = Families(&[IpFamily::V4]);
pub(crate) const V6: Families = Families(&[IpFamily::V6]);
pub(crate) const DUAL: Families = Families(&IpFamily::ALL);

impl Families {
    pub(crate) fn keep<T>(self, mut values: DualStack<T>) -> DualStack<T> {
        let kept = |family, value: Option<T>| value.filter(|_| self.0.contains(&family));
        values.v4 = kept(IpFamily::V4, values.v4);
        values.v6 = kept(IpFamily::V6, values.v6);
        values
    }
}

pub(crate) const POD_A: OfPort = OfPort(2);
pub(crate) const POD_B: OfPort = OfPort(3);

/// The addresses that their kernels make of their MACs.
pub(crate) const A_LINK_LOCAL: &str = "fe80::800:ff:fe00:a";
pub(crate) const B_LINK_LOCAL: &str = "fe80::800:ff:fe00:b";

/// What `text` says, one value of each family.
pub(crate) fn dual<T: std::str::FromStr>(text: [&str; 2]) -> DualStack<T> {
    let [v4, v6] = text.map(|text| text.parse().ok());
    DualStack { v4, v6 }
}

/// The Node 10.10.0.0/24, fd00:10::/64. With Services it knows their networks.
pub(crate) fn node(families: Families, services: DualStack<IpNet>) -> Pipeline {
    node_with(families, Services::ByHost { cidrs: families.keep(services) })
}

/// The same Node with this one to serve Services.
pub(crate) fn node_with(families: Families, services: Services) -> Pipeline {
    Pipeline::new(PipelineConfig {
        gateway: Gateway {
            of_port: OfPort::GATEWAY,
            mac: "0a:00:00:00:00:01".parse().unwrap(),
            ips: families.keep(dual(["10.10.0.1", "fd00:10::1"])),
        },
        tunnel: Some(Tunnel { of_port: OfPort::TUNNEL, traffic: TunnelTraffic::Udp(6081) }),
        local_pod_cidrs: families.keep(dual(["10.10.0.0/24", "fd00:10::/64"])),
        services,
        multicluster: Multicluster::On,
        policies: PolicyEnforcement::Off,
    })
}

/// The same Node where policies are enforced.
pub(crate) fn policed(pipeline: &Pipeline, node_traffic: NodeTraffic) -> Pipeline {
    let policies = PolicyEnforcement::On { node_traffic };
    Pipeline::new(PipelineConfig { policies, ..pipeline.config().clone() })
}

pub(crate) fn services() -> DualStack<IpNet> {
    dual(["10.96.0.0/12", "fd00:96::/112"])
}

pub(crate) fn pods(families: Families) -> [PodInterface; 2] {
    let pod = |of_port, mac: &str, ips| PodInterface {
        of_port,
        mac: mac.parse().unwrap(),
        ips: families.keep(dual(ips)),
    };
    [
        pod(POD_A, "0a:00:00:00:00:0a", ["10.10.0.10", "fd00:10::a"]),
        pod(POD_B, "0a:00:00:00:00:0b", ["10.10.0.11", "fd00:10::b"]),
    ]
}

/// Node 2 behind a tunnel of the family of its Pods, node 3 behind the host's routes.
pub(crate) fn peers(families: Families) -> [Peer; 2] {
    let peer = |number: u8, networks| Peer {
        node: format!("node-{number}").parse().unwrap(),
        addresses: [format!("172.18.0.{number}"), format!("fd00:18::{number}")]
            .map(|address| address.parse().unwrap())
            .into(),
        networks: families.keep(networks),
    };
    let tunnel = |remote: &str| PeerRoute::Tunnel { remote: remote.parse().unwrap() };
    let network = |pod_cidr: &str, gateway_ip: &str, route| PeerNetwork {
        pod_cidr: pod_cidr.parse().unwrap(),
        gateway_ip: gateway_ip.parse::<IpAddr>().unwrap(),
        route,
    };
    [
        peer(
            2,
            DualStack {
                v4: Some(network("10.10.1.0/24", "10.10.1.1", tunnel("172.18.0.2"))),
                v6: Some(network("fd00:10:0:1::/64", "fd00:10:0:1::1", tunnel("fd00:18::2"))),
            },
        ),
        peer(
            3,
            DualStack {
                v4: Some(network("10.10.2.0/24", "10.10.2.1", PeerRoute::Host)),
                v6: Some(network("fd00:10:0:2::/64", "fd00:10:0:2::1", PeerRoute::Host)),
            },
        ),
    ]
}

/// All flows of a Node, base flows first.
pub(crate) fn all_flows(pipeline: &Pipeline, pods: &[PodInterface], peers: &[Peer]) -> Vec<Flow> {
    let mut flows = pipeline.base_flows();
    flows.extend(pods.iter().flat_map(|pod| pipeline.pod_flows(pod)));
    flows.extend(peers.iter().flat_map(|peer| pipeline.peer_flows(peer)));
    flows
}

/// Names of tables and ports.
pub(crate) struct BridgeNames {
    pub(crate) tables: Vec<(TableId, &'static str)>,
    pub(crate) ports: Vec<(OfPort, &'static str)>,
}

impl BridgeNames {
    pub(crate) fn of(pipeline: &Pipeline) -> Self {
        Self { tables: pipeline.table_names(), ports: Vec::new() }
    }
}

impl Names for BridgeNames {
    fn table(&self, table: TableId) -> Option<&str> {
        self.tables.iter().find(|(id, _)| *id == table).map(|(_, name)| *name)
    }

    fn port(&self, port: OfPort) -> Option<&str> {
        self.ports.iter().find(|(id, _)| *id == port).map(|(_, name)| *name)
    }
}

impl BridgeNames {
    /// The table that a line such as ` 4. ip,in_port=2, priority 200` of a trace is about.
    pub(crate) fn of_trace_line(&self, line: &str) -> Option<&'static str> {
        let number = line.trim_start().split_once(". ")?.0.parse::<u8>().ok()?;
        self.tables.iter().find(|(id, _)| id.0 == number).map(|(_, name)| *name)
    }
}
