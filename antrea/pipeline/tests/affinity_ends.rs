//! Clients that stay with their endpoint leave it when it leaves their Service, in a real Open vSwitch: also where another
//! Service still has it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use antrea_openflow::Group;
use antrea_pipeline::Pipeline;
use antrea_pipeline::service::{
    Destination, Endpoint, GroupMode, LoadBalancerMode, Origin, ServiceProxy, SessionAffinity,
};
use antrea_types::{IpFamily, OfPort, Protocol};

use crate::bridge::{Bridge, why_not};
use crate::cluster::{BridgeNames, DUAL, POD_A, POD_B, all_flows, peers, pods};
use crate::passage::Passage;
use crate::served::{Served, answering_directly, cluster_ip, everything, host, local, node, remote};
use crate::service_passages::{A, GATEWAY, V4, VIRTUAL, ip, opens};

const AFFINITY: SessionAffinity = SessionAffinity::ClientIp { timeout_seconds: 300 };
const V6: IpFamily = IpFamily::V6;

/// The Service whose endpoints change, and one that has them all the time.
const CHANGING: u32 = 4;
const STEADY: u32 = 1;

/// What a Node has while the Service's endpoints are these.
struct State {
    flows: BTreeSet<String>,
    groups: Vec<Group>,
}

/// Adds the two Services in a family; the changing one also at NodePort 30004 and, where answers may go directly, at
/// 192.0.2.80.
fn add(served: &mut Served, proxy: &ServiceProxy, family: IpFamily, endpoints: &[Endpoint]) {
    let all = [local(family), remote(family), host(family)];
    served.add_group(family, STEADY, &all);
    let inside = Origin::Internal { other_clusters: None };
    served.add_frontend(family, STEADY, cluster_ip(family, 1), inside);
    let group = served.add_group(family, CHANGING, endpoints);
    group.affinity = AFFINITY;
    let direct = *proxy == answering_directly(DUAL);
    if direct {
        group.mode = GroupMode::Dsr;
    }
    let group = group.id;
    served.add_frontend(family, CHANGING, cluster_ip(family, 4), inside).affinity = AFFINITY;
    let outside = Origin::External { short_circuit: None };
    let node_port = served.add_frontend(family, CHANGING, cluster_ip(family, 0), outside);
    node_port.destination = Destination::NodePort { family, port: 30004 };
    node_port.affinity = AFFINITY;
    if direct {
        let load_balancer = served.add_frontend(family, CHANGING, ip("192.0.2.80"), outside);
        load_balancer.mode = LoadBalancerMode::Dsr { local_group: group };
        load_balancer.affinity = AFFINITY;
    }
    served.add_backends(Protocol::Tcp, &all);
}

fn state(pipeline: &Pipeline, endpoints: &[Endpoint]) -> State {
    let proxy = pipeline.config().proxy().unwrap();
    let mut served = Served::default();
    for family in [V4, V6] {
        let of_family = endpoints.iter().filter(|endpoint| IpFamily::of(&endpoint.address.ip()) == family);
        let endpoints: Vec<Endpoint> = of_family.copied().collect();
        if !endpoints.is_empty() {
            add(&mut served, proxy, family, &endpoints);
        }
    }
    let flows = all_flows(pipeline, &pods(DUAL), &peers(DUAL)).into_iter().chain(served.flows(pipeline));
    State { flows: flows.map(|flow| flow.to_string()).collect(), groups: served.groups(pipeline) }
}

/// A Node of its own, whose Service has these endpoints.
struct Changing {
    bridge: Bridge,
    pipeline: Pipeline,
    state: State,
}

impl Changing {
    fn start(test: &str, proxy: ServiceProxy, endpoints: &[Endpoint]) -> Option<Self> {
        if let Some(reason) = why_not() {
            println!("SKIPPED {test}: {reason}");
            return None;
        }
        let pipeline = node(DUAL, proxy);
        let state = state(&pipeline, endpoints);
        let flows: Vec<&String> = state.flows.iter().collect();
        let bridge = Bridge::start(BridgeNames::of(&pipeline), &flows, &state.groups);
        Some(Self { bridge, pipeline, state })
    }

    /// The Service has these endpoints from now on; what was learned stays.
    fn endpoints(&mut self, endpoints: &[Endpoint]) {
        let state = state(&self.pipeline, endpoints);
        let ofctl = |arguments: &[&str]| self.bridge.ovs.ofctl(arguments).unwrap();
        for group in &state.groups {
            ofctl(&["mod-group", "br-int", &group.to_string()]);
        }
        for flow in self.state.flows.difference(&state.flows) {
            let (flow, _) = flow.split_once(" actions=").unwrap();
            let (_, flow) = flow.split_once(", ").unwrap();
            ofctl(&["--strict", "del-flows", "br-int", flow]);
        }
        for flow in state.flows.difference(&self.state.flows) {
            ofctl(&["add-flow", "br-int", flow]);
        }
        self.state = state;
    }

