//! Networks of Pods that members name for the export of Pods alone.

use serde_json::json;

use super::imports::web;
use super::members::{SET, announce};
use super::networks::{account, bound};
use super::others::cluster_info;
use super::world::World;

/// A headless Service with one Pod.
fn db(cluster: &str, pod: &str) -> String {
    web(cluster, 80, pod, 5).replace("-shop-web-", "-shop-db-").replace("name: web", "name: db")
}

/// Members `east`, the older one, and `west`, each with a Service and a Gateway.
fn two() -> World {
    let objects = [
        SET.to_owned(),
        announce("east", 1, "serviceCIDRs: [10.100.0.0/16]"),
        announce("west", 2, "serviceCIDRs: [10.101.0.0/16]"),
        cluster_info("east", 3, "10.100.0.0/16", "172.18.1.1"),
        cluster_info("west", 4, "10.101.0.0/16", "172.18.2.1"),
        web("east", 80, "10.100.0.1", 1),
        web("west", 80, "10.101.0.1", 2),
    ];
    let mut world = World::of(&objects.concat());
    world.actions();
    world.wait(1, &["east", "west"]);
    world.actions();
    world
}

fn names(world: &mut World, cluster: &str, networks: &[&str]) {
    world.edit("MemberClusterAnnounce", &format!("member-announce-from-{cluster}"), |announce| {
        announce["nodePodCIDRs"] = json!(networks);
    });
}

/// What a member is told of its networks of Pods, and which of them it has.
fn told(world: &World, cluster: &str) -> String {
    let announce = world.object("MemberClusterAnnounce", &format!("member-announce-from-{cluster}"));
    let status = &announce["status"];
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    let condition =
        conditions.find(|condition| condition["type"] == "PodNetworks").cloned().unwrap_or_default();
    let part = |name: &str| condition[name].as_str().unwrap_or_default().to_owned();
    let (has, message) = (&status["podCIDRs"], part("message"));
    format!("{} {} has {has} {message}", part("status"), part("reason")).trim_end().to_owned()
}

/// The addresses of the headless Service, by cluster.
fn imported(world: &World) -> String {
    let endpoints = world.object("ResourceImport", "shop-db-endpoints")["spec"]["endpoints"].clone();
    let clusters = endpoints["clusters"].as_array().into_iter().flatten();
    let text = |of: &serde_json::Value| {
        format!("{} {}", of["clusterID"], of["endpointSlices"][0]["endpoints"][0]["addresses"][0])
    };
    clusters.map(text).collect::<Vec<_>>().join(", ").replace('"', "")
}

#[test]
fn headless_endpoints_stay_while_there_is_no_gateway() {
    let info = cluster_info("east", 3, "10.100.0.0/16", "172.18.1.1")
        .replace("gatewayInfos", "podCIDRs: [10.10.0.0/16], gatewayInfos");
    let networks = "serviceCIDRs: [10.100.0.0/16]\npodCIDRs: [10.10.0.0/16]";
    let objects = [SET.to_owned(), announce("east", 1, networks), info, db("east", "10.10.0.1")];
    let mut world = World::of(&objects.concat());
    world.actions();
    assert_eq!(imported(&world), "east 10.10.0.1");
    world.delete("ResourceExport", "east-clusterinfo");
    let actions = world.actions();
    assert!(!world.has("ResourceImport", "east-clusterinfo"), "{actions}");
    assert!(!actions.contains("ResourceImport shop-db-endpoints"), "{actions}");
    assert_eq!(told(&world, "east"), "True Granted has [\"10.10.0.0/16\"]");
    world.restart();
    assert_eq!(world.actions(), "");
}

#[test]
fn two_members_with_one_pod_network_keep_services_and_gateways() {
    let mut world = two();
    names(&mut world, "west", &["10.244.0.0/16"]);
    world.apply(&db("west", "10.244.0.1"));
    world.actions();
    names(&mut world, "east", &["10.244.0.0/16"]);
    world.apply(&db("east", "10.244.0.2"));
    let actions = world.actions();
    assert!(!actions.contains("delete ") && !actions.contains("Conflict=True"), "{actions}");
    let left_out = "tell east-shop-db-endpoints: Succeeded=True PartlyImported left out: 10.244.0.2 is in Pod CIDR \
                    10.244.0.0/16 of cluster west\n";
    assert!(actions.contains(left_out), "{actions}");
    assert!(
        world.has("ResourceImport", "east-clusterinfo") && world.has("ResourceImport", "west-clusterinfo")
    );
    assert_eq!(imported(&world), "west 10.244.0.1");
    assert_eq!(told(&world, "west"), "True Granted has [\"10.244.0.0/16\"]");
    assert_eq!(
        told(&world, "east"),
        "False NetworkRefused has null Pod CIDR 10.244.0.0/16 overlaps Pod CIDR 10.244.0.0/16 of cluster west: clusters of a \
         ClusterSet need networks of their own; Pods in it, as those of headless Services, are not exported"
    );
    let set = world.object("ClusterSet", "cs1")["status"].to_string();
    assert!(set.contains("\"reason\":\"NetworkRefused\"") && set.contains("\"reason\":\"Granted\""), "{set}");
    world.restart();
    assert_eq!(world.actions(), "");
}

