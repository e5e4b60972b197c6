//! Networks of Pods that members claim for the export of Pods alone.

use std::net::IpAddr;

use antrea_mc_core::addresses::EndpointAddresses::{ClusterIps, PodIps};
use antrea_mc_core::addresses::{Claim, PodConnectivity};
use antrea_mc_core::bindings::{Account, Approval, Bindings};
use antrea_mc_core::claims::{ClaimBook, Networks};
use antrea_mc_core::ids::ClusterId;
use antrea_shared_api::multicluster::v1alpha1::{MemberClusterAnnounce, ResourceExport};
use ipnet::IpNet;
use proptest::prelude::*;

fn id(cluster: &str) -> ClusterId {
    cluster.parse().unwrap()
}

/// What a member says: the fields of its announce, and those of its ClusterInfo, if it has a Gateway.
fn update(
    book: &mut ClaimBook,
    cluster: &str,
    second: u8,
    announce: &str,
    info: Option<&str>,
    bound: Option<&str>,
) {
    let metadata = format!("metadata: {{creationTimestamp: '2026-11-21T00:00:{second:02}Z'}}");
    let announce = format!("{{{metadata}, clusterID: {cluster}, {announce}}}");
    let announce: MemberClusterAnnounce = serde_saphyr::from_str(&announce).unwrap();
    let info =
        info.map(|info| format!("{{{metadata}, spec: {{kind: ClusterInfo, clusterInfo: {{{info}}}}}}}"));
    let info: Option<ResourceExport> = info.map(|info| serde_saphyr::from_str(&info).unwrap());
    let account = Account {
        name: "token".to_owned(),
        bound_to: Some(cluster.to_owned()),
        networks: bound.map(str::to_owned),
        ..Account::default()
    };
    let binding = Bindings::of([&account]).get(&id(cluster)).cloned().unwrap_or_default();
    let of = Networks { announce: Some(&announce), info: info.as_ref() };
    book.update(&id(cluster), of, Approval { binding, ..Approval::default() });
}

/// Members by `CLUSTER SECOND: FIELDS`, a line each; `SECOND` says how old they are.
fn book(members: &str) -> ClaimBook {
    let mut book = ClaimBook::default();
    for line in members.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (who, announce) = line.split_once(": ").unwrap();
        let (cluster, second) = who.split_once(' ').unwrap();
        update(&mut book, cluster, second.parse().unwrap(), announce, None, None);
    }
    book.settle();
    book
}

/// The networks of Pods that a member has, and why it has no others.
fn pods(book: &ClaimBook, cluster: &str) -> String {
    let has: Vec<String> = book.pod_networks(&id(cluster)).map(ToString::to_string).collect();
    let refused =
        book.refused_pods(&id(cluster)).map_or("names none".to_owned(), |refused| refused.join("; "));
    format!("{} / {refused}", has.join(" ")).trim_end_matches(" / ").to_owned()
}

fn check(book: &ClaimBook, cluster: &str, address: &str) -> String {
    let checked = book.settled().check(&id(cluster), address.parse().unwrap());
    checked.map_or_else(|error| error.to_string(), |()| "may".to_owned())
}

#[test]
fn pods_that_are_announced_may_be_exported_without_a_gateway() {
    let book = book("east 1: serviceCIDRs: [10.96.0.0/16], podCIDRs: [10.10.0.0/16]");
    assert_eq!(check(&book, "east", "10.10.1.5"), "may");
    assert_eq!(
        check(&book, "east", "10.11.1.5"),
        "10.11.1.5 is in no network that cluster east has announced"
    );
}

#[test]
fn of_two_members_with_one_network_of_pods_the_older_exports_pods_and_both_keep_their_services() {
    let book = book(
        "east 2: serviceCIDRs: [10.96.0.0/16], nodePodCIDRs: [10.244.0.0/22]
         west 1: serviceCIDRs: [10.97.0.0/16], nodePodCIDRs: [10.244.0.0/23, 10.9.0.0/24]",
    );
    assert_eq!(pods(&book, "west"), "10.244.0.0/23 10.9.0.0/24");
    assert_eq!(
        pods(&book, "east"),
        " / Pod CIDR 10.244.0.0/22 overlaps Pod CIDR 10.244.0.0/23 of cluster west: clusters of a ClusterSet need networks of their own"
    );
    assert_eq!(check(&book, "east", "10.96.0.1"), "may");
    assert_eq!(check(&book, "east", "10.244.0.9"), "10.244.0.9 is in Pod CIDR 10.244.0.0/23 of cluster west");
    assert_eq!(
        check(&book, "east", "10.244.3.9"),
        "10.244.3.9 is in Pod CIDR 10.244.0.0/22, which cluster east does not have"
    );
    assert_eq!(book.refused(&id("west")), None, "nobody is told of what costs nothing");
}

