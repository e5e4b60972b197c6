//! How much another cluster takes of an importer at most.

use antrea_mc_member::area::Area;
use antrea_mc_member::import::{ImportLimits, Importer};
use antrea_mc_member::kind::Kind;
use antrea_mc_member::objects::{Change, Key, label, text};
use ipnet::IpNet;

use crate::imports::{CLUSTER, ENDPOINTS, NAMESPACE, SERVICE, importer, objects};
use crate::objects::Cluster;

fn with(limits: ImportLimits) -> Importer {
    Importer { limits, ..importer() }
}

fn two_services() -> Importer {
    with(ImportLimits { services: 2, ..ImportLimits::default() })
}

/// The import of a Service of this name, which is there since this day.
fn service(name: &str, day: u8, clusters: &str) -> String {
    SERVICE
        .replace("web", name)
        .replace("resourceVersion: '7'", &since(day))
        .replace("[{cluster: east}]", clusters)
}

/// The endpoints of such a Service: two in `east` and one in `south`.
fn endpoints(name: &str, day: u8) -> String {
    let (web, of_name) =
        ("shop-web-endpoints, namespace: area", format!("shop-{name}-endpoints, namespace: area"));
    let import = ENDPOINTS.replace(web, &format!("{of_name}, {}", since(day)));
    import.replace("  name: web", &format!("  name: {name}"))
}

fn since(day: u8) -> String {
    format!("creationTimestamp: '2026-11-{day:02}T09:00:00Z'")
}

fn names(cluster: &Cluster, kind: Kind) -> String {
    cluster.objects.all(kind).map(|(key, _)| key.name.as_str()).collect::<Vec<_>>().join(" ")
}

#[test]
fn one_cluster_takes_so_many_cluster_ips_of_an_importer_and_no_more() {
    let all = [
        service("a", 3, "[{cluster: east}]"),
        service("b", 1, "[{cluster: east}]"),
        service("c", 2, "[{cluster: east}]"),
        service("of-both", 9, "[{cluster: east}, {cluster: south}]"),
        service("of-south", 9, "[{cluster: south}]"),
        service("own", 9, "[{cluster: west}]"),
    ];
    let mut all: Vec<&str> = all.iter().map(String::as_str).collect();
    all.push(NAMESPACE);
    let mut cluster = Cluster::of(&objects(&all));
    let told = cluster.settle_briefly(&two_services());
    let there = "antrea-mc-b antrea-mc-c antrea-mc-of-both antrea-mc-of-south antrea-mc-own";
    assert_eq!(names(&cluster, Kind::Service), there);
    assert_eq!(names(&cluster, Kind::ServiceImport), "b c of-both of-south own");
    let problem = "problem: cluster east exports more than 2 Services that nobody else exports, and the oldest are imported\n";
    assert!(told.ends_with(problem), "{told}");
    cluster.delete(Kind::ResourceImport, "area", "shop-b-service");
    cluster.settle(&two_services());
    assert!(
        names(&cluster, Kind::Service).starts_with("antrea-mc-a antrea-mc-c "),
        "there is room for another"
    );
    let one = with(ImportLimits { services: 1, ..ImportLimits::default() });
    cluster.settle(&one);
    assert!(names(&cluster, Kind::Service).starts_with("antrea-mc-a antrea-mc-c "), "what is there stays");
}

#[test]
fn another_cluster_takes_a_quarter_of_the_cluster_ips_at_most() {
    let check = |cidrs: &[&str], expected: usize| {
        let cidrs: Vec<IpNet> = cidrs.iter().map(|cidr| cidr.parse().unwrap()).collect();
        assert_eq!(ImportLimits::of(&cidrs).services, expected, "{cidrs:?}");
    };
    check(&[], 10_000);
    check(&["10.96.0.0/12"], 10_000);
    check(&["10.96.0.0/20"], 1024);
    check(&["10.96.0.0/20", "10.97.0.0/20"], 2048);
    check(&["10.96.0.0/12", "fd00:96::/120"], 64);
    check(&["fd00:96::/64"], 10_000);
    check(&["10.96.0.0/32"], 1);
}

