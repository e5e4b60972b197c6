//! A ClusterSet: the Node of [`crate::cluster`] as a regular Node and as the Gateway of its cluster, and two other clusters.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, Weak};

use antrea_openflow::{Flow, GroupId};
use antrea_pipeline::Pipeline;
use antrea_pipeline::multicluster::{Admits, GatewayRole, RemoteCluster, UntunnelledPods};
use antrea_pipeline::service::{
    Backend, Destination, Endpoint, EndpointGroup, EndpointKind, EndpointPlace, Frontend, GroupMode,
    LoadBalancerMode, Origin, SessionAffinity,
};
use antrea_types::{IpFamily, Protocol};
use ipnet::Ipv4Net;

use crate::bridge::{Bridge, shared};
use crate::cluster::{BridgeNames, DUAL};
use crate::served::{self, Served, cluster_ip, everything};

/// The Gateway is node 2.
pub(crate) fn regular() -> GatewayRole {
    GatewayRole::Regular { gateway: "172.18.0.2".parse().unwrap() }
}

/// The Gateway is node 2, and this Node the next one.
pub(crate) fn standby() -> GatewayRole {
    GatewayRole::Standby { gateway: "172.18.0.2".parse().unwrap(), address: "172.18.0.1".parse().unwrap() }
}

/// It is this Node, and nobody says what is exported.
pub(crate) fn gateway() -> GatewayRole {
    gateway_of(Admits::Everything)
}

pub(crate) fn gateway_of(admits: Admits) -> GatewayRole {
    GatewayRole::Gateway { address: "172.18.0.1".parse().unwrap(), admits }
}

/// Where somebody says it: Service 2, and its endpoint on node 2.
pub(crate) fn exported() -> BTreeSet<Ipv4Net> {
    ["10.10.1.10/32", "10.96.0.2/32"].map(|network| network.parse().unwrap()).into()
}

/// Where the other Gateway of the cluster is: node 2, or, where this Node is the Gateway, the next one, node 3.
pub(crate) fn own_gateway(role: &GatewayRole) -> Ipv4Addr {
    match role {
        GatewayRole::Gateway { .. } => Ipv4Addr::new(172, 18, 0, 3),
        GatewayRole::Regular { .. } | GatewayRole::Standby { .. } => Ipv4Addr::new(172, 18, 0, 2),
    }
}

/// Cluster b, whose Pods can be reached, too, and cluster c, whose Gateway is being replaced.
pub(crate) fn remote_clusters() -> [RemoteCluster; 2] {
    [
        RemoteCluster {
            networks: ["10.111.0.0/16", "10.20.0.0/16"].map(|net| net.parse().unwrap()).to_vec(),
            gateway: "172.18.2.1".parse().unwrap(),
            former_gateways: Vec::new(),
        },
        RemoteCluster {
            networks: vec!["10.112.0.0/16".parse().unwrap()],
            gateway: "172.18.3.1".parse().unwrap(),
            former_gateways: vec!["172.18.3.2".parse().unwrap()],
        },
    ]
}

/// Node 3 of this cluster, which its Nodes reach without a tunnel.
pub(crate) fn untunnelled() -> UntunnelledPods {
    UntunnelledPods { pods: "10.10.2.0/24".parse().unwrap(), node: "172.18.0.3".parse().unwrap() }
}

/// Service 20 is cluster b's, 21 this cluster's Service 1 and nobody else's, 22 has the endpoint of Service 2, and so has 23,
/// with `internalTrafficPolicy: Local`.
pub(crate) fn multicluster_services() -> Served {
    let mut served = Served::default();
    let remote: IpAddr = "10.111.0.8".parse().unwrap();
    let remote = SocketAddr::new(remote, 80);
    served.backends.push(Backend::Translated { protocol: Protocol::Tcp, address: remote });
    let own = SocketAddr::new(cluster_ip(IpFamily::V4, 1), 80);
    let elsewhere = EndpointPlace::Elsewhere;
    add(&mut served, 20, Endpoint { address: remote, place: elsewhere }, EndpointKind::Direct);
    add(&mut served, 21, Endpoint { address: own, place: elsewhere }, EndpointKind::Nested);
    add(&mut served, 22, served::remote(IpFamily::V4), EndpointKind::Direct);
    add_of_local_policy(&mut served, 23);
    served
}

/// This Node has no endpoint of it; the next group is for clients in other clusters.
fn add_of_local_policy(served: &mut Served, number: u8) {
    let family = IpFamily::V4;
    served.add_group(family, number.into(), &[]);
    let all = served.add_group(family, u32::from(number) + 1, &[served::remote(family)]).id;
    let origin = Origin::Internal { other_clusters: Some(all) };
    served.add_frontend(family, number.into(), cluster_ip(family, number), origin);
}

pub(crate) fn add(served: &mut Served, number: u8, endpoint: Endpoint, endpoints: EndpointKind) {
    let (id, affinity) = (GroupId(number.into()), SessionAffinity::None);
    let family = IpFamily::V4;
    let group = EndpointGroup { id, family, endpoints: vec![endpoint], affinity, mode: GroupMode::Nat };
    served.groups.push(group);
    served.frontends.push(Frontend {
        protocol: Protocol::Tcp,
        destination: Destination::Address(SocketAddr::new(cluster_ip(family, number), 80)),
        origin: Origin::Internal { other_clusters: None },
        group: id,
        affinity,
        endpoints,
        mode: LoadBalancerMode::Nat,
    });
}

/// What the ClusterSet adds to a Node.
pub(crate) fn flows(pipeline: &Pipeline, role: &GatewayRole) -> Vec<Flow> {
    let mut flows = pipeline.gateway_role_flows(role);
    if let GatewayRole::Gateway { admits: Admits::Listed, .. } = role {
        flows.extend(pipeline.exported_flows(&exported()));
    }
    flows.extend(pipeline.own_gateway_flow(own_gateway(role)));
    flows.extend(remote_clusters().iter().flat_map(|cluster| pipeline.remote_cluster_flows(role, cluster)));
    flows.extend(pipeline.untunnelled_flow(role, &untunnelled()));
    flows
}

/// A regular Node's bridge.
pub(crate) fn regular_bridge() -> Option<Arc<Bridge>> {
    static SHARED: Mutex<Weak<Bridge>> = Mutex::new(Weak::new());
    shared(&SHARED, || start(&regular()))
}

/// The Gateway's bridge.
pub(crate) fn gateway_bridge() -> Option<Arc<Bridge>> {
    static SHARED: Mutex<Weak<Bridge>> = Mutex::new(Weak::new());
    shared(&SHARED, || start(&gateway()))
}

fn start(role: &GatewayRole) -> Bridge {
    bridge_of(&served::node(DUAL, everything(DUAL)), role, &multicluster_services())
}

/// The bridge of a Node that serves everything, and these Services, too.
pub(crate) fn bridge_of(pipeline: &Pipeline, role: &GatewayRole, services: &Served) -> Bridge {
    let flows = [served::node_flows(pipeline, DUAL), services.flows(pipeline), flows(pipeline, role)];
    let mut groups = Served::by(&everything(DUAL), DUAL).groups(pipeline);
    groups.extend(services.groups(pipeline));
    Bridge::start(BridgeNames::of(pipeline), &flows.concat(), &groups)
}
