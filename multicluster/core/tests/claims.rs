//! What members claim, as announces and ClusterInfos come and go.

use std::net::IpAddr;

use antrea_mc_core::addresses::Claim;
use antrea_mc_core::bindings::{Account, Approval, Bindings};
use antrea_mc_core::claims::{ClaimBook, Concerned, Networks};
use antrea_mc_core::ids::ClusterId;
use antrea_shared_api::addresses::overlap;
use antrea_shared_api::multicluster::v1alpha1::{
    EndpointIpType, GatewayInfo, HeldGateway, HeldNetwork, MemberClusterAnnounce,
    MemberClusterAnnounceStatus, ResourceExport,
};
use ipnet::IpNet;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use proptest::collection::vec;
use proptest::prelude::*;

fn id(cluster: &str) -> ClusterId {
    cluster.parse().unwrap()
}

/// The announce of a cluster at a second of a day.
fn announce(cluster: &str, second: u8, fields: &str) -> MemberClusterAnnounce {
    let metadata = format!("metadata: {{creationTimestamp: '2026-11-21T00:00:{second:02}Z'}}");
    serde_saphyr::from_str(&format!("{{{metadata}, clusterID: {cluster}, {fields}}}")).unwrap()
}

fn say(book: &mut ClaimBook, announce: &MemberClusterAnnounce) {
    let of = Networks { announce: Some(announce), info: None };
    book.update(&id(&announce.cluster_id), of, Approval::default());
}

#[test]
fn a_heartbeat_settles_nothing() {
    let mut book = ClaimBook::default();
    let mut east = announce("east", 1, "serviceCIDRs: [10.96.0.0/16]");
    say(&mut book, &east);
    assert!(!book.is_settled());
    assert_eq!(book.settle().networks, [id("east")].into());
    east.metadata.annotations = Some([("touch-ts".to_owned(), "2026-11-21T09:48:00Z".to_owned())].into());
    say(&mut book, &east);
    assert!(book.is_settled(), "it says nothing else");
    east.service_cidrs = vec!["10.97.0.0/16".to_owned()];
    say(&mut book, &east);
    assert!(!book.is_settled());
    book.settle();
    assert!(book.is_settled());
}

/// Three members, the oldest first.
const MEMBERS: [&str; 3] = ["a", "b", "c"];

/// What a member says.
#[derive(Clone, Debug)]
struct Said {
    services: Vec<IpNet>,
    pods: Vec<IpNet>,
    of_nodes: Vec<IpNet>,
    exports_pods: bool,
    /// Nothing without a ClusterInfo.
    gateways: Option<Vec<IpAddr>>,
}

impl Said {
    /// The networks that it claims for others to use, or for the export of its Pods.
    fn claimed(&self) -> Vec<IpNet> {
        let services = self.services.iter().filter(|_| !self.exports_pods);
        services.chain(&self.pods).chain(&self.of_nodes).copied().collect()
    }
}

/// A network in a corner of 10.0.0.0/8, where members easily meet.
fn network() -> impl Strategy<Value = IpNet> {
    (0_u8..3, 0_u8..4, 14_u8..20).prop_map(|(second, third, length)| {
        IpNet::new([10, second, third * 64, 0].into(), length).unwrap().trunc()
    })
}

fn address() -> impl Strategy<Value = IpAddr> {
    (0_u8..3, 0_u8..4).prop_map(|(second, third)| IpAddr::from([10, second, third * 64, 1]))
}

fn said() -> impl Strategy<Value = Said> {
    let networks = (vec(network(), 0..3), vec(network(), 0..3), vec(network(), 0..2));
    let gateways = prop::option::of(vec(address(), 0..3));
    (networks, any::<bool>(), gateways).prop_map(|((services, pods, of_nodes), exports_pods, gateways)| {
        Said { services, pods, of_nodes, exports_pods, gateways }
    })
}

/// What admins bind to a member: networks, and addresses of Gateways.
type Bound = (Option<Vec<IpNet>>, Option<Vec<IpAddr>>);

fn bound() -> impl Strategy<Value = Bound> {
    let networks = prop::option::weighted(0.3, vec(network(), 1..3));
    (networks, prop::option::weighted(0.3, vec(address(), 1..3)))
}

/// A Common Area: its claims, and what the leader has written down of each member.
struct Area {
    book: ClaimBook,
    said: Vec<Said>,
    bound: Vec<Bound>,
    written: Vec<MemberClusterAnnounceStatus>,
    now: Timestamp,
}