/// The import of a Service of `east` with so many ports, which is there since this day.
fn with_ports(name: &str, day: u8, ports: usize) -> String {
    let ports: Vec<String> =
        (1..=ports).map(|port| format!("{{name: p{port}, port: {port}, protocol: TCP}}")).collect();
    let one = "[{name: http, port: 80, protocol: TCP, appProtocol: http}]";
    service(name, day, "[{cluster: east}]").replace(one, &format!("[{}]", ports.join(", ")))
}

/// How many ports each of the Services has.
fn ports(cluster: &Cluster) -> Vec<(&str, usize)> {
    let services = cluster.objects.all(Kind::Service);
    services.map(|(key, of)| (key.name.as_str(), of["spec"]["ports"].as_array().unwrap().len())).collect()
}

const MANY_PORTS: &str = "cluster east exports Services with more than 1000 ports in Namespace shop that nobody else exports, and no \
                          more of them are imported";

/// Each container of the Namespace has all of them in its environment, which may be as large as the kernel says.
#[test]
fn one_cluster_takes_so_many_ports_of_a_namespace_and_no_more() {
    let many = (0..40).map(|number| with_ports(&format!("s{number:02}"), 2, 100));
    let south = with_ports("of-south", 9, 100).replace("{cluster: east}", "{cluster: south}");
    let elsewhere = with_ports("elsewhere", 9, 100).replace("namespace: shop", "namespace: other");
    let elsewhere = elsewhere.replace("shop-elsewhere-service", "other-elsewhere-service");
    let all: Vec<String> = many.chain([south, elsewhere]).collect();
    let mut all: Vec<&str> = all.iter().map(String::as_str).collect();
    all.extend([NAMESPACE, "{kind: Namespace, metadata: {name: other}}"]);
    let mut cluster = Cluster::of(&objects(&all));
    let told = cluster.settle_briefly(&importer());
    let there = ports(&cluster);
    let of_east = there.iter().filter(|(name, _)| name.starts_with("antrea-mc-s"));
    assert_eq!(of_east.map(|(_, ports)| ports).sum::<usize>(), 1000);
    assert_eq!(there.len(), 12, "{there:?}");
    assert_eq!(told.matches(&format!("problem: {MANY_PORTS}\n")).count(), 30, "{told}");
}