    /// A connection from the outside to the Service, at one of its addresses.
    fn connect_from_outside(&self, client: IpAddr, to: (IpAddr, u16), port: u16) -> Passage {
        self.bridge.send(&opens(OfPort::GATEWAY, [GATEWAY, VIRTUAL], client, to, port))
    }
}

/// The endpoint that a connection got.
#[track_caller]
fn endpoint(passage: &Passage) -> IpAddr {
    let connection = passage.connections.first().unwrap();
    let (_, answers) = connection.split_once("reply=(src=").unwrap();
    answers.split(',').next().unwrap().parse().unwrap()
}

#[test]
fn clients_of_an_endpoint_that_leaves_get_another_one_and_others_stay_with_theirs() {
    let test = "clients_of_an_endpoint_that_leaves_get_another_one_and_others_stay_with_theirs";
    let before = [local(V4), remote(V4), host(V4)];
    let Some(mut service) = Changing::start(test, everything(DUAL), &before) else { return };
    let connect = |service: &Changing, port: u16| -> BTreeMap<u8, IpAddr> {
        let client = |number: u8| IpAddr::from(Ipv4Addr::new(192, 0, 2, number));
        let to = (cluster_ip(V4, 4), 80);
        let ask =
            |number| endpoint(&service.connect_from_outside(client(number), to, port + u16::from(number)));
        (1..=16).map(|number| (number, ask(number))).collect()
    };
    let first = connect(&service, 2000);
    assert_eq!(connect(&service, 2100), first, "clients stay");
    let leaves = local(V4).address.ip();
    assert!(first.values().any(|endpoint| *endpoint == leaves), "{first:?}");
    service.endpoints(&[remote(V4), host(V4)]);
    let second = connect(&service, 2200);
    for (client, endpoint) in &first {
        match second[client] {
            now if now == leaves => panic!("client {client} is still with {now}"),
            now => assert!(*endpoint == leaves || now == *endpoint, "client {client}: {endpoint}, {now}"),
        }
    }
    assert_eq!(connect(&service, 2300), second, "they stay where they are now");
}

#[test]
fn clients_leave_over_ipv6_as_well() {
    let test = "clients_leave_over_ipv6_as_well";
    let Some(mut service) = Changing::start(test, everything(DUAL), &[local(V6)]) else { return };
    let connect = |service: &Changing, port| {
        let to = (cluster_ip(V6, 4), 80);
        endpoint(&service.bridge.send(&opens(POD_A, [A, GATEWAY], ip("fd00:10::a"), to, port)))
    };
    assert_eq!(connect(&service, 2400), local(V6).address.ip());
    service.endpoints(&[remote(V6)]);
    assert_eq!(connect(&service, 2401), remote(V6).address.ip());
}

/// A source is translated for endpoints of other Nodes only.
#[test]
fn a_client_whose_next_endpoint_is_here_is_seen_by_it() {
    let test = "a_client_whose_next_endpoint_is_here_is_seen_by_it";
    let Some(mut service) = Changing::start(test, everything(DUAL), &[remote(V4)]) else { return };
    let to = (ip("169.254.0.252"), 30004);
    assert_eq!(endpoint(&service.connect_from_outside(ip("192.0.2.9"), to, 2500)), remote(V4).address.ip());
    assert_ne!(service.bridge.answered_at(2500), 2500, "its source is translated");
    service.endpoints(&[local(V4)]);
    let passage = service.connect_from_outside(ip("192.0.2.9"), to, 2501);
    assert_eq!((endpoint(&passage), passage.leaves_by()), (local(V4).address.ip(), Some(POD_B)));
    assert_eq!(service.bridge.answered_at(2501), 2501, "{passage}");
}

/// What goes directly to an endpoint keeps the Service's address, which Pods of this Node would not know.
#[test]
fn a_client_that_was_answered_directly_is_not_where_its_next_endpoint_is_here() {
    let test = "a_client_that_was_answered_directly_is_not_where_its_next_endpoint_is_here";
    let Some(mut service) = Changing::start(test, answering_directly(DUAL), &[remote(V4)]) else { return };
    let to = (ip("192.0.2.80"), 80);
    assert_eq!(service.connect_from_outside(ip("192.0.2.9"), to, 2600).leaves_by(), Some(OfPort::TUNNEL));
    service.endpoints(&[local(V4)]);
    let passage = service.connect_from_outside(ip("192.0.2.9"), to, 2601);
    assert_eq!((endpoint(&passage), passage.leaves_by()), (local(V4).address.ip(), Some(POD_B)), "{passage}");
}
