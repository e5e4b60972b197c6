//! The two Nodes of random clusters as the pipeline knows them: addresses are those that the generator gives.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use antrea_openflow::Flow;
use antrea_pipeline::multicluster::Multicluster;
use antrea_pipeline::service::{DirectServerReturn, ExternalTraffic, ServiceProxy, Services};
use antrea_pipeline::{
    Gateway, NodeTraffic, Peer, PeerNetwork, PeerRoute, Pipeline, PipelineConfig, PodInterface,
    PolicyEnforcement, Tunnel,
};
use antrea_types::{DualStack, IpFamily, MacAddr, NodeName, OfPort, TunnelTraffic};
use ipnet::IpNet;

/// Their numbers, which are in names and addresses.
pub(crate) const NODES: [u8; 2] = [1, 2];

/// A Node: `n1` or `n2`. Each tells the Node's own packets from others in another way.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    number: u8,
    /// The numbers of the Pods that it may have at the same time or one after another.
    pods: Vec<u8>,
    pub(crate) pipeline: Pipeline,
}

/// The address of host `host` in the Pod network of Node `node`: 1 is the gateway, Pods begin at 2.
pub(crate) fn pod_address(node: u8, host: u8, family: IpFamily) -> IpAddr {
    match family {
        IpFamily::V4 => Ipv4Addr::new(10, 10, node, host).into(),
        IpFamily::V6 => Ipv6Addr::new(0xfd00, 0x10, 0x10, node.into(), 0, 0, 0, host.into()).into(),
    }
}

fn node_address(node: u8, family: IpFamily) -> IpAddr {
    match family {
        IpFamily::V4 => Ipv4Addr::new(192, 168, 0, 10 + node).into(),
        IpFamily::V6 => Ipv6Addr::new(0xfd00, 0x192, 0, 0, 0, 0, 0, 0x10 + u16::from(node)).into(),
    }
}

pub(crate) fn gateway_mac(node: u8) -> MacAddr {
    MacAddr([0x0a, 0, 0, 0, node, 1])
}

pub(crate) fn pod_mac(node: u8, host: u8) -> MacAddr {
    MacAddr([0x0a, 1, 0, 0, node, host])
}

fn both<T>(value: impl Fn(IpFamily) -> T) -> DualStack<T> {
    DualStack { v4: Some(value(IpFamily::V4)), v6: Some(value(IpFamily::V6)) }
}

fn pod_network(node: u8, family: IpFamily) -> IpNet {
    let bits = match family {
        IpFamily::V4 => 24,
        IpFamily::V6 => 64,
    };
    IpNet::new_assert(pod_address(node, 0, family), bits).trunc()
}

impl Node {
    /// With room for the Pods of these hosts.
    pub(crate) fn new(number: u8, pods: Vec<u8>) -> Self {
        let node_traffic = match number {
            1 => NodeTraffic::PacketMark,
            _ => NodeTraffic::SourceMac,
        };
        let pipeline = Pipeline::new(PipelineConfig {
            gateway: Gateway {
                of_port: OfPort::GATEWAY,
                mac: gateway_mac(number),
                ips: both(|family| pod_address(number, 1, family)),
            },
            tunnel: Some(Tunnel { of_port: OfPort::TUNNEL, traffic: TunnelTraffic::Udp(6081) }),
            local_pod_cidrs: both(|family| pod_network(number, family)),
            services: Services::ByProxy(ServiceProxy {
                external: ExternalTraffic::ByHost,
                direct_server_return: DirectServerReturn::Off,
                refusal_rate: 5000,
            }),
            multicluster: Multicluster::Off,
            policies: PolicyEnforcement::On { node_traffic },
        });
        Self { number, pods, pipeline }
    }

    pub(crate) fn name(&self) -> String {
        format!("n{}", self.number)
    }

    /// Its own and the other one.
    pub(crate) const fn numbers(&self) -> (u8, u8) {
        (self.number, 3 - self.number)
    }

    /// The name and number of each port of its bridge.
    pub(crate) fn ports(&self) -> impl Iterator<Item = (String, OfPort)> {
        self.pods.iter().map(|host| (self.port_name(*host), pod_port(*host)))
    }

    pub(crate) fn port_name(&self, host: u8) -> String {
        format!("pod{}-{host}", self.number)
    }

    pub(crate) fn gateway_name(&self) -> String {
        format!("gw{}", self.number)
    }

    /// Everything but policies.
    pub(crate) fn flows(&self) -> Vec<Flow> {
        let mut flows = self.pipeline.base_flows();
        for host in &self.pods {
            flows.extend(self.pipeline.pod_flows(&PodInterface {
                of_port: pod_port(*host),
                mac: pod_mac(self.number, *host),
                ips: both(|family| pod_address(self.number, *host, family)),
            }));
        }
        flows.extend(self.pipeline.peer_flows(&peer(self.numbers().1)));
        flows
    }
}

/// The port of the bridge that a Pod with this address is at.
pub(crate) const fn pod_port(host: u8) -> OfPort {
    OfPort(host as u32)
}

fn peer(number: u8) -> Peer {
    let network = |family| PeerNetwork {
        pod_cidr: pod_network(number, family),
        gateway_ip: pod_address(number, 1, family),
        route: PeerRoute::Tunnel { remote: node_address(number, family) },
    };
    let node: NodeName = format!("n{number}").parse().unwrap();
    let addresses = both(|family| node_address(number, family)).iter().copied().collect();
    Peer { node, addresses, networks: both(network) }
}
