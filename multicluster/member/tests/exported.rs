//! What a Gateway says that is exported: what that is, for how long, and how often it is written.

use std::time::Duration;

use antrea_kit::watch::WatchEvent;
use antrea_mc_core::addresses::EndpointAddresses;
use antrea_mc_member::area::Area;
use antrea_mc_member::export::{ExportedPods, Exporter, Membership, Networks, Subject};
use antrea_mc_member::kind::Kind;
use antrea_mc_member::leader::Class;
use antrea_mc_member::objects::{Change, Key};
use serde_json::json;

use crate::exports::{EXPORT, GATEWAY, SUCCEEDED, exporter, taken};
use crate::gateways::{YES, election, node};
use crate::objects::{Cluster, kind_of, read};

fn with_pods() -> Exporter {
    Exporter { addresses: EndpointAddresses::PodIps, ..exporter() }
}

/// What the Gateway lets in.
fn listed(cluster: &Cluster) -> String {
    let (_, gateway) = cluster.objects.all(Kind::Gateway).next().unwrap();
    let addresses = gateway["exported"]["addresses"].as_array().into_iter().flatten();
    addresses.map(|address| address.as_str().unwrap()).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check(exporter: &Exporter, yaml: &str, expected: &str) {
    let mut cluster = Cluster::of(&format!("{yaml}---\n{GATEWAY}"));
    cluster.settle(exporter);
    assert_eq!(listed(&cluster), expected);
}

#[test]
fn the_gateway_says_what_is_exported() {
    let (pods, web) = ("10.10.1.5/32 10.10.1.6/32", "10.96.0.7/32");
    check(&exporter(), EXPORT, web);
    check(&with_pods(), EXPORT, pods);
    let headless = EXPORT.replace("10.96.0.7", "None");
    check(&exporter(), &headless, pods);
    let (without_pods, _) = EXPORT.rsplit_once("---\n").unwrap();
    check(&exporter(), without_pods, web);
    let (_, not_exported) = EXPORT.split_once("---\n").unwrap();
    check(&exporter(), not_exported, "");
    let excluding = Exporter { excluded: ["shop".to_owned()].into(), ..exporter() };
    check(&excluding, EXPORT, "");
}

#[test]
fn a_leader_that_is_away_changes_nothing_of_it() {
    let unreachable = Some(Class::NoWay("nobody is there".to_owned()));
    let away = Membership::Joined { area: String::new(), unreachable };
    check(&Exporter { membership: away, ..exporter() }, EXPORT, "10.96.0.7/32");
    let mut cluster = Cluster::of(&format!("{EXPORT}---\n{GATEWAY}"));
    let left = Exporter { membership: Membership::None, ..exporter() };
    assert!(!cluster.settle(&left).contains("Gateway"), "it goes");
}

/// Which Pods it takes is not known then.
#[test]
fn pods_stay_open_while_the_leader_has_not_answered_since_the_start() {
    let unreachable = Some(Class::NoWay("nobody is there".to_owned()));
    let unheard = Exporter {
        networks: Networks::default(),
        pods: ExportedPods::default(),
        nodes: vec!["10.10.1.0/24".parse().unwrap()],
        membership: Membership::Joined { area: "area".to_owned(), unreachable },
        ..with_pods()
    };
    let said = "exported: {mode: Listed, addresses: [10.10.1.5/32, 10.10.1.6/32]}, gatewayIP";
    let mut life = Life::of(unheard, EXPORT, &GATEWAY.replace("gatewayIP", said));
    for at in [0, 60_000] {
        assert_eq!(life.listed(at), "10.10.1.5/32 10.10.1.6/32");
    }
    life.delete(70_000, Kind::ServiceExport, "web");
    assert_eq!(life.listed(90_000), "", "what is exported no more is closed all the same");
}

/// Without the mode the agent would let everything in, and with the mode alone nothing.
#[test]
fn a_gateway_of_an_older_version_gets_all_at_once() {
    let first = |yaml: &str| Cluster::of(&format!("{yaml}---\n{GATEWAY}")).plan(&exporter());
    let all = |addresses: &str| {
        format!(
            "patch Gateway kube-system/n1\n  exported.mode: \"Listed\"\n  exported.addresses: {addresses}\n  \
             exported.podCIDRs: [\"10.10.0.0/16\"]\n"
        )
    };
    let exporting = first(EXPORT);
    assert!(exporting.ends_with(&all("[\"10.96.0.7/32\"]")), "{exporting}");
    let exporting_nothing = first("");
    assert!(exporting_nothing.ends_with(&all("[]")), "{exporting_nothing}");
}

#[test]
fn a_new_gateway_is_made_with_nothing_exported() {
    let mut cluster = Cluster::of(&[node(1, YES, "").as_str(), EXPORT].concat());
    cluster.settle(&election());
    let (_, made) = cluster.objects.all(Kind::Gateway).next().unwrap();
    assert_eq!(made["exported"], json!({ "mode": "Listed" }));
    cluster.settle(&exporter());
    assert_eq!(listed(&cluster), "10.96.0.7/32");
    assert_eq!(cluster.settle(&election()), "", "what is exported is the exporter's");
}

/// A member whose time passes, in milliseconds.
struct Life {
    cluster: Cluster,
    exporter: Exporter,
}

impl Life {
    fn of(exporter: Exporter, yaml: &str, gateway: &str) -> Self {
        Self { cluster: Cluster::of(&format!("{yaml}---\n{gateway}")), exporter }
    }

    fn apply(&mut self, at: u64, yaml: &str) -> String {
        for object in read(yaml) {
            let changes = self.cluster.objects.learn(kind_of(&object), WatchEvent::Applied(object));
            self.learned(at, &changes);
        }
        self.listed(at)
    }

    fn delete(&mut self, at: u64, kind: Kind, name: &str) -> String {
        let change = self.cluster.objects.remove(&Key::new(kind, "shop", name)).pop().unwrap();
        self.learned(at, &[change]);
        self.listed(at)
    }

    fn learned(&mut self, at: u64, changes: &[Change]) {
        for change in changes {
            self.exporter.learned(&self.cluster.objects, change, Duration::from_millis(at));
        }
    }

    /// What the Gateway lets in then.
    fn listed(&mut self, at: u64) -> String {
        self.exporter.tick(&self.cluster.objects, Duration::from_millis(at));
        self.cluster.settle(&self.exporter);
        listed(&self.cluster)
    }

    /// When the time is looked at again, in milliseconds.
    fn again(&mut self, at: u64) -> Option<u128> {
        let again = self.exporter.tick(&self.cluster.objects, Duration::from_millis(at)).again;
        again.map(|again| again.as_millis())
    }
}

#[test]
fn exports_that_go_are_let_in_a_moment_longer() {
    let mut life = Life::of(exporter(), EXPORT, GATEWAY);
    assert_eq!(life.listed(0), "10.96.0.7/32");
    assert_eq!(life.delete(20_000, Kind::ServiceExport, "web"), "10.96.0.7/32");
    assert_eq!(life.listed(34_999), "10.96.0.7/32");
    assert_eq!(life.again(34_999), Some(35_000));
    assert_eq!(life.listed(35_000), "");
    assert_eq!(life.again(35_000), None);
}

#[test]
fn exports_that_come_back_are_let_in_all_the_time() {
    let mut life = Life::of(exporter(), EXPORT, GATEWAY);
    life.listed(0);
    life.delete(20_000, Kind::ServiceExport, "web");
    let (export, _) = EXPORT.split_once("---\n").unwrap();
    assert_eq!(life.apply(25_000, export), "10.96.0.7/32");
    assert_eq!((life.listed(60_000).as_str(), life.again(60_000)), ("10.96.0.7/32", None));
}

/// An EndpointSlice of Service web with one Pod.
fn slice(pod: u8) -> String {
    format!(
        "kind: EndpointSlice
metadata: {{name: web-of-{pod}, namespace: shop, labels: {{kubernetes.io/service-name: web}}}}
addressType: IPv4
ports: [{{name: http, port: 8080, protocol: TCP}}]
endpoints: [{{addresses: [10.10.1.{pod}]}}]
"
    )
}

/// The endpoints that the leader knows.
fn exported(life: &Life) -> String {
    let exports = life.cluster.objects.all(Kind::ResourceExport).map(|(_, export)| export);
    let endpoints = exports.filter_map(|export| export.pointer("/spec/endpoints")).map(ToString::to_string);
    endpoints.collect()
}

#[test]
fn pods_are_let_in_within_a_tenth_of_a_second_and_other_clusters_hear_of_them_then() {
    let mut life = Life::of(with_pods(), EXPORT, GATEWAY);
    assert_eq!(life.listed(0), "10.10.1.5/32 10.10.1.6/32");
    let first = life.apply(10_000, &slice(7));
    assert_eq!(first, "10.10.1.5/32 10.10.1.6/32 10.10.1.7/32", "at once");
    assert!(exported(&life).contains("10.10.1.7"), "{}", exported(&life));
    assert_eq!(life.apply(10_020, &slice(8)), first);
    assert_eq!(life.again(10_020), Some(10_100));
    assert_eq!(life.apply(10_090, &slice(9)), first);
    assert!(!exported(&life).contains("10.10.1.8"), "{}", exported(&life));
    assert_eq!(life.listed(10_100), format!("{first} 10.10.1.8/32 10.10.1.9/32"));
    assert!(exported(&life).contains("10.10.1.8") && exported(&life).contains("10.10.1.9"));
}

#[test]
fn what_the_leader_refuses_stays_refused_while_gateways_are_to_be_told_of_more() {
    let mut life = Life::of(with_pods(), EXPORT, GATEWAY);
    life.listed(0);
    life.apply(10_000, &slice(7));
    let web = Subject::Service("shop".to_owned(), "web".to_owned());
    life.exporter.refusals.insert(web, "too many endpoints".to_owned());
    life.apply(10_020, &slice(8));
    assert_eq!(ready(&mut life, 10_020, "web"), "Failed: too many endpoints");
}

#[test]
fn many_pods_that_go_are_one_write_a_second() {
    let mut life = Life::of(with_pods(), &format!("{EXPORT}---\n{}---\n{}", slice(7), slice(8)), GATEWAY);
    life.listed(0);
    life.delete(10_000, Kind::EndpointSlice, "web-of-7");
    assert!(!exported(&life).contains("10.10.1.7"), "{}", exported(&life));
    life.delete(10_300, Kind::EndpointSlice, "web-of-8");
    assert_eq!(life.listed(25_000), "10.10.1.5/32 10.10.1.6/32 10.10.1.8/32");
    assert_eq!(life.listed(25_300), "10.10.1.5/32 10.10.1.6/32 10.10.1.8/32");
    assert_eq!(life.again(25_300), Some(26_000));
    assert_eq!(life.listed(26_000), "10.10.1.5/32 10.10.1.6/32");
}

#[test]
fn a_pod_of_two_services_stays_while_one_of_them_has_it() {
    let other = EXPORT.replace("web", "api").replace("10.96.0.7", "None");
    let headless = EXPORT.replace("10.96.0.7", "None");
    let mut life = Life::of(exporter(), &format!("{headless}---\n{other}"), GATEWAY);
    let pods = life.listed(0);
    life.delete(10_000, Kind::ServiceExport, "web");
    assert_eq!(life.listed(60_000), pods);
    life.delete(70_000, Kind::ServiceExport, "api");
    assert_eq!(life.listed(90_000), "");
}

/// The leader may hear of them later.
#[test]
fn pods_are_let_in_where_nodes_name_their_networks() {
    let nodes = Exporter { networks: Networks::default(), pods: ExportedPods::default(), ..with_pods() };
    let mut life = Life::of(nodes, EXPORT, GATEWAY);
    assert_eq!(life.listed(0), "");
    life.exporter.nodes = vec!["10.10.1.0/24".parse().unwrap()];
    assert_eq!(life.listed(10_000), "10.10.1.5/32 10.10.1.6/32");
    life.exporter.nodes = Vec::new();
    assert_eq!(life.listed(20_000), "10.10.1.5/32 10.10.1.6/32", "other clusters may connect to them still");
    assert_eq!(life.listed(35_000), "");
}

#[test]
fn what_went_while_the_controller_was_away_is_let_in_a_moment_longer() {
    let said = "exported: {mode: Listed, addresses: [10.96.0.7/32, 10.96.0.8/32]}, gatewayIP";
    let mut life = Life::of(exporter(), EXPORT, &GATEWAY.replace("gatewayIP", said));
    assert_eq!(life.listed(0), "10.96.0.7/32 10.96.0.8/32");
    assert_eq!(life.listed(14_999), "10.96.0.7/32 10.96.0.8/32");
    assert_eq!(life.listed(15_000), "10.96.0.7/32");
}

#[test]
fn what_a_gateway_says_of_addresses_of_others_goes_at_once() {
    let said = "exported: {mode: Listed, addresses: [0.0.0.0/0, 192.0.2.0/24, 10.96.0.9/32]}, gatewayIP";
    let mut life = Life::of(exporter(), EXPORT, &GATEWAY.replace("gatewayIP", said));
    assert_eq!(life.listed(0), "10.96.0.7/32 10.96.0.9/32");
}

#[test]
fn what_cannot_be_read_is_let_in_as_before() {
    let mut life = Life::of(exporter(), EXPORT, GATEWAY);
    life.listed(0);
    let unreadable = "{kind: Service, metadata: {name: web, namespace: shop}, spec: {type: ClusterIP, ports: http, clusterIP: 10.96.0.9}}";
    life.apply(20_000, unreadable);
    assert_eq!(life.listed(60_000), "10.96.0.7/32");
}

/// A Service with so many Pods, of which each is in a network of its own.
fn with_many_pods(name: &str, count: usize, day: u8) -> String {
    let pod = |pod: usize| format!("{{addresses: [10.10.{}.{}]}}", 100 + pod / 100, pod % 100 * 2);
    let endpoints = (0..count).map(pod).collect::<Vec<_>>().join(", ");
    let export = EXPORT.replace("web", name).replace("2026-11-21", &format!("2026-11-{day}"));
    export
        .replace("{addresses: [10.10.1.5]}, {addresses: [10.10.1.6], conditions: {ready: false}}", &endpoints)
}

/// What `Ready` of a ServiceExport says, once the leader has taken all exports.
fn ready(life: &mut Life, at: u64, name: &str) -> String {
    life.listed(at);
    taken(&mut life.cluster, SUCCEEDED);
    life.listed(at);
    let export = life.cluster.objects.get(&Key::new(Kind::ServiceExport, "shop", name)).unwrap();
    let conditions = export["status"]["conditions"].as_array().unwrap();
    let ready = conditions.iter().find(|condition| condition["type"] == "Ready").unwrap();
    format!("{}: {}", ready["reason"].as_str().unwrap(), ready["message"].as_str().unwrap())
}

#[test]
fn more_addresses_than_a_gateway_lists_open_nothing_that_is_not_exported() {
    let check = |day: u8, expected: [bool; 2]| {
        let all = format!("{EXPORT}---\n{}", with_many_pods("big", 5000, day));
        let mut life = Life::of(with_pods(), &all, GATEWAY);
        let networks = life.listed(0);
        let networks: Vec<&str> = networks.split(' ').collect();
        assert_eq!(networks.len(), 4096);
        assert!(networks.iter().all(|network| network.ends_with("/32")), "{networks:?}");
        assert_eq!(networks.contains(&"10.10.1.5/32"), expected[0], "the older one goes first");
        for (name, is_open) in ["web", "big"].into_iter().zip(expected) {
            let ready = ready(&mut life, 0, name);
            assert_eq!(!ready.contains("more than 4096 addresses are exported"), is_open, "{name} {ready}");
            assert_eq!(ready.starts_with("Exported: "), is_open, "{name} {ready}");
        }
    };
    check(22, [true, false]);
    check(20, [false, false]);
}

#[test]
fn an_older_export_that_grows_closes_nothing() {
    let all = format!("{EXPORT}---\n{}", with_many_pods("old", 10, 20));
    let mut life = Life::of(with_pods(), &all, GATEWAY);
    life.listed(0);
    let grown = life.apply(10_000, &with_many_pods("old", 5000, 20));
    assert_eq!(grown.split(' ').count(), 4096);
    assert!(grown.starts_with("10.10.1.5/32 10.10.1.6/32 "), "{grown}");
    let ready_web = ready(&mut life, 10_000, "web");
    assert!(ready_web.starts_with("Exported: "), "{ready_web}");
    let mut restarted = Life { cluster: life.cluster, exporter: with_pods() };
    assert_eq!(restarted.listed(0), grown);
}

/// A full list, in which Service web is, and for which another one waits that was exported on that day of the month.
fn full(day: u8) -> Life {
    let all = format!("{EXPORT}---\n{}---\n{}", slice(8), with_many_pods("big", 10, day));
    let mut life = Life::of(with_pods(), &all, GATEWAY);
    life.listed(0);
    let full = life.apply(5_000, &with_many_pods("big", 5000, day));
    assert!(full.starts_with("10.10.1.5/32 10.10.1.6/32 10.10.1.8/32 "), "{full}");
    life
}

/// Whether these Pods of web are let in.
fn are_open(life: &mut Life, at: u64) -> [bool; 2] {
    let listed = life.listed(at);
    assert_eq!(listed.split(' ').count(), 4096);
    ["10.10.1.8/32", "10.10.1.12/32"].map(|pod| listed.split(' ').any(|network| network == pod))
}

#[test]
fn in_a_full_list_a_pod_has_the_room_of_the_one_that_it_replaces() {
    for day in [20, 22] {
        let mut life = full(day);
        life.apply(10_000, &slice(12));
        assert_eq!(are_open(&mut life, 11_000), [true, false], "there is no room");
        life.delete(11_500, Kind::EndpointSlice, "web-of-8");
        assert_eq!(are_open(&mut life, 12_500), [false, true], "day {day}");
    }
}

#[test]
fn in_a_full_list_the_room_of_a_pod_stays_for_the_one_that_replaces_it_later() {
    for day in [20, 22] {
        let mut life = full(day);
        life.delete(10_000, Kind::EndpointSlice, "web-of-8");
        life.apply(11_000, &with_many_pods("big", 5001, day));
        assert_eq!(are_open(&mut life, 12_000), [true, false], "day {day}");
        life.apply(13_000, &slice(12));
        assert_eq!(are_open(&mut life, 14_000), [false, true], "day {day}");
    }
}

#[test]
fn exports_that_come_back_in_a_full_list_are_let_in_all_the_time() {
    let mut life = full(20);
    life.delete(10_000, Kind::ServiceExport, "web");
    life.apply(11_000, &with_many_pods("big", 5001, 20));
    assert_eq!(are_open(&mut life, 12_000), [true, false]);
    let (export, _) = EXPORT.split_once("---\n").unwrap();
    life.apply(13_000, export);
    assert_eq!(are_open(&mut life, 14_000), [true, false]);
    life.delete(20_000, Kind::ServiceExport, "web");
    assert_eq!(are_open(&mut life, 36_000), [false, false], "after 15 s the other has its room");
}

#[test]
fn addresses_that_make_up_a_network_are_listed_as_it() {
    let pods: Vec<String> =
        (0..5000).map(|pod| format!("{{addresses: [10.10.{}.{}]}}", pod >> 8, pod & 255)).collect();
    let many = EXPORT.replace("{addresses: [10.10.1.5]}", &pods.join(", "));
    let mut life = Life::of(with_pods(), &many, GATEWAY);
    let joined = "10.10.0.0/20 10.10.16.0/23 10.10.18.0/24 10.10.19.0/25 10.10.19.128/29";
    assert_eq!(life.listed(0), joined);
    // What is new, and does not fit, closes nothing.
    let lots = with_many_pods("lots", 5000, 22);
    life.apply(10_000, &lots);
    let listed = life.listed(11_000);
    assert!(listed.starts_with(joined), "{listed}");
    assert_eq!(listed.split(' ').count(), 4096);
    let exported = exported(&life);
    assert!(exported.contains("10.10.100.0") && !exported.contains("10.10.149.198"), "{}", exported.len());
}

#[test]
fn what_has_no_room_is_let_in_once_there_is_some() {
    let all = format!("{EXPORT}---\n{}", with_many_pods("big", 5000, 20));
    let mut life = Life::of(with_pods(), &all, GATEWAY);
    assert!(!life.listed(0).contains("10.10.1.5/32"));
    life.delete(1_000, Kind::ServiceExport, "big");
    let changed = life.exporter.tick(&life.cluster.objects, Duration::from_secs(20)).changed;
    let changed: Vec<String> = changed.iter().map(ToString::to_string).collect();
    assert!(changed.contains(&"Service shop/web".to_owned()), "{changed:?}");
    assert_eq!(life.listed(20_000), "10.10.1.5/32 10.10.1.6/32");
}