#[test]
fn a_service_that_is_there_gets_no_more_ports_while_there_are_too_many() {
    let importer = with(ImportLimits { ports: 4, ..ImportLimits::default() });
    let (a, b) = (|ports| with_ports("a", 1, ports), |ports| with_ports("b", 2, ports));
    let mut cluster = Cluster::of(&objects(&[NAMESPACE, &a(1), &b(3)]));
    cluster.settle(&importer);
    assert_eq!(ports(&cluster), [("antrea-mc-a", 1), ("antrea-mc-b", 3)]);
    cluster.apply(&a(4));
    let told = cluster.settle(&importer);
    assert_eq!(ports(&cluster), [("antrea-mc-a", 1), ("antrea-mc-b", 3)], "what is there stays");
    let many = MANY_PORTS.replace("1000", "4");
    assert!(told.ends_with(&format!("problem: {many}\n")), "{told}");
    assert!(told.contains(&format!(r#""status":"True","reason":"Ready","message":"{many}""#)), "{told}");
    cluster.apply(&with_ports("c", 3, 1));
    cluster.apply(&b(1));
    cluster.settle(&importer);
    assert_eq!(ports(&cluster), [("antrea-mc-a", 1), ("antrea-mc-b", 1)], "a and b say of five");
    cluster.apply(&a(2));
    cluster.settle(&importer);
    assert_eq!(ports(&cluster), [("antrea-mc-a", 2), ("antrea-mc-b", 1), ("antrea-mc-c", 1)]);
}

#[test]
fn ports_that_a_service_has_go_before_those_that_its_exporter_puts_in_front() {
    let importer = with(ImportLimits { ports: 4, ..ImportLimits::default() });
    let (a, b) = (with_ports("a", 1, 2), with_ports("b", 2, 2));
    let mut cluster = Cluster::of(&objects(&[NAMESPACE, &a, &b]));
    cluster.settle(&importer);
    let numbers = |cluster: &Cluster| -> Vec<u64> {
        let a = cluster.objects.get(&Key::new(Kind::Service, "shop", "antrea-mc-a")).unwrap();
        a["spec"]["ports"].as_array().unwrap().iter().map(|port| port["port"].as_u64().unwrap()).collect()
    };
    let in_front = "[{name: udp, port: 2, protocol: UDP}, {name: front, port: 99, protocol: TCP}, {name: p1,";
    cluster.apply(&a.replace("[{name: p1,", in_front));
    cluster.settle(&importer);
    assert_eq!(numbers(&cluster), [1, 2]);
    // What takes the place of a port that has gone is let in.
    let other = a.replace("[{name: p1, port: 1,", "[{name: p3, port: 3, protocol: TCP}, {name: p4, port: 4,");
    cluster.apply(&other);
    cluster.settle(&importer);
    assert_eq!(numbers(&cluster), [3, 2]);
}

/// Upstream's leader does not say who exports a Service: what one cluster alone may have is not for all of them together.
#[test]
fn where_the_leader_names_no_clusters_ports_of_a_namespace_have_no_limit() {
    let many = (0..11).map(|number| with_ports(&format!("s{number:02}"), 2, 100));
    let all: Vec<String> = many.map(|import| import.replace("[{cluster: east}]", "[]")).collect();
    let mut all: Vec<&str> = all.iter().map(String::as_str).collect();
    all.push(NAMESPACE);
    let mut cluster = Cluster::of(&objects(&all));
    let told = cluster.settle_briefly(&importer());
    let there = ports(&cluster);
    assert_eq!(there.iter().map(|(_, ports)| ports).sum::<usize>(), 1100, "{told}");
}

#[test]
fn where_the_leader_names_no_clusters_each_adds_to_the_services_that_are_imported() {
    let services = ["a", "b", "c", "d", "e"].map(|name| service(name, 1, "[]"));
    let mut all: Vec<&str> = services.iter().map(String::as_str).collect();
    all.push(NAMESPACE);
    let mut cluster = Cluster::of(&objects(&all));
    let mut importer = two_services();
    cluster.settle(&importer);
    assert_eq!(names(&cluster, Kind::Service), "antrea-mc-a antrea-mc-b");
    let mut moved = |cluster: &Cluster, import: &str| {
        let change = Change { key: Key::new(Kind::ResourceImport, "area", import), before: None };
        importer.learned(&cluster.objects, &change, std::time::Duration::ZERO);
        let changed = importer.tick(&cluster.objects, std::time::Duration::ZERO).changed;
        changed.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(moved(&cluster, "shop-a-service"), "Service shop/c, Service shop/d, Service shop/e");
    cluster.apply(CLUSTER);
    assert_eq!(moved(&cluster, "east-clusterinfo"), "", "one cluster takes what it may have");
    cluster.apply(&CLUSTER.replace("east", "north"));
    assert_eq!(moved(&cluster, "north-clusterinfo"), "Service shop/c, Service shop/d");
    cluster.settle(&two_services());
    assert_eq!(names(&cluster, Kind::Service), "antrea-mc-a antrea-mc-b antrea-mc-c antrea-mc-d");
}

#[test]
fn where_there_is_room_again_older_services_are_decided_anew_as_well() {
    let mut importer = with(ImportLimits { ports: 4, ..ImportLimits::default() });
    let mut cluster = Cluster::of(&objects(&[&with_ports("a", 1, 4), &with_ports("b", 2, 3)]));
    let mut moved = |cluster: &Cluster, change: &Change| {
        importer.learned(&cluster.objects, change, std::time::Duration::ZERO);
        let changed = importer.tick(&cluster.objects, std::time::Duration::ZERO).changed;
        changed.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    let key = Key::new(Kind::ResourceImport, "area", "shop-b-service");
    assert_eq!(moved(&cluster, &Change { key: key.clone(), before: None }), "Service shop/b");
    let gone = cluster.objects.remove(&key).pop().unwrap();
    assert_eq!(moved(&cluster, &gone), "Service shop/a");
}

#[test]
fn slices_are_made_of_so_many_lists_of_ports_of_a_cluster_and_no_more() {
    let list = |number: usize| format!("ports: [{{name: http, port: {}, protocol: TCP}}]", 8_000 + number);
    let slice = |number: usize| {
        let endpoints = format!("endpoints: [{{addresses: [10.2.{number}.1]}}]");
        format!("{{addressType: IPv4, {}, {endpoints}}}", list(number))
    };
    let subset = |number: usize| format!("{{addresses: [{{ip: 10.2.{number}.1}}], {}}}", list(number));
    let check = |endpoints: String, exporter: &str| {
        let import = format!(
            "
kind: ResourceImport
metadata: {{name: shop-web-endpoints, namespace: area}}
spec: {{kind: Endpoints, namespace: shop, name: web, endpoints: {{{endpoints}}}}}"
        );
        let mut cluster = Cluster::of(&objects(&[NAMESPACE, SERVICE, &import]));
        let told = cluster.settle_briefly(&importer());
        assert_eq!(cluster.objects.all(Kind::EndpointSlice).count(), 100);
        let left_out = format!(
            "problem: endpoints of {exporter} are left out: those of this Service have more than 100 different lists of ports, \
             of which the first count\n"
        );
        assert!(told.ends_with(&left_out), "{told}");
    };
    let slices = (0..103).map(slice).collect::<Vec<_>>().join(", ");
    check(format!("clusters: [{{clusterID: east, endpointSlices: [{slices}]}}]"), "cluster east");
    let subsets = (0..103).map(subset).collect::<Vec<_>>().join(", ");
    check(format!("subsets: [{subsets}]"), "a leader that names no clusters");
}

/// The clusters that the imported Service has slices of.
fn sources(cluster: &Cluster, name: &str) -> String {
    let service = format!("antrea-mc-{name}");
    let slices = cluster.objects.slices("shop", &service);
    let source = |slice| label(slice, "multicluster.kubernetes.io/source-cluster");
    slices.filter_map(|(_, slice)| source(slice)).collect::<Vec<_>>().join(" ")
}

#[test]
fn what_another_cluster_exports_costs_a_node_no_more_than_so_many_endpoints_and_ports() {
    let importer = with(ImportLimits { endpoint_ports: 4, ..ImportLimits::default() });
    let both = "[{cluster: east}, {cluster: south}]";
    let all: Vec<String> = [("a", 3), ("b", 1), ("c", 2)]
        .iter()
        .flat_map(|(name, day)| [service(name, *day, both), endpoints(name, *day)])
        .collect();
    let mut all: Vec<&str> = all.iter().map(String::as_str).collect();
    all.push(NAMESPACE);
    let mut cluster = Cluster::of(&objects(&all));
    let told = cluster.settle(&importer);
    for (name, expected) in [("a", 1), ("b", 2), ("c", 2)] {
        let sources = sources(&cluster, name);
        assert_eq!(sources.split(' ').count(), expected, "{name}: {sources}");
        assert_eq!(sources.contains("east"), expected == 2, "{name}: {sources}");
    }
    let left_out = "the endpoints of cluster east are left out: it has more than 20000 endpoints times ports in this Service, or more \
                    than 4 in this and older ones";
    assert!(told.ends_with(&format!("problem: {left_out}\n")), "{told}");
    assert!(told.contains(&format!(r#""status":"True","reason":"Ready","message":"{left_out}""#)), "{told}");
    cluster.delete(Kind::ResourceImport, "area", "shop-b-endpoints");
    cluster.settle(&importer);
    assert!(sources(&cluster, "a").contains("east"), "there is room for them");
}

#[test]
fn a_service_with_very_many_endpoints_and_ports_is_left_out_by_itself() {
    let ports: Vec<String> =
        (1..=100).map(|port| format!("{{name: p{port}, port: {port}, protocol: TCP}}")).collect();
    let pods: Vec<String> = (0..=200).map(|pod| format!("{{addresses: [10.2.1.{pod}]}}")).collect();
    let huge = endpoints("a", 1)
        .replacen("[{name: http, port: 80, protocol: TCP}]", &format!("[{}]", ports.join(", ")), 1)
        .replace("{addresses: [10.2.0.1]}", &pods.join(", "));
    let (a, b) = (service("a", 1, "[{cluster: east}]"), service("b", 2, "[{cluster: east}]"));
    let mut cluster = Cluster::of(&objects(&[NAMESPACE, &a, &huge, &b, &endpoints("b", 2)]));
    cluster.settle(&importer());
    assert_eq!(sources(&cluster, "a"), "south");
    assert!(sources(&cluster, "b").contains("east"));
}

#[test]
fn endpoints_of_a_leader_that_names_no_clusters_are_bounded_as_well() {
    let flat = "
kind: ResourceImport
metadata: {name: shop-web-endpoints, namespace: area}
spec:
  kind: Endpoints
  namespace: shop
  name: web
  endpoints:
    subsets: [{addresses: [{ip: 10.2.0.1}, {ip: 10.2.0.2}], ports: [{name: http, port: 80, protocol: TCP}]}]";
    let slices = |most: usize| {
        let mut cluster = Cluster::of(&objects(&[NAMESPACE, SERVICE, flat]));
        cluster.settle(&with(ImportLimits { endpoint_ports: most, ..ImportLimits::default() }));
        cluster.objects.all(Kind::EndpointSlice).count()
    };
    assert_eq!((slices(2), slices(1)), (1, 0));
}

#[test]
fn so_many_clusters_are_imported_and_no_more() {
    let importer = with(ImportLimits { clusters: 2, ..ImportLimits::default() });
    let of = |name: &str, day: u8| {
        CLUSTER
            .replace("east", name)
            .replace("namespace: area}", &format!("namespace: area, {}}}", since(day)))
    };
    let (east, north, south) = (of("east", 3), of("north", 2), of("south", 1));
    let mut cluster = Cluster::of(&objects(&[&east, &north, &south]));
    let told = cluster.settle_briefly(&importer);
    assert_eq!(names(&cluster, Kind::ClusterInfoImport), "north-clusterinfo south-clusterinfo");
    assert!(
        told.ends_with("problem: there are more than 2 other clusters, and the oldest are imported\n"),
        "{told}"
    );
    cluster.delete(Kind::ResourceImport, "area", "south-clusterinfo");
    cluster.settle(&importer);
    assert_eq!(names(&cluster, Kind::ClusterInfoImport), "east-clusterinfo north-clusterinfo");
}

#[test]
fn what_comes_within_a_limit_or_beyond_it_is_decided_anew() {
    let mut importer = two_services();
    let east = "[{cluster: east}]";
    let all = [service("a", 1, east), service("b", 2, east), service("c", 3, east), service("d", 4, east)];
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let mut cluster = Cluster::of(&objects(&all));
    let mut moved = |cluster: &Cluster, change: &Change| {
        importer.learned(&cluster.objects, change, std::time::Duration::ZERO);
        let changed = importer.tick(&cluster.objects, std::time::Duration::ZERO).changed;
        changed.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    let key = Key::new(Kind::ResourceImport, "area", "shop-a-service");
    let there = Change { key: key.clone(), before: None };
    assert_eq!(moved(&cluster, &there), "Service shop/c, Service shop/d", "nothing was known before");
    assert_eq!(moved(&cluster, &there), "");
    let gone = cluster.objects.remove(&key).pop().unwrap();
    assert_eq!(text(gone.before.as_ref().unwrap(), "/spec/name"), "a");
    assert_eq!(moved(&cluster, &gone), "Service shop/c");
}