#[test]
fn what_a_member_has_had_stays_its_own() {
    let granted = "east 2: serviceCIDRs: [10.96.0.0/16], nodePodCIDRs: [10.244.0.0/22], status: {podCIDRs: [10.244.0.0/22]}";
    let older = "west 1: serviceCIDRs: [10.97.0.0/16], nodePodCIDRs: [10.244.0.0/16]";
    let with = |older: &str| book(&format!("{granted}\n{older}"));
    assert_eq!(pods(&with(older), "east"), "10.244.0.0/22");
    assert!(pods(&with(older), "west").starts_with(" / Pod CIDR 10.244.0.0/16 overlaps"));
    let has_gateway =
        older.replace("nodePodCIDRs: [10.244.0.0/16]", "podCIDRs: [10.244.0.0/16], endpointIPType: PodIP");
    assert_eq!(pods(&with(&has_gateway), "west"), "10.244.0.0/16 / names none");
    assert!(
        pods(&with(&has_gateway), "east").starts_with(" / Pod CIDR 10.244.0.0/22 overlaps"),
        "others are reached there"
    );
}

#[test]
fn a_network_that_grows_into_that_of_another_is_kept_as_far_as_it_was() {
    let book = book(
        "east 1: serviceCIDRs: [10.96.0.0/16], nodePodCIDRs: [10.244.0.0/22], status: {podCIDRs: [10.244.0.0/23]}
         west 2: serviceCIDRs: [10.97.0.0/16], nodePodCIDRs: [10.244.2.0/24], status: {podCIDRs: [10.244.2.0/24]}",
    );
    assert_eq!(
        pods(&book, "east"),
        "10.244.0.0/23 / Pod CIDR 10.244.0.0/22 overlaps Pod CIDR 10.244.2.0/24 of cluster west: clusters of a ClusterSet need networks of their own"
    );
    let alone = self::book(
        "east 1: serviceCIDRs: [10.96.0.0/16], nodePodCIDRs: [10.244.0.0/22], status: {podCIDRs: [10.244.0.0/23]}",
    );
    assert_eq!(pods(&alone, "east"), "10.244.0.0/22");
}

#[test]
fn the_export_of_pods_takes_no_services_and_no_gateways_from_others() {
    let mut book = book("east 1: serviceCIDRs: [10.96.0.0/16], nodePodCIDRs: [10.0.0.0/8, 172.18.0.0/16]");
    let gateway = Some("clusterID: west, serviceCIDR: 10.97.0.0/16, gatewayInfos: [{gatewayIP: 172.18.0.5}]");
    update(&mut book, "west", 2, "serviceCIDRs: [10.97.0.0/16]", gateway, None);
    book.settle();
    assert_eq!(
        pods(&book, "east"),
        " / Pod CIDR 10.0.0.0/8 overlaps Service CIDR 10.97.0.0/16 of cluster west: clusters of a ClusterSet need networks of their own; \
         Pod CIDR 172.18.0.0/16 contains 172.18.0.5, a Gateway of cluster west: name the networks of the cluster"
    );
    assert_eq!(book.settled().gateways_of(&id("west")).count(), 1);
    let had =
        "serviceCIDRs: [10.96.0.0/16], nodePodCIDRs: [172.18.0.0/16], status: {podCIDRs: [172.18.0.0/16]}";
    update(&mut book, "east", 1, had, None, None);
    book.settle();
    assert_eq!(pods(&book, "east"), "172.18.0.0/16", "what comes later is no reason");
    assert_eq!(book.settled().gateways_of(&id("west")).count(), 0);
}

#[test]
fn a_member_keeps_its_network_of_pods_while_its_gateway_is_away() {
    let explicit =
        "serviceCIDRs: [10.96.0.0/16], podCIDRs: [10.10.0.0/16], status: {podCIDRs: [10.10.0.0/16]}";
    let mut book = book("west 1: serviceCIDRs: [10.97.0.0/16], nodePodCIDRs: [10.10.0.0/16]");
    let gateway = "clusterID: east, podCIDRs: [10.10.0.0/16], gatewayInfos: [{gatewayIP: 172.18.0.5}]";
    for info in [Some(gateway), None, Some(gateway)] {
        update(&mut book, "east", 2, explicit, info, None);
        book.settle();
        assert_eq!(check(&book, "east", "10.10.0.1"), "may", "{info:?}");
        assert!(pods(&book, "west").starts_with(" / Pod CIDR 10.10.0.0/16 overlaps"), "{info:?}");
    }
}