impl Area {
    fn new(bound: &[Bound]) -> Self {
        Self {
            book: ClaimBook::default(),
            said: Vec::new(),
            bound: bound.to_vec(),
            written: vec![MemberClusterAnnounceStatus::default(); MEMBERS.len()],
            now: "2026-11-21T10:00:00Z".parse().unwrap(),
        }
    }

    /// What is different once all members say this.
    fn say(&mut self, said: &[Said]) -> Concerned {
        self.said = said.to_vec();
        (0..MEMBERS.len()).for_each(|member| self.update(member));
        self.book.settle()
    }

    /// What is different once the leader has written down what each of them has.
    fn write_down(&mut self) -> Concerned {
        self.now += jiff::SignedDuration::from_secs(60);
        for member in 0..MEMBERS.len() {
            self.written[member] = self.to_be_written(member);
        }
        (0..MEMBERS.len()).for_each(|member| self.update(member));
        self.book.settle()
    }

    fn update(&mut self, member: usize) {
        let (id, said) = (id(MEMBERS[member]), &self.said[member]);
        let texts = |networks: &[IpNet]| networks.iter().map(ToString::to_string).collect::<Vec<_>>();
        let mut announce = announce(MEMBERS[member], member.try_into().unwrap(), "version: v1");
        announce.service_cidrs = texts(&said.services);
        announce.pod_cidrs = texts(&said.pods);
        announce.node_pod_cidrs = texts(&said.of_nodes);
        announce.endpoint_ip_type = said.exports_pods.then_some(EndpointIpType::PodIP);
        announce.status = Some(self.written[member].clone());
        let info = said.gateways.as_ref().map(|gateways| {
            let mut info: ResourceExport = serde_saphyr::from_str(
                "{metadata: {name: info}, spec: {kind: ClusterInfo, clusterInfo: {}}}",
            )
            .unwrap();
            let told = info.spec.cluster_info.as_mut().unwrap();
            told.pod_cidrs = texts(&said.pods);
            let gateway = |address: &IpAddr| GatewayInfo { gateway_ip: address.to_string() };
            told.gateway_infos = gateways.iter().map(gateway).collect();
            info
        });
        let account = Account {
            name: "token".to_owned(),
            bound_to: Some(MEMBERS[member].to_owned()),
            networks: self.bound[member].0.as_ref().map(|networks| texts(networks).join(",")),
            gateways: self.bound[member]
                .1
                .as_ref()
                .map(|addresses| addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")),
            ..Account::default()
        };
        let binding = Bindings::of([&account]).get(&id).cloned().unwrap();
        let of = Networks { announce: Some(&announce), info: info.as_ref() };
        self.book.update(&id, of, Approval { binding, ..Approval::default() });
    }

    fn networks(&self, member: usize) -> Vec<IpNet> {
        let standing = self.book.settled().standing(&id(MEMBERS[member]));
        standing.into_iter().flat_map(Claim::networks).map(|network| network.cidr).collect()
    }

    fn gateways(&self, member: usize) -> Vec<IpAddr> {
        self.book.settled().gateways_of(&id(MEMBERS[member])).collect()
    }

    fn former_gateways(&self, member: usize) -> Vec<IpAddr> {
        self.book.settled().former_gateways_of(&id(MEMBERS[member])).collect()
    }

    fn to_be_written(&self, member: usize) -> MemberClusterAnnounceStatus {
        let before = &self.written[member];
        let since = |before: Option<&Time>| before.cloned().unwrap_or(Time(self.now));
        let gateway = |address: IpAddr| {
            let gateway_ip = address.to_string();
            let known = before.gateways.iter().find(|held| held.gateway_ip == gateway_ip);
            HeldGateway { since: since(known.map(|held| &held.since)), gateway_ip, former_since: None }
        };
        let network = |network: &IpNet| {
            let cidr = network.to_string();
            let known = before.networks.iter().find(|held| held.cidr == cidr);
            HeldNetwork { since: since(known.map(|held| &held.since)), cidr, former_since: None }
        };
        let id = id(MEMBERS[member]);
        let (pods, has) = (self.book.pod_networks(&id), self.networks(member));
        let is_former = |held: &&HeldNetwork| {
            let had: IpNet = held.cidr.parse().unwrap();
            !has.contains(&had) && self.book.settled().is_former(&id, &had)
        };
        let former = before.networks.iter().filter(is_former).cloned();
        MemberClusterAnnounceStatus {
            gateways: [self.gateways(member), self.former_gateways(member)]
                .concat()
                .into_iter()
                .map(gateway)
                .collect(),
            networks: has.iter().map(network).chain(former).collect(),
            pod_cidrs: pods.map(ToString::to_string).collect(),
            ..MemberClusterAnnounceStatus::default()
        }
    }

    /// Whether an admin bound part of a network, or a Gateway in it, to another member.
    fn is_bound_to_another(&self, member: usize, network: &IpNet) -> bool {
        let mut others = self.bound.iter().enumerate().filter(|(other, _)| *other != member);
        others.any(|(_, (networks, gateways))| {
            networks.iter().flatten().any(|bound| overlap(bound, network))
                || gateways.iter().flatten().any(|bound| network.contains(bound))
        })
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn what_is_written_down_changes_nothing_and_stays_whatever_others_say_later(
        first in vec(said(), MEMBERS.len()),
        later in vec(said(), MEMBERS.len()),
        bound in vec(bound(), MEMBERS.len()),
        names_nothing_meanwhile in any::<bool>(),
    ) {
        let mut area = Area::new(&bound);
        area.say(&first);
        prop_assert_eq!(area.write_down(), Concerned::default());
        let had: Vec<_> =
            (0..MEMBERS.len()).map(|member| (area.networks(member), area.gateways(member))).collect();
        // What a member had is its own still when it names that again.
        let without_gateways = |said: &Said| {
            Said { gateways: said.gateways.as_ref().map(|_| Vec::new()), ..said.clone() }
        };
        let without_networks = |said: &Said| {
            let (services, pods, of_nodes) = (Vec::new(), Vec::new(), Vec::new());
            Said { services, pods, of_nodes, ..said.clone() }
        };
        let without: Vec<Said> = first.iter().map(without_gateways).collect();
        area.say(&without);
        prop_assert_eq!(area.write_down(), Concerned::default());
        if names_nothing_meanwhile {
            area.say(&without.iter().map(without_networks).collect::<Vec<_>>());
            prop_assert!((0..MEMBERS.len()).all(|member| area.networks(member).is_empty()));
            prop_assert_eq!(area.write_down(), Concerned::default());
        }
        area.say(&later);
        for (member, (networks, gateways)) in had.iter().enumerate() {
            let has = area.networks(member);
            for claimed in later[member].claimed() {
                let was_had = networks.iter().any(|had| had.contains(&claimed));
                let is_had = has.iter().any(|has| has.contains(&claimed));
                let is_lost = was_had && !is_had && !area.is_bound_to_another(member, &claimed);
                prop_assert!(!is_lost, "{} has lost {claimed}: {has:?}", MEMBERS[member]);
            }
            let has = area.gateways(member);
            for named in later[member].gateways.iter().flatten() {
                let is_lost = gateways.contains(named) && !has.contains(named);
                let is_lost = is_lost && !area.is_bound_to_another(member, &(*named).into());
                prop_assert!(!is_lost, "{} has lost {named}: {has:?}", MEMBERS[member]);
            }
        }
        prop_assert_eq!(area.write_down(), Concerned::default());
        prop_assert_eq!(area.write_down(), Concerned::default());
    }
}

/// The networks of its Nodes are in its Service CIDR, which is bound to another member.
#[test]
fn a_network_of_pods_that_is_written_down_is_no_part_of_what_it_is_in() {
    let network = |text: &str| vec![text.parse::<IpNet>().unwrap()];
    let nothing = Said {
        services: Vec::new(),
        pods: Vec::new(),
        of_nodes: Vec::new(),
        exports_pods: false,
        gateways: None,
    };
    let mut area = Area::new(&[(None, None), (Some(network("10.0.0.0/14")), None), (None, None)]);
    let services = Said { services: network("10.0.0.0/14"), ..nothing.clone() };
    area.say(&[nothing.clone(), nothing.clone(), services.clone()]);
    area.write_down();
    let pods = Said { pods: network("10.0.0.0/17"), exports_pods: true, ..nothing.clone() };
    area.say(&[nothing, pods, Said { of_nodes: network("10.0.128.0/17"), ..services }]);
    assert_eq!(area.networks(2), network("10.0.128.0/17"));
    assert_eq!(area.write_down(), Concerned::default());
}
