//! Networks that admins bind to members, and those that need nobody's approval.

use serde_json::json;

use super::imports::web;
use super::members::{SET, announce};
use super::others::cluster_info;
use super::world::World;

/// The ServiceAccount of a member, made on a day of November; `networks` is its annotation, with a comma before it.
pub(super) fn account(cluster: &str, day: u8, networks: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: {cluster}-token, namespace: antrea-multicluster, \
         creationTimestamp: '2026-11-{day:02}T00:00:00Z', annotations: {{multicluster.antrea.io/cluster-id: \
         {cluster}{networks}}}}}\n---\n"
    )
}

pub(super) fn bound(networks: &str) -> String {
    format!(", multicluster.antrea.io/networks: '{networks}'")
}

/// A leader that has known for long that networks need approval.
pub(super) fn set() -> String {
    SET.trim_end_matches("---\n").to_owned() + "status: {networkApprovalSince: '2026-11-20T00:00:00Z'}\n---\n"
}

/// What `b` says of its networks, besides its Gateway.
pub(super) fn info(networks: &str) -> String {
    cluster_info("b", 3, "10.102.0.0/16", "172.18.2.1")
        .replace("gatewayInfos", &format!("serviceCIDRs: [{networks}], gatewayInfos"))
}

/// Member `b`, with a private network and a public one.
pub(super) fn b() -> [String; 4] {
    let networks = "10.102.0.0/16, 1.1.1.0/24";
    [
        account("b", 20, ""),
        announce("b", 1, &format!("serviceCIDRs: [{networks}]")),
        info(networks),
        web("b", 80, "10.102.0.9", 4),
    ]
}

pub(super) fn world(set: &str) -> World {
    let mut world = World::of(&(set.to_owned() + &b().concat()));
    world.wait(1, &["b"]);
    world
}

/// The networks of `b` that others import.
pub(super) fn imported(world: &World) -> String {
    let info = &world.object("ResourceImport", "b-clusterinfo")["spec"]["clusterinfo"];
    let more = info["serviceCIDRs"].as_array().into_iter().flatten();
    let all = [&info["serviceCIDR"]].into_iter().chain(more);
    all.map(|network| network.as_str().unwrap()).collect::<Vec<_>>().join(" ")
}