#[test]
fn pods_that_others_reached_stay_the_members_while_it_has_no_gateway() {
    let had = "status: {networks: [{cidr: 10.10.0.0/16, since: '2026-11-21T01:00:00Z'}]}";
    let east = format!("serviceCIDRs: [10.96.0.0/16], podCIDRs: [10.10.0.0/16], {had}");
    let mut book =
        book("west 1: serviceCIDRs: [10.97.0.0/16], podCIDRs: [10.10.0.0/16], endpointIPType: PodIP");
    let gateway = "clusterID: east, podCIDRs: [10.10.0.0/16], gatewayInfos: [{gatewayIP: 172.18.0.5}]";
    for info in [None, Some(gateway)] {
        update(&mut book, "east", 2, &east, info, None);
        book.settle();
        assert_eq!(check(&book, "east", "10.10.0.1"), "may", "{info:?}");
        assert!(book.settled().standing(&id("west")).unwrap().networks().next().is_none(), "{info:?}");
    }
    update(&mut book, "east", 2, &format!("serviceCIDRs: [10.96.0.0/16], {had}"), None, None);
    book.settle();
    assert!(check(&book, "east", "10.10.0.1").contains("in no network that cluster east has announced"));
    assert_eq!(pods(&book, "west"), " / names none", "the other may still claim it again");
    update(&mut book, "east", 2, "serviceCIDRs: [10.96.0.0/16]", None, None);
    book.settle();
    assert_eq!(pods(&book, "west"), "10.10.0.0/16 / names none", "it was claimed long ago");
}

#[test]
fn what_an_admin_bound_goes_before_what_a_member_has_had() {
    let mut book = book(
        "east 1: serviceCIDRs: [10.96.0.0/16], nodePodCIDRs: [10.244.0.0/16], status: {podCIDRs: [10.244.0.0/16]}",
    );
    let west = "serviceCIDRs: [10.97.0.0/16], nodePodCIDRs: [10.244.0.0/16, 10.9.0.0/24]";
    update(&mut book, "west", 2, west, None, Some("10.97.0.0/16, 10.244.0.0/16"));
    book.settle();
    assert_eq!(pods(&book, "west"), "10.244.0.0/16");
    assert!(pods(&book, "east").starts_with(" / Pod CIDR 10.244.0.0/16 overlaps"));
    let not_bound = book.unapproved(&id("west")).unwrap().left_out.iter().map(ToString::to_string);
    assert_eq!(not_bound.collect::<Vec<_>>(), ["Pod CIDR 10.9.0.0/24"]);
}

/// A network of IPv4 in 10.0.0.0/8.
fn networks() -> impl Strategy<Value = Vec<IpNet>> {
    let network = (0_u8..8, 10_u8..26)
        .prop_map(|(second, length)| IpNet::new([10, second, 0, 0].into(), length).unwrap().trunc());
    prop::collection::vec(network, 0..3)
}

proptest! {
    /// What a member exports the leader takes, and nothing more, where nobody else has it.
    #[test]
    fn member_and_leader_agree_which_addresses_are_exported(
        (services, named, of_nodes) in (networks(), networks(), networks()),
        endpoints in prop::sample::select(vec![ClusterIps, PodIps]),
        has_gateway in prop::bool::ANY,
        address in (0_u8..8, 0_u8..4, 0_u8..4),
    ) {
        let services = [services, vec!["10.200.0.0/16".parse().unwrap()]].concat();
        let texts = |networks: &[IpNet]| networks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let kind = if endpoints == PodIps { "PodIP" } else { "ClusterIP" };
        let announce = format!(
            "serviceCIDRs: [{}], podCIDRs: [{}], nodePodCIDRs: [{}], endpointIPType: {kind}",
            texts(&services), texts(&named), texts(&of_nodes)
        );
        let pods = [named, of_nodes].concat();
        let info = format!("clusterID: east, serviceCIDRs: [{}], podCIDRs: [{}]", texts(&services), texts(&pods));
        let mut book = ClaimBook::default();
        update(&mut book, "east", 1, &announce, has_gateway.then_some(info.as_str()), None);
        book.settle();
        let address = IpAddr::from([10, address.0, address.1, address.2]);
        let exports = Claim::new(&services, &pods, endpoints, PodConnectivity::Off).allows(address);
        prop_assert_eq!(book.settled().check(&id("east"), address).is_ok(), exports);
    }
}
