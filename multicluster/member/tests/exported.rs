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

pub(crate) fn with_pods() -> Exporter {
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
pub(crate) struct Life {
    pub(crate) cluster: Cluster,
    pub(crate) exporter: Exporter,
}

impl Life {
    pub(crate) fn of(exporter: Exporter, yaml: &str, gateway: &str) -> Self {
        Self { cluster: Cluster::of(&format!("{yaml}---\n{gateway}")), exporter }
    }

    pub(crate) fn apply(&mut self, at: u64, yaml: &str) -> String {
        for object in read(yaml) {
            let changes = self.cluster.objects.learn(kind_of(&object), WatchEvent::Applied(object));
            self.learned(at, &changes);
        }
        self.listed(at)
    }

    pub(crate) fn delete(&mut self, at: u64, kind: Kind, name: &str) -> String {
        let change = self.cluster.objects.remove(&Key::new(kind, "shop", name)).pop().unwrap();
        self.learned(at, &[change]);
        self.listed(at)
    }

    pub(crate) fn learned(&mut self, at: u64, changes: &[Change]) {
        for change in changes {
            self.exporter.learned(&self.cluster.objects, change, Duration::from_millis(at));
        }
    }

    /// What the Gateway lets in then.
    pub(crate) fn listed(&mut self, at: u64) -> String {
        self.exporter.tick(&self.cluster.objects, Duration::from_millis(at));
        self.cluster.settle(&self.exporter);
        listed(&self.cluster)
    }

    /// When the time is looked at again, in milliseconds.
    pub(crate) fn again(&mut self, at: u64) -> Option<u128> {
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
pub(crate) fn slice(pod: u8) -> String {
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
pub(crate) fn exported(life: &Life) -> String {
    let exports = life.cluster.objects.all(Kind::ResourceExport).map(|(_, export)| export);
    let endpoints = exports.filter_map(|export| export.pointer("/spec/endpoints")).map(ToString::to_string);
    endpoints.collect()
}

/// What `Ready` of a ServiceExport says, once the leader has taken all exports.
pub(crate) fn ready(life: &mut Life, at: u64, name: &str) -> String {
    life.listed(at);
    taken(&mut life.cluster, SUCCEEDED);
    life.listed(at);
    let export = life.cluster.objects.get(&Key::new(Kind::ServiceExport, "shop", name)).unwrap();
    let conditions = export["status"]["conditions"].as_array().unwrap();
    let ready = conditions.iter().find(|condition| condition["type"] == "Ready").unwrap();
    format!("{}: {}", ready["reason"].as_str().unwrap(), ready["message"].as_str().unwrap())
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

/// An endpoint of Service web that was another Pod before.
fn moved(from: u8, to: u8) -> String {
    slice(to).replace(&format!("web-of-{to}"), &format!("web-of-{from}"))
}

#[test]
fn endpoints_that_go_are_gone_at_once_while_new_ones_wait() {
    let mut life = Life::of(with_pods(), &format!("{EXPORT}---\n{}", slice(7)), GATEWAY);
    life.listed(0);
    life.apply(10_000, &slice(8));
    life.apply(10_020, &slice(9));
    life.apply(10_030, &moved(7, 17));
    let meanwhile = exported(&life);
    assert!(meanwhile.contains("10.10.1.5") && meanwhile.contains("10.10.1.8"), "{meanwhile}");
    assert!(!meanwhile.contains("10.10.1.7") && !meanwhile.contains("10.10.1.9"), "{meanwhile}");
    life.listed(10_100);
    assert!(exported(&life).contains("10.10.1.9") && exported(&life).contains("10.10.1.17"));
}

#[test]
fn an_endpoint_in_the_place_of_the_only_one_does_not_wait() {
    let (without_pods, _) = EXPORT.rsplit_once("---\n").unwrap();
    let mut life = Life::of(with_pods(), &format!("{without_pods}---\n{}", slice(7)), GATEWAY);
    life.listed(0);
    life.apply(10_000, &moved(7, 8));
    for pod in 9..50 {
        let at = 10_000 + 20 * u64::from(pod);
        life.apply(at, &moved(7, pod));
        assert!(exported(&life).contains(&format!("10.10.1.{pod}\"")), "{at}: {}", exported(&life));
    }
}

#[test]
fn the_first_endpoint_of_a_service_waits_for_gateways() {
    let (without_pods, _) = EXPORT.rsplit_once("---\n").unwrap();
    let mut life = Life::of(with_pods(), without_pods, GATEWAY);
    life.listed(0);
    let other = EXPORT.replace("web", "api").replace("10.96.0.7", "None");
    life.apply(10_000, &other);
    life.apply(10_020, &slice(8));
    assert!(!exported(&life).contains("10.10.1.8"), "{}", exported(&life));
    life.listed(10_100);
    assert!(exported(&life).contains("10.10.1.8"));
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
