//! Services of the Node in [`crate::cluster`]: one of each kind, each but one with a single endpoint, so that it is
//! known where a packet goes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use antrea_openflow::{Flow, Group, GroupId};
use antrea_pipeline::Pipeline;
use antrea_pipeline::service::{
    AdmittedSources, Backend, Destination, DirectServerReturn, Endpoint, EndpointGroup, EndpointKind,
    EndpointPlace, ExternalTraffic, Frontend, GroupMode, LoadBalancerMode, NodeAccess, Origin, ServiceProxy,
    Services, SessionAffinity,
};
use antrea_types::{IpFamily, Protocol};

use crate::cluster::{Families, all_flows, node_with, peers, pods};

/// Without `proxyAll`.
pub(crate) fn cluster_ips_only() -> ServiceProxy {
    ServiceProxy {
        external: ExternalTraffic::ByHost,
        direct_server_return: DirectServerReturn::Off,
        refusal_rate: 5000,
    }
}

/// With `proxyAll`.
pub(crate) fn everything(families: Families) -> ServiceProxy {
    let addresses = crate::cluster::dual(["172.18.0.1", "fd00:18::1"]);
    let node_port_addresses = families.keep(addresses).iter().copied().collect();
    ServiceProxy { external: ExternalTraffic::ByAgent { node_port_addresses }, ..cluster_ips_only() }
}

/// With `proxyAll` and Direct Server Return.
pub(crate) fn answering_directly(families: Families) -> ServiceProxy {
    ServiceProxy { direct_server_return: DirectServerReturn::On, ..everything(families) }
}

pub(crate) fn node(families: Families, proxy: ServiceProxy) -> Pipeline {
    node_with(families, Services::ByProxy(proxy))
}

/// What a Node has of the Services.
#[derive(Default)]
pub(crate) struct Served {
    pub(crate) frontends: Vec<Frontend>,
    pub(crate) groups: Vec<EndpointGroup>,
    pub(crate) backends: Vec<Backend>,
    pub(crate) sources: Vec<AdmittedSources>,
}

/// The numbers of groups of IPv6 begin here.
const V6_GROUPS: u32 = 100;

/// Pod b.
pub(crate) fn local(family: IpFamily) -> Endpoint {
    endpoint(family, ([10, 10, 0, 11], "fd00:10::b"), 8080, EndpointPlace::ThisNode)
}

/// A Pod of node 2.
pub(crate) fn remote(family: IpFamily) -> Endpoint {
    endpoint(family, ([10, 10, 1, 10], "fd00:10:0:1::a"), 8080, EndpointPlace::Elsewhere)
}

/// This Node itself.
pub(crate) fn host(family: IpFamily) -> Endpoint {
    endpoint(family, ([172, 18, 0, 1], "fd00:18::1"), 6443, EndpointPlace::ThisNode)
}

fn endpoint(family: IpFamily, (v4, v6): ([u8; 4], &str), port: u16, place: EndpointPlace) -> Endpoint {
    let address: IpAddr = match family {
        IpFamily::V4 => Ipv4Addr::from(v4).into(),
        IpFamily::V6 => v6.parse::<Ipv6Addr>().unwrap().into(),
    };
    Endpoint { address: SocketAddr::new(address, port), place }
}

/// `10.96.0.N` or `fd00:96::N`.
pub(crate) fn cluster_ip(family: IpFamily, number: u8) -> IpAddr {
    match family {
        IpFamily::V4 => Ipv4Addr::new(10, 96, 0, number).into(),
        IpFamily::V6 => Ipv6Addr::new(0xfd00, 0x96, 0, 0, 0, 0, 0, number.into()).into(),
    }
}

pub(crate) fn load_balancer_ip(family: IpFamily) -> IpAddr {
    match family {
        IpFamily::V4 => Ipv4Addr::new(192, 0, 2, 80).into(),
        IpFamily::V6 => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0x80).into(),
    }
}

const CLUSTER: Origin = Origin::Internal { other_clusters: None };
const WORLD: Origin = Origin::External { short_circuit: None };