/// The condition that the announce of a cluster has.
pub(super) fn told(world: &World, cluster: &str) -> String {
    let announce = world.object("MemberClusterAnnounce", &format!("member-announce-from-{cluster}"));
    let conditions = announce["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let text = |condition: &serde_json::Value| {
        let part = |name: &str| condition[name].as_str().unwrap().to_owned();
        format!("{}={} {}: {}", part("type"), part("status"), part("reason"), part("message"))
    };
    conditions.iter().map(text).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_public_network_is_nobodys_before_an_admin_has_bound_it() {
    let mut world = world(&set());
    let actions = world.actions();
    assert!(actions.contains("create ResourceImport shop-web-endpoints"), "the rest counts: {actions}");
    assert_eq!(imported(&world), "10.102.0.0/16 10.102.0.0/16");
    insta::assert_snapshot!(told(&world, "b"), @"NetworkUnapproved=True NotBound: no admin of the leader has bound to cluster b: Service CIDR 1.1.1.0/24; if all networks in this command are those of the cluster, run it in the leader: `kubectl annotate serviceaccount --namespace antrea-multicluster b-token --overwrite multicluster.antrea.io/networks=1.1.1.0/24,10.102.0.0/16`");
    let export = world.object("ResourceExport", "b-clusterinfo");
    assert_eq!(
        export["status"]["conditions"][0]["message"],
        "left out: no admin of the leader has bound 1.1.1.0/24 to cluster b"
    );
    world.apply(&account("b", 20, &bound("1.1.1.0/24,10.102.0.0/16")));
    world.actions();
    assert_eq!(imported(&world), "10.102.0.0/16 10.102.0.0/16 1.1.1.0/24");
    assert_eq!(told(&world, "b"), "");
    world.apply(&account("b", 20, &bound("10.102.0.0/16")));
    world.actions();
    assert_eq!(
        imported(&world),
        "10.102.0.0/16 10.102.0.0/16",
        "what is bound is all that a member may have"
    );
}

/// `b` claims these networks of Services.
pub(super) fn claims(world: &mut World, networks: &[&str]) {
    world.edit("MemberClusterAnnounce", "member-announce-from-b", |announce| {
        announce["serviceCIDRs"] = json!(networks);
    });
    world.actions();
}

/// A member tries again what was refused when it is told something else.
#[test]
fn what_others_claim_is_told_to_no_member_of_whose_claims_some_are_refused() {
    let both = announce("v", 0, "serviceCIDRs: [10.101.0.0/16]")
        + &announce("b", 1, "serviceCIDRs: [10.102.0.0/16]");
    let mut world = World::of(&(set() + &both));
    world.actions();
    claims(&mut world, &["10.102.0.0/16", "10.101.0.0/16"]);
    let refused = told(&world, "b");
    assert!(refused.starts_with("Conflict=True NetworkRefused: "), "{refused}");
    world.apply(&announce("c", 3, "serviceCIDRs: [10.102.0.0/16]"));
    let actions = world.actions();
    let contested =
        "Service CIDR 10.102.0.0/16 overlaps Service CIDR 10.102.0.0/16 of cluster c, which is refused";
    assert!(actions.contains(contested), "the ClusterSet of the leader has it: {actions}");
    assert!(!actions.contains("tell member-announce-from-b"), "{actions}");
    assert_eq!(told(&world, "b"), refused);
    claims(&mut world, &["10.102.0.0/16"]);
    assert!(told(&world, "b").starts_with("Conflict=True NetworkContested: "), "{}", told(&world, "b"));
}

#[test]
fn endpoints_in_a_network_that_is_not_bound_are_left_out() {
    let mut world = world(&set());
    world.apply(&web("b", 80, "1.1.1.9", 4));
    let actions = world.actions();
    let told = "tell b-shop-web-endpoints: Succeeded=True PartlyImported left out: 1.1.1.9 is in Service CIDR 1.1.1.0/24, \
                which no admin of the leader has bound to cluster b\n";
    assert!(actions.contains(told), "{actions}");
}

#[test]
fn an_older_member_takes_no_network_that_a_younger_one_has() {
    let objects = [
        set(),
        announce("old", 1, "serviceCIDRs: [10.101.0.0/16]"),
        announce("new", 2, "serviceCIDRs: [10.102.0.0/16]"),
        cluster_info("old", 3, "10.101.0.0/16", "172.18.1.1"),
        cluster_info("new", 4, "10.102.0.0/16", "172.18.2.1"),
    ];
    let mut world = World::of(&objects.concat());
    world.actions();
    let said = |world: &mut World, networks: &[&str]| {
        world.edit("MemberClusterAnnounce", "member-announce-from-old", |announce| {
            announce["serviceCIDRs"] = json!(networks);
        });
        let actions = world.actions();
        assert!(!actions.contains("ResourceImport"), "nobody loses anything: {actions}");
        let status = &world.object("MemberClusterAnnounce", "member-announce-from-old")["status"];
        let had = status["networks"].as_array().cloned().unwrap_or_default();
        had.iter().map(|had| had["cidr"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(said(&mut world, &["10.101.0.0/16", "10.102.0.0/16"]), "10.101.0.0/16");
    assert!(told(&world, "old").starts_with("Conflict=True NetworkRefused"), "{}", told(&world, "old"));
    assert!(told(&world, "new").starts_with("Conflict=True NetworkContested"), "{}", told(&world, "new"));
    assert_eq!(said(&mut world, &["10.100.0.0/14"]), "10.101.0.0/16", "it has grown");
    world.restart();
    assert_eq!(world.actions(), "", "what was written down decides, not who is older");
    assert_eq!(said(&mut world, &["10.101.0.0/16"]), "10.101.0.0/16");
    assert_eq!(told(&world, "new"), "");
}

#[test]
fn a_member_that_keeps_its_announce_while_that_is_deleted_has_no_networks() {
    let networks = "serviceCIDRs: [10.102.0.0/16]";
    let info = cluster_info("m", 3, "10.102.0.0/16", "172.18.2.1");
    let objects = [set(), announce("m", 1, networks), announce("heir", 2, networks), info.clone()];
    let mut world = World::of(&objects.concat());
    world.actions();
    assert!(told(&world, "heir").starts_with("Conflict=True NetworkRefused"), "{}", told(&world, "heir"));
    world.edit("MemberClusterAnnounce", "member-announce-from-m", |announce| {
        let finalizers = announce["metadata"]["finalizers"].as_array_mut().unwrap();
        finalizers.push(json!("example.org/held"));
    });
    world.delete("MemberClusterAnnounce", "member-announce-from-m");
    let actions = world.actions();
    assert!(world.has("MemberClusterAnnounce", "member-announce-from-m"), "{actions}");
    assert_eq!(told(&world, "heir"), "", "{actions}");
    world.apply(&info);
    let actions = world.actions();
    assert!(!world.has("ResourceImport", "m-clusterinfo"), "{actions}");
    assert_eq!(told(&world, "heir"), "", "what it exports goes, and takes nothing");
}

/// Other clusters send what is for a Service CIDR to the Gateway of the cluster that tells them of it.
#[test]
fn no_network_of_another_member_is_imported_as_a_service_cidr() {
    let own = "10.102.0.0/16";
    let check = |drawn: &str, expected: [&str; 2]| {
        let info = cluster_info("m", 4, drawn, "172.18.2.1");
        let objects = [
            set(),
            announce("a", 1, "serviceCIDRs: [10.101.0.0/16]\nnodePodCIDRs: [10.110.0.0/24]"),
            cluster_info("a", 3, "10.101.0.0/16", "172.18.1.1"),
            announce(
                "m",
                2,
                &format!("serviceCIDRs: [{own}, {drawn}]\npodCIDRs: [10.112.0.0/16]\nendpointIPType: PodIP"),
            ),
            info.replace("gatewayInfos", &format!("serviceCIDRs: [{own}], gatewayInfos")),
        ];
        let mut world = World::of(&objects.concat());
        world.actions();
        let info = &world.object("ResourceImport", "m-clusterinfo")["spec"]["clusterinfo"];
        assert_eq!([&info["serviceCIDR"], &info["serviceCIDRs"][0]], expected, "{drawn}");
    };
    check("10.103.0.0/16", ["10.103.0.0/16", own]);
    for of_others in ["10.101.0.0/16", "10.110.0.0/16", "172.18.0.0/16"] {
        check(of_others, [own, own]);
    }
}

/// The Gateway beside it is imported all the same.
#[test]
fn neither_of_two_fields_tells_of_a_network_of_another() {
    let (own, both) = ("10.102.0.0/16", "10.102.0.0/16, 10.101.0.0/16");
    for (one, list) in [("10.101.0.0/16", own), (own, both), ("10.101.0.0/16", both)] {
        let info = cluster_info("b", 4, one, "172.18.2.1");
        let objects = [
            set(),
            announce("a", 1, "serviceCIDRs: [10.101.0.0/16]"),
            announce("b", 2, &format!("serviceCIDRs: [{own}]")),
            info.replace("gatewayInfos", &format!("serviceCIDRs: [{list}], gatewayInfos")),
        ];
        let mut world = World::of(&objects.concat());
        world.actions();
        assert_eq!(imported(&world), "10.102.0.0/16 10.102.0.0/16", "{one} {list}");
        let import = &world.object("ResourceImport", "b-clusterinfo")["spec"]["clusterinfo"];
        assert_eq!(import["gatewayInfos"], json!([{"gatewayIP": "172.18.2.1"}]));
    }
}

#[test]
fn what_an_admin_bound_goes_before_what_an_older_member_says() {
    let older = announce("a", 0, "serviceCIDRs: [10.0.0.0/8]");
    let mut world = World::of(&(set() + &older + &b().concat()));
    world.actions();
    assert!(told(&world, "b").contains("Conflict=True NetworkRefused"), "{}", told(&world, "b"));
    world.apply(&account("b", 20, &bound("10.102.0.0/16,1.1.1.0/24")));
    world.actions();
    assert!(told(&world, "a").starts_with("Conflict=True NetworkRefused"), "{}", told(&world, "a"));
    assert!(told(&world, "b").starts_with("Conflict=True NetworkContested"), "{}", told(&world, "b"));
}

/// The ClusterSet has the conditions of all members, and etcd takes no object of more than 1.5 MiB.
#[test]
fn what_a_member_is_told_has_4096_bytes_at_most() {
    let mut objects = vec![set()];
    for number in 0..20 {
        let networks = format!("serviceCIDRs: [10.{number}.0.0/16]");
        objects.push(announce(&format!("c{number}"), 1, &networks));
    }
    let wider: Vec<String> = (0..64).map(|number| format!("10.{number}.0.0/{}", 10 + number % 4)).collect();
    objects.push(announce("greedy", 9, &format!("serviceCIDRs: [{}]", wider.join(", "))));
    let mut world = World::of(&objects.concat());
    world.actions();
    let greedy = told(&world, "greedy");
    assert!(greedy.starts_with("Conflict=True NetworkRefused: ") && greedy.ends_with(" ..."), "{greedy}");
    let set = world.object("ClusterSet", "cs1");
    let statuses = set["status"]["clusterStatuses"].as_array().unwrap();
    let conditions = statuses.iter().flat_map(|status| status["conditions"].as_array().unwrap());
    let longest = conditions.map(|condition| condition["message"].as_str().unwrap_or_default().len()).max();
    assert_eq!(longest, Some(4096));
}

/// It had the Gateway first, and its announce is older.
#[test]
fn a_gateway_keeps_no_member_from_a_network_that_is_bound_to_it() {
    let squatter = [
        announce("a", 0, "serviceCIDRs: [10.101.0.0/16]"),
        cluster_info("a", 1, "10.101.0.0/16", "172.18.1.1, 10.102.7.7"),
    ];
    let mut world = World::of(&(set() + &squatter.concat()));
    world.actions();
    world.apply(&b().concat());
    world.actions();
    let network = |world: &World| {
        world.object("ResourceImport", "b-clusterinfo")["spec"]["clusterinfo"]["serviceCIDR"].clone()
    };
    assert_eq!(network(&world), json!(null));
    assert!(told(&world, "b").starts_with("Conflict=True NetworkRefused"), "{}", told(&world, "b"));
    world.apply(&account("b", 20, &bound("10.102.0.0/16,1.1.1.0/24")));
    world.actions();
    assert_eq!(network(&world), json!("10.102.0.0/16"));
    let refused = "GatewayRefused: Gateway 10.102.7.7 is in Service CIDR 10.102.0.0/16 of cluster b";
    assert!(told(&world, "a").contains(refused), "{}", told(&world, "a"));
    let gateways = &world.object("ResourceImport", "a-clusterinfo")["spec"]["clusterinfo"]["gatewayInfos"];
    assert_eq!(*gateways, json!([{"gatewayIP": "172.18.1.1"}]));
}

#[test]
fn so_many_gateways_of_a_member_are_imported_and_no_more() {
    let gateways: Vec<String> = (1..=10).map(|number| format!("172.18.2.{number}")).collect();
    let info = cluster_info("b", 3, "10.102.0.0/16", &gateways.join(", "));
    let mut world = World::of(&[set(), announce("b", 1, "serviceCIDRs: [10.102.0.0/16]"), info].concat());
    world.actions();
    let import = world.object("ResourceImport", "b-clusterinfo");
    assert_eq!(import["spec"]["clusterinfo"]["gatewayInfos"].as_array().unwrap().len(), 8);
    let status = &world.object("MemberClusterAnnounce", "member-announce-from-b")["status"];
    assert_eq!(status["gateways"].as_array().unwrap().len(), 8);
    let export = world.object("ResourceExport", "b-clusterinfo");
    let told = &export["status"]["conditions"][0]["message"];
    assert_eq!(told, "left out: 10 Gateways are named, and 8 imported");
}

#[test]
fn an_annotation_that_cannot_be_read_as_a_whole_binds_what_can() {
    let mut world = world(&set());
    world.apply(&account("b", 20, &bound("10.102.0.0/16, 1.1.1.0/33")));
    world.actions();
    assert_eq!(imported(&world), "10.102.0.0/16 10.102.0.0/16");
    let unreadable =
        "annotation multicluster.antrea.io/networks of ServiceAccount b-token: \"1.1.1.0/33\" is no network";
    assert!(told(&world, "b").contains(unreadable), "{}", told(&world, "b"));
}

#[test]
fn a_member_that_announces_no_networks_has_private_ones_of_its_cluster_info() {
    let objects =
        [set(), account("b", 20, ""), announce("b", 1, ""), info("10.102.0.0/16, 1.1.1.0/24, 'fd00:1::/64'")];
    let mut world = World::of(&objects.concat());
    world.actions();
    assert_eq!(imported(&world), "10.102.0.0/16 10.102.0.0/16 fd00:1::/64");
}

#[test]
fn endpoints_of_a_member_without_networks_are_anywhere_but_in_those_of_others_until_some_are_bound() {
    let others = announce("a", 0, "serviceCIDRs: [10.101.0.0/16]");
    let objects = [set(), others, account("b", 20, ""), announce("b", 1, ""), web("b", 80, "203.0.113.9", 4)];
    let mut world = World::of(&objects.concat());
    let actions = world.actions();
    assert!(actions.contains("tell b-shop-web-endpoints: Succeeded=True\n"), "{actions}");
    world.apply(&web("b", 80, "10.101.0.9", 4));
    let actions = world.actions();
    assert!(actions.contains("10.101.0.9 is in Service CIDR 10.101.0.0/16 of cluster a\n"), "{actions}");
    world.apply(&(account("b", 20, &bound("10.102.0.0/16")) + &web("b", 80, "203.0.113.9", 4)));
    let actions = world.actions();
    assert!(actions.contains("203.0.113.9 is in no network that cluster b has announced\n"), "{actions}");
    world.apply(&web("b", 80, "10.102.0.9", 4));
    let actions = world.actions();
    assert!(actions.contains("tell b-shop-web-endpoints: Succeeded=True\n"), "{actions}");
}
