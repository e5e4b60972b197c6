//! What the claims of one member cost all.

use antrea_shared_api::multicluster::v1alpha1::{MemberClusterAnnounce, ResourceExport};
use serde_json::{Value, json};

use super::{ClaimBook, Networks};
use crate::bindings::{Approval, Binding};
use crate::looks::count;

/// The announce of `east`, with so many networks of Services and of Pods, each around the next one, and of which so many parts
/// are written down.
fn nested(networks: u8, parts: u32) -> MemberClusterAnnounce {
    let around = |of: &str| (0..networks).map(|number| format!("{of}::/{}", 57 + number)).collect::<Vec<_>>();
    let within = |of: &str| (0..parts).map(|number| format!("{of}::{number:x}/128")).collect::<Vec<_>>();
    let had = |cidr: &String| json!({ "cidr": cidr, "since": "2026-11-20T00:00:00Z" });
    let announce = json!({
        "metadata": { "creationTimestamp": "2026-11-21T00:00:00Z" },
        "clusterID": "east",
        "serviceCIDRs": around("fd00"),
        "nodePodCIDRs": around("fd01"),
        "status": {
            "networks": within("fd00").iter().map(had).collect::<Vec<Value>>(),
            "podCIDRs": within("fd01"),
        },
    });
    serde_json::from_value(announce).unwrap()
}

/// Takes in what a member says, and decides.
fn say(book: &mut ClaimBook, announce: &MemberClusterAnnounce, info: Option<&ResourceExport>) {
    let cluster = announce.cluster_id.parse().unwrap();
    book.update(&cluster, Networks { announce: Some(announce), info }, Approval::default());
    book.settle();
}

fn looks(networks: u8, parts: u32) -> usize {
    let announce = nested(networks, parts);
    count(|| say(&mut ClaimBook::default(), &announce, None))
}

#[test]
fn a_record_costs_as_much_as_it_has_networks() {
    let (some, twice) = (looks(64, 128), looks(64, 256));
    assert!(twice < 2 * some, "{some} looks at 128 parts, {twice} at 256");
    assert!(twice < 30 * 256, "{twice} looks at 256 parts of 64 networks");
    assert_eq!(looks(64, 5_000), twice, "no more are read than the leader writes");
}

/// All that is new of its claim falls, and what is written down of it stays.
#[test]
fn a_member_with_a_record_of_many_parts_changes_its_gateway_as_cheaply_as_others() {
    let mut book = ClaimBook::default();
    let older = json!({
        "metadata": { "creationTimestamp": "2026-11-20T00:00:00Z" },
        "clusterID": "west",
        "serviceCIDRs": ["fd00:0:0:40::/64"],
    });
    say(&mut book, &serde_json::from_value(older).unwrap(), None);
    let announce = nested(64, 256);
    for host in 1..=20 {
        let info = json!({ "spec": {
            "kind": "ClusterInfo",
            "clusterInfo": { "gatewayInfos": [{ "gatewayIP": format!("172.18.0.{host}") }] },
        }});
        let info: ResourceExport = serde_json::from_value(info).unwrap();
        let looks = count(|| say(&mut book, &announce, Some(&info)));
        assert!(looks < 30 * 256, "{looks} looks for Gateway {host}");
    }
    let east = "east".parse().unwrap();
    assert_eq!(book.settled().standing(&east).unwrap().networks().count(), 256);
    assert_eq!(book.refused(&east).unwrap().networks.len(), 1, "the widest is around a network of the other");
}

/// What is bound to others is looked up for each network that is not bound to the member.
#[test]
fn networks_that_are_bound_to_others_cost_a_member_without_approval_nothing() {
    let public: Vec<String> = (0..64).map(|number| format!("2600:{number}::/32")).collect();
    let announce = json!({
        "metadata": { "creationTimestamp": "2026-11-21T00:00:00Z" },
        "clusterID": "east",
        "serviceCIDRs": public,
    });
    let announce: MemberClusterAnnounce = serde_json::from_value(announce).unwrap();
    let looks = |others: u8| {
        let mut book = ClaimBook::default();
        for other in 0..others {
            let networks = vec![format!("203.0.{other}.0/24").parse().unwrap()];
            let binding = Binding { networks, is_exact: true, ..Binding::default() };
            let cluster = format!("other{other}").parse().unwrap();
            book.update(&cluster, Networks::default(), Approval { binding, ..Approval::default() });
        }
        let looks = count(|| say(&mut book, &announce, None));
        assert_eq!(book.unapproved(&"east".parse().unwrap()).unwrap().wanted.len(), 64);
        looks
    };
    assert_eq!(looks(1), looks(200));
    assert_eq!(looks(1) - looks(0), 64, "each network is looked up");
}
