//! Which networks members may claim, and which addresses they may export.

use std::net::IpAddr;

use antrea_mc_core::addresses::{
    AddressRefused, Claim, Claims, EndpointAddresses, GatewayBindings, PodConnectivity,
};
use antrea_mc_core::export::Export;
use antrea_mc_core::ids::ClusterId;
use antrea_mc_core::wire::claim_of_announce;
use antrea_shared_api::multicluster::v1alpha1::MemberClusterAnnounce;
use ipnet::IpNet;
use proptest::prelude::*;

use EndpointAddresses::{ClusterIps, PodIps};
use PodConnectivity::{Off, On};

/// A claim as `CLUSTER: SERVICE-CIDRS / POD-CIDRS`.
fn export(age: i64, text: &str, endpoints: EndpointAddresses, pods: PodConnectivity) -> Export<Claim> {
    let (cluster, networks) = text.split_once(": ").unwrap();
    let (services, pod_cidrs) = networks.split_once(" / ").unwrap_or((networks, ""));
    let parse =
        |list: &str| list.split_whitespace().map(|cidr| cidr.parse().unwrap()).collect::<Vec<IpNet>>();
    Export {
        cluster: cluster.parse().unwrap(),
        created: jiff::Timestamp::from_second(age).unwrap(),
        payload: Claim::new(&parse(services), &parse(pod_cidrs), endpoints, pods),
    }
}

/// Settles claims, a line each, the oldest first.
fn settle(text: &str, endpoints: EndpointAddresses, pods: PodConnectivity) -> (Claims, String) {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let claims: Vec<_> = (0..).zip(lines).map(|(age, line)| export(age, line, endpoints, pods)).collect();
    let mut shuffled: Vec<&Export<Claim>> = claims.iter().collect();
    shuffled.reverse();
    let (settled, refused) = Claims::settle(&shuffled, &[], &[], &GatewayBindings::default());
    assert_eq!(
        settled,
        Claims::settle(&claims.iter().collect::<Vec<_>>(), &[], &[], &GatewayBindings::default()).0,
        "the order of claims shows"
    );
    let refused = refused.networks.iter().flat_map(|(cluster, problems)| {
        problems.iter().map(move |problem| format!("{cluster}: {problem}\n"))
    });
    (settled, refused.collect())
}