#[test]
fn an_older_member_takes_no_pod_network_from_one_that_has_it() {
    let mut world = two();
    names(&mut world, "west", &["10.244.0.0/16"]);
    world.actions();
    names(&mut world, "east", &["10.244.0.0/16"]);
    world.actions();
    assert!(told(&world, "east").starts_with("False NetworkRefused"), "{}", told(&world, "east"));
    world.restart();
    assert_eq!(world.actions(), "");
    for cluster in ["east", "west"] {
        world.edit("MemberClusterAnnounce", &format!("member-announce-from-{cluster}"), |announce| {
            announce["status"] = json!({});
        });
    }
    world.restart();
    world.actions();
    assert!(told(&world, "east").starts_with("True Granted"), "{}", told(&world, "east"));
    assert!(told(&world, "west").starts_with("False NetworkRefused"), "{}", told(&world, "west"));
}

#[test]
fn a_cluster_info_loses_no_more_than_the_networks_of_pods_of_others() {
    let mut world = two();
    for cluster in ["west", "east"] {
        names(&mut world, cluster, &["10.244.0.0/16"]);
        world.edit("ResourceExport", &format!("{cluster}-clusterinfo"), |export| {
            export["spec"]["clusterInfo"]["podCIDRs"] = json!(["10.244.0.0/16"]);
        });
        world.actions();
    }
    let imported = |cluster: &str| {
        world.object("ResourceImport", &format!("{cluster}-clusterinfo"))["spec"]["clusterinfo"].clone()
    };
    assert_eq!(imported("west")["podCIDRs"], json!(["10.244.0.0/16"]));
    assert_eq!(imported("east")["podCIDRs"], json!(null));
    assert_eq!(imported("east")["serviceCIDR"], "10.100.0.0/16");
    let export = world.object("ResourceExport", "east-clusterinfo");
    assert_eq!(
        export["status"]["conditions"][0]["message"],
        "left out: 10.244.0.0/16 is in Pod CIDR 10.244.0.0/16, which cluster east does not have"
    );
}

/// Unlike one that others reach.
#[test]
fn a_pod_network_that_a_member_names_no_more_is_that_of_the_next_one() {
    let mut world = two();
    let says = |world: &mut World, networks: &[&str]| {
        names(world, "west", networks);
        world.actions();
        ["west", "east"].map(|cluster| told(world, cluster).split(" has ").next().unwrap().trim().to_owned())
    };
    let network: &[&str] = &["10.244.0.0/16"];
    names(&mut world, "west", network);
    world.actions();
    names(&mut world, "east", network);
    assert_eq!(says(&mut world, network), ["True Granted", "False NetworkRefused"]);
    assert_eq!(says(&mut world, &[]), ["", "True Granted"]);
    assert_eq!(says(&mut world, network), ["False NetworkRefused", "True Granted"], "it comes back too late");
    world.apply(&account("west", 20, &bound("10.101.0.0/16,10.244.0.0/16")));
    assert_eq!(says(&mut world, network), ["True Granted", "False NetworkRefused"]);
    assert_eq!(says(&mut world, &[]), ["", "True Granted"]);
    assert_eq!(
        says(&mut world, network),
        ["True Granted", "False NetworkRefused"],
        "what is bound goes first"
    );
    world.apply(&account("east", 20, &bound("10.100.0.0/16")));
    assert_eq!(says(&mut world, &[]), ["", ""], "another one may not have it");
}

/// Others send nothing to it, and it may be that of another member.
#[test]
fn a_private_network_of_services_need_not_be_bound_where_pods_are_the_endpoints() {
    let networks = "serviceCIDRs: [10.96.0.0/16]\npodCIDRs: [1.1.1.0/24]\nendpointIPType: PodIP";
    let objects = [
        SET.to_owned(),
        announce("v", 0, "serviceCIDRs: [10.96.0.0/16]"),
        announce("b", 1, networks),
        account("b", 20, ""),
        cluster_info("b", 3, "10.96.0.0/16", "172.18.2.1"),
    ];
    let mut world = World::of(&objects.concat());
    world.actions();
    let offered = super::networks::told(&world, "b");
    let command = "networks=1.1.1.0/24`; no command is offered for these: Service CIDR 10.96.0.0/16 overlaps";
    assert!(offered.contains(command), "{offered}");
    world.apply(&account("b", 20, &bound("1.1.1.0/24")));
    world.actions();
    assert_eq!(super::networks::told(&world, "b"), "");
    let export = world.object("ResourceExport", "b-clusterinfo");
    let told = &export["status"]["conditions"][0]["message"];
    assert_eq!(told, "left out: no admin of the leader has bound 10.96.0.0/16 to cluster b");
}