impl Served {
    /// What `proxy` serves of them in these families.
    pub(crate) fn by(proxy: &ServiceProxy, families: Families) -> Self {
        let mut served = Self::default();
        for family in families.0 {
            served.add_cluster_ips(*family);
            if matches!(proxy.external, ExternalTraffic::ByAgent { .. }) {
                served.add_node_ports(*family);
            }
            if proxy.direct_server_return == DirectServerReturn::On {
                served.add_direct(*family);
            }
        }
        served
    }

    fn add_cluster_ips(&mut self, family: IpFamily) {
        let affinity = SessionAffinity::ClientIp { timeout_seconds: 300 };
        for endpoint in [local(family), remote(family), host(family)] {
            self.backends.push(Backend::Translated { protocol: Protocol::Tcp, address: endpoint.address });
        }
        self.backends.push(Backend::Translated { protocol: Protocol::Udp, address: local(family).address });
        self.add_group(family, 1, &[local(family)]);
        self.add_group(family, 2, &[remote(family)]);
        self.add_group(family, 3, &[host(family)]);
        self.add_group(family, 4, &[local(family), remote(family)]).affinity = affinity;
        self.add_group(family, 5, &[]);
        self.add_frontend(family, 1, cluster_ip(family, 1), CLUSTER);
        self.add_frontend(family, 1, cluster_ip(family, 1), CLUSTER).protocol = Protocol::Udp;
        self.add_frontend(family, 2, cluster_ip(family, 2), CLUSTER);
        self.add_frontend(family, 3, cluster_ip(family, 3), CLUSTER);
        self.add_frontend(family, 4, cluster_ip(family, 4), CLUSTER).affinity = affinity;
        self.add_frontend(family, 5, cluster_ip(family, 5), CLUSTER);
        self.add_frontend(family, 5, cluster_ip(family, 5), CLUSTER).protocol = Protocol::Udp;
        self.add_nested(family);
    }

    /// The endpoint of Service 6 is Service 1.
    fn add_nested(&mut self, family: IpFamily) {
        let address = SocketAddr::new(cluster_ip(family, 1), 80);
        let group = self.add_group(family, 6, &[Endpoint { address, place: EndpointPlace::ThisNode }]).id;
        self.add_frontend(family, 6, cluster_ip(family, 6), CLUSTER).endpoints = EndpointKind::Nested;
        let inner = GroupId(group.0 - 5);
        self.backends.push(Backend::Nested { protocol: Protocol::Tcp, address, group: inner });
    }

    /// 30001 has an endpoint here, 30002 on node 2, 30007 has externalTrafficPolicy Local and one of each, and 30004
    /// clients that stay with their endpoint.
    fn add_node_ports(&mut self, family: IpFamily) {
        let affinity = SessionAffinity::ClientIp { timeout_seconds: 300 };
        let node_port = |port| Destination::NodePort { family, port };
        self.add_group(family, 7, &[local(family)]);
        let cluster = GroupId(group_number(family, 2));
        for (group, port) in [(1, 30001), (2, 30002), (7, 30007), (4, 30004)] {
            self.add_frontend(family, group, cluster_ip(family, 0), WORLD).destination = node_port(port);
        }
        for frontend in &mut self.frontends {
            if frontend.destination == node_port(30007) {
                frontend.origin = Origin::External { short_circuit: Some(cluster) };
            } else if frontend.destination == node_port(30004) {
                frontend.affinity = affinity;
            }
        }
        self.add_frontend(family, 2, load_balancer_ip(family), WORLD).destination =
            Destination::Address(SocketAddr::new(load_balancer_ip(family), 81));
        self.add_restricted(family);
    }