#[test]
fn the_older_claim_of_a_network_stands() {
    let (_, refused) = settle(
        "west: 10.96.0.0/16
         east: 10.97.0.0/16 fd00:96::/112
         north: 10.98.0.0/16 10.96.4.0/24
         south: 10.0.0.0/8",
        ClusterIps,
        Off,
    );
    insta::assert_snapshot!(refused, @"
    north: Service CIDR 10.96.4.0/24 overlaps Service CIDR 10.96.0.0/16 of cluster west: clusters of a ClusterSet need networks of their own
    south: Service CIDR 10.0.0.0/8 overlaps Service CIDR 10.96.0.0/16 of cluster west: clusters of a ClusterSet need networks of their own
    south: Service CIDR 10.0.0.0/8 overlaps Service CIDR 10.97.0.0/16 of cluster east: clusters of a ClusterSet need networks of their own
    ");
}

#[test]
fn networks_that_are_not_used_may_overlap() {
    let clusters = "east: 10.96.0.0/16 / 10.10.0.0/16\n west: 10.97.0.0/16 / 10.10.0.0/16";
    assert_eq!(settle(clusters, ClusterIps, Off).1, "");
    insta::assert_snapshot!(settle(clusters, ClusterIps, On).1, @"west: Pod CIDR 10.10.0.0/16 overlaps Pod CIDR 10.10.0.0/16 of cluster east: clusters of a ClusterSet need networks of their own");
    let clusters = "east: 10.96.0.0/16 / 10.10.0.0/16\n west: 10.96.0.0/16 / 10.11.0.0/16";
    assert_eq!(settle(clusters, PodIps, Off).1, "");
}

#[test]
fn no_cluster_has_the_whole_world() {
    insta::assert_snapshot!(settle("east: 0.0.0.0/0\n west: fe80::/64 ::/0", ClusterIps, Off).1, @"
    east: Service CIDR 0.0.0.0/0 contains loopback, link-local, multicast or reserved addresses: name the networks of the cluster
    west: Service CIDR fe80::/64 contains loopback, link-local, multicast or reserved addresses: name the networks of the cluster
    west: Service CIDR ::/0 contains loopback, link-local, multicast or reserved addresses: name the networks of the cluster
    ");
}

#[test]
fn an_address_belongs_to_the_one_that_claims_it() {
    let (claims, _) = settle(
        "east: 10.96.0.0/16 / 10.10.0.0/16
         west: 10.97.0.0/16
         refused: 10.97.0.0/24",
        ClusterIps,
        Off,
    );
    let check = |cluster: &str, address: &str| {
        let cluster: ClusterId = cluster.parse().unwrap();
        claims
            .check(&cluster, address.parse().unwrap())
            .map_or_else(|error| error.to_string(), |()| "may".to_owned())
    };
    assert_eq!(check("east", "10.96.1.1"), "may");
    assert_eq!(check("east", "10.10.1.1"), "may");
    assert_eq!(check("east", "10.11.1.1"), "10.11.1.1 is in no network that cluster east has announced");
    assert_eq!(check("east", "10.97.1.1"), "10.97.1.1 is in Service CIDR 10.97.0.0/16 of cluster west");
    assert_eq!(check("refused", "10.97.0.1"), "10.97.0.1 is in Service CIDR 10.97.0.0/16 of cluster west");
    assert_eq!(
        check("refused", "10.98.0.1"),
        "10.98.0.1 is in no network that cluster refused has announced"
    );
    assert_eq!(check("upstream", "10.98.0.1"), "may");
    assert_eq!(check("upstream", "10.96.0.1"), "10.96.0.1 is in Service CIDR 10.96.0.0/16 of cluster east");
    for address in [
        "127.0.0.1",
        "169.254.169.254",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "fe80::1",
        "::ffff:10.96.0.1",
    ] {
        let unusable = format!("{address} is a loopback, link-local, multicast or reserved address");
        assert_eq!(check("upstream", address), unusable);
    }
}

fn announced(fields: &str, pods: PodConnectivity) -> String {
    let announce: MemberClusterAnnounce =
        serde_saphyr::from_str(&format!("{{clusterID: east, {fields}}}")).unwrap();
    let (claim, problems) = claim_of_announce(&announce, pods);
    let networks = claim.map_or("nothing".to_owned(), |claim| {
        claim.networks().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    });
    problems.iter().fold(networks, |text, problem| format!("{text}; {problem}"))
}

#[test]
fn a_member_claims_what_it_announces_and_others_use() {
    let both = "serviceCIDRs: [10.96.0.0/16], podCIDRs: [10.10.0.0/16]";
    assert_eq!(announced(both, Off), "Service CIDR 10.96.0.0/16");
    assert_eq!(announced(both, On), "Service CIDR 10.96.0.0/16, Pod CIDR 10.10.0.0/16");
    assert_eq!(announced(&format!("{both}, endpointIPType: PodIP"), Off), "Pod CIDR 10.10.0.0/16");
    assert_eq!(announced("", On), "nothing");
    assert_eq!(
        announced("serviceCIDRs: [10.96.0.0/33]", Off),
        "; serviceCIDRs[0]: \"10.96.0.0/33\" is no network, as 10.0.0.0/16"
    );
}

#[test]
fn a_network_is_claimed_once_and_no_more_than_64_of_a_kind() {
    assert_eq!(
        announced("serviceCIDRs: [10.96.0.0/16, 10.96.7.7/16, 10.96.0.0/16]", Off),
        "Service CIDR 10.96.0.0/16"
    );
    let many: Vec<String> = (0..200).map(|number| format!("10.{number}.0.0/16")).collect();
    let claimed = announced(&format!("serviceCIDRs: [{}]", many.join(", ")), Off);
    assert_eq!(claimed.split(", ").count(), 64);
    assert!(claimed.ends_with("Service CIDR 10.63.0.0/16"), "{claimed}");
}

/// A network of IPv4 in 10.0.0.0/8 that others easily overlap.
fn networks() -> impl Strategy<Value = Vec<IpNet>> {
    let network = (0_u8..8, 0_u8..4, 10_u8..26).prop_map(|(second, third, length)| {
        IpNet::new([10, second, third, 0].into(), length).unwrap().trunc()
    });
    prop::collection::vec(network, 0..6)
}

proptest! {
    /// Networks are found by their first address, not by looking at all of them: that comes to the same.
    #[test]
    fn claims_answer_as_a_walk_over_all_networks_does(
        claimed in prop::collection::vec((networks(), networks()), 1..6),
        address in (0_u8..8, 0_u8..4, 0_u8..4),
    ) {
        let name = |number: usize| -> ClusterId { format!("c{number}").parse().unwrap() };
        let claims: Vec<Export<Claim>> = (0..).zip(&claimed).map(|(number, (services, pods))| Export {
            cluster: name(number),
            created: jiff::Timestamp::from_second(i64::try_from(number).unwrap()).unwrap(),
            payload: Claim::new(services, pods, ClusterIps, On),
        }).collect();
        let (settled, refused) = Claims::settle(&claims.iter().collect::<Vec<_>>(), &[], &[], &GatewayBindings::default());
        let mut standing: Vec<&Export<Claim>> = Vec::new();
        for claim in &claims {
            let taken = claim.payload.networks().any(|network| standing.iter().any(|other| {
                other.payload.networks().any(|theirs| theirs.cidr.contains(&network.cidr) || network.cidr.contains(&theirs.cidr))
            }));
            prop_assert_eq!(refused.networks.contains_key(&claim.cluster), taken, "{}", claim.cluster);
            if !taken {
                standing.push(claim);
            }
        }
        let address = IpAddr::from([10, address.0, address.1, address.2]);
        let owner = standing.iter().find(|claim| claim.payload.networks().any(|network| network.cidr.contains(&address)));
        for claim in &claims {
            let expected = owner.map_or("NotOwn", |owner| if owner.cluster == claim.cluster { "Ok" } else { "Foreign" });
            let got = match settled.check(&claim.cluster, address) {
                Ok(()) => "Ok",
                Err(AddressRefused::NotOwn { .. }) => "NotOwn",
                Err(AddressRefused::NotBound { .. }) => "NotBound",
                Err(AddressRefused::NotGranted { .. }) => "NotGranted",
                Err(AddressRefused::Foreign { .. }) => "Foreign",
                Err(AddressRefused::Former { .. }) => "Former",
                Err(AddressRefused::Unusable(_)) => "Unusable",
            };
            prop_assert_eq!(got, expected, "{} of {}", address, claim.cluster);
        }
    }
}