    /// Ports 82 and 83 of the load balancer are Service 1's, and open to Pod a and a network outside, or to the network of the
    /// Nodes and so to this one.
    fn add_restricted(&mut self, family: IpFamily) {
        let ranges = |texts: [[&str; 2]; 2]| {
            let of_family = texts.map(|[v4, v6]| if family == IpFamily::V4 { v4 } else { v6 });
            of_family.map(|text| text.parse().unwrap()).to_vec()
        };
        let outside = ranges([["10.10.0.10/32", "fd00:10::a/128"], ["198.51.100.0/24", "2001:db8:1::/48"]]);
        let nodes = ranges([["172.18.0.0/16", "fd00:18::/64"], ["172.19.0.0/16", "fd00:19::/64"]]);
        let restrictions = [(82, outside, NodeAccess::ByAddress), (83, nodes, NodeAccess::Admitted)];
        for (port, ranges, node) in restrictions {
            let destination = SocketAddr::new(load_balancer_ip(family), port);
            self.add_frontend(family, 1, load_balancer_ip(family), WORLD).destination =
                Destination::Address(destination);
            self.sources.push(AdmittedSources { protocol: Protocol::Tcp, destination, ranges, node });
        }
    }

    fn add_direct(&mut self, family: IpFamily) {
        self.add_group(family, 8, &[remote(family)]).mode = GroupMode::Dsr;
        self.add_group(family, 9, &[local(family)]).mode = GroupMode::Dsr;
        let local_group = GroupId(group_number(family, 1));
        for frontend in &mut self.frontends {
            let port = match frontend.destination {
                Destination::Address(address) => address.port(),
                Destination::NodePort { .. } => 0,
            };
            if [82, 83].contains(&port) && frontend.destination.family() == family {
                frontend.mode = LoadBalancerMode::Dsr { local_group };
            }
        }
        let local_group = GroupId(group_number(family, 9));
        for protocol in [Protocol::Tcp, Protocol::Udp] {
            let frontend = self.add_frontend(family, 8, load_balancer_ip(family), WORLD);
            frontend.mode = LoadBalancerMode::Dsr { local_group };
            frontend.protocol = protocol;
        }
    }

    pub(crate) fn add_group(
        &mut self,
        family: IpFamily,
        number: u32,
        endpoints: &[Endpoint],
    ) -> &mut EndpointGroup {
        self.groups.push(EndpointGroup {
            id: GroupId(group_number(family, number)),
            family,
            endpoints: endpoints.to_vec(),
            affinity: SessionAffinity::None,
            mode: GroupMode::Nat,
        });
        self.groups.last_mut().unwrap()
    }

    pub(crate) fn add_frontend(
        &mut self,
        family: IpFamily,
        group: u32,
        address: IpAddr,
        origin: Origin,
    ) -> &mut Frontend {
        self.frontends.push(Frontend {
            protocol: Protocol::Tcp,
            destination: Destination::Address(SocketAddr::new(address, 80)),
            origin,
            group: GroupId(group_number(family, group)),
            affinity: SessionAffinity::None,
            endpoints: EndpointKind::Direct,
            mode: LoadBalancerMode::Nat,
        });
        self.frontends.last_mut().unwrap()
    }

    pub(crate) fn flows(&self, pipeline: &Pipeline) -> Vec<Flow> {
        let frontends = self.frontends.iter().flat_map(|frontend| pipeline.frontend_flows(frontend));
        let backends = self.backends.iter().filter_map(|backend| pipeline.backend_flow(backend));
        let members = self.groups.iter().flat_map(|group| pipeline.service_group_flows(group));
        let sources = self.sources.iter().flat_map(|sources| pipeline.admitted_source_flows(sources));
        frontends.chain(backends).chain(members).chain(sources).collect()
    }

    pub(crate) fn groups(&self, pipeline: &Pipeline) -> Vec<Group> {
        self.groups.iter().map(|group| pipeline.service_group(group)).collect()
    }
}

const fn group_number(family: IpFamily, number: u32) -> u32 {
    match family {
        IpFamily::V4 => number,
        IpFamily::V6 => V6_GROUPS + number,
    }
}

/// All flows of a Node with Services.
pub(crate) fn node_flows(pipeline: &Pipeline, families: Families) -> Vec<Flow> {
    let mut flows = all_flows(pipeline, &pods(families), &peers(families));
    let proxy = pipeline.config().proxy().unwrap();
    flows.extend(Served::by(proxy, families).flows(pipeline));
    flows
}
