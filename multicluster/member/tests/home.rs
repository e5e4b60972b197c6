//! What a member knows better than the leader of the endpoints of imported Services.

use antrea_mc_core::addresses::EndpointAddresses;
use antrea_mc_member::import::Importer;
use antrea_mc_member::kind::Kind;
use antrea_mc_member::objects::{label, text};
use serde_json::Value;

use crate::imports::{ENDPOINTS, NAMESPACE, SERVICE, importer, objects};
use crate::objects::Cluster;

/// The Service of this cluster, which exports it, and its Pods.
const OWN: &str = "
kind: Service
metadata: {name: web, namespace: shop}
spec: {clusterIP: None, clusterIPs: [None], ports: [{name: http, port: 80, protocol: TCP}, {name: admin, port: 8080, protocol: TCP}]}
---
kind: EndpointSlice
metadata: {name: web-1, namespace: shop, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 80, protocol: TCP}, {name: admin, port: 8080, protocol: TCP}]
endpoints: [{addresses: [10.10.1.5], hostname: web-0}, {addresses: [10.10.1.6], conditions: {ready: false}}]";

/// The import of a Service of this cluster and of `east`.
fn of_both() -> String {
    SERVICE.replace("clusters: [{cluster: east}]", "clusters: [{cluster: west}, {cluster: east}]")
}

fn headless() -> String {
    of_both().replace("type: ClusterSetIP", "type: Headless")
}

/// The ports and endpoints that a cluster has in the slices of the imported Service.
fn imported(cluster: &Cluster, source: &str) -> String {
    let slices = cluster.objects.slices("shop", "antrea-mc-web").map(|(_, slice)| slice);
    let of_source =
        |slice: &&Value| label(slice, "multicluster.kubernetes.io/source-cluster") == Some(source);
    let names = |list: &Value, pointer: &str| {
        let names: Vec<&str> = list.as_array().unwrap().iter().map(|of| text(of, pointer)).collect();
        names.join(" ")
    };
    let line = |slice: &Value| {
        let endpoints = &slice["endpoints"];
        let line = format!(
            "{}: {} {}",
            names(&slice["ports"], "/name"),
            names(endpoints, "/addresses/0"),
            names(endpoints, "/hostname")
        );
        line.trim_end().to_owned()
    };
    slices.filter(of_source).map(line).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_headless_service_has_its_own_pods_at_home_whatever_the_leader_says() {
    let mut cluster = Cluster::of(&objects(&[NAMESPACE, &headless(), ENDPOINTS, OWN]));
    cluster.settle(&importer());
    assert_eq!(
        imported(&cluster, "west"),
        "http: 10.10.1.5 web-0",
        "the port admin was lost to another cluster"
    );
    assert_eq!(imported(&cluster, "east"), "http: 10.2.0.1 10.2.0.2");
    cluster.apply(&ENDPOINTS.replace("clusterID: south", "clusterID: west"));
    cluster.settle(&importer());
    assert_eq!(imported(&cluster, "west"), "http: 10.10.1.5 web-0");
    cluster.delete(Kind::ResourceImport, "area", "shop-web-endpoints");
    cluster.settle(&importer());
    assert_eq!(imported(&cluster, "west"), "http: 10.10.1.5 web-0", "the leader takes no Pods at all");
    cluster.apply(&OWN.replace("{ready: false}", "{ready: true}"));
    cluster.settle(&importer());
    assert_eq!(imported(&cluster, "west"), "http: 10.10.1.5 10.10.1.6 web-0");
    cluster.apply(&headless().replace("{cluster: west}, ", ""));
    cluster.settle(&importer());
    assert_eq!(imported(&cluster, "west"), "", "it is not exported any more");
}

#[test]
fn pods_of_both_families_are_reached_at_home() {
    let six = "
kind: EndpointSlice
metadata: {name: web-6, namespace: shop, labels: {kubernetes.io/service-name: web}}
addressType: IPv6
ports: [{name: http, port: 80, protocol: TCP}]
endpoints: [{addresses: ['fd00:10::5']}]";
    let dual = headless().replace("ipFamilies: [IPv4]", "ipFamilies: [IPv4, IPv6]");
    let mut cluster = Cluster::of(&objects(&[NAMESPACE, &dual, OWN, six]));
    cluster.settle(&importer());
    assert_eq!(imported(&cluster, "west"), "http: 10.10.1.5 web-0", "the cluster has IPv4 alone");
    let families = antrea_types::IpFamily::ALL.to_vec();
    let mut cluster = Cluster::of(&objects(&[NAMESPACE, &dual, OWN, six]));
    cluster.settle(&Importer { families, ..importer() });
    let both = imported(&cluster, "west");
    assert!(both.contains("10.10.1.5 web-0") && both.contains("fd00:10::5"), "{both}");
}

#[test]
fn where_pods_are_exported_those_of_every_service_are_its_own_at_home() {
    let own =
        OWN.replace("clusterIP: None, clusterIPs: [None]", "clusterIP: 10.96.0.7, clusterIPs: [10.96.0.7]");
    let said = ENDPOINTS.replace("clusterID: south", "clusterID: west").replace("10.3.0.1", "10.96.0.7");
    let imports = |addresses| {
        let mut cluster = Cluster::of(&objects(&[NAMESPACE, &of_both(), &said, &own]));
        cluster.settle(&Importer { addresses, ..knowing_itself() });
        imported(&cluster, "west")
    };
    assert_eq!(imports(EndpointAddresses::PodIps), "http: 10.10.1.5 web-0");
    assert_eq!(
        imports(EndpointAddresses::ClusterIps),
        "http: 10.96.0.7",
        "its ClusterIP, as the leader says"
    );
}

/// One that knows its ClusterIPs.
fn knowing_itself() -> Importer {
    Importer { own_networks: vec!["10.96.0.0/16".parse().unwrap()], ..importer() }
}

/// Whatever the leader says of this cluster, and however much.
#[test]
fn no_address_of_this_cluster_is_imported_that_is_not_in_its_networks() {
    let pods: Vec<String> =
        (0..30_000).map(|pod| format!("{{addresses: [10.7.{}.{}]}}", pod / 250, pod % 250 + 1)).collect();
    let many = format!("{{addresses: [10.96.0.7]}}, {}", pods.join(", "));
    let said = ENDPOINTS.replace("clusterID: south", "clusterID: west");
    let said = said.replace("{addresses: [10.3.0.1]}", &many);
    let own = OWN.replace("clusterIP: None, clusterIPs: [None]", "clusterIP: 10.96.0.7");
    let mut cluster = Cluster::of(&objects(&[NAMESPACE, &of_both(), &said, &own]));
    cluster.settle(&knowing_itself());
    assert_eq!(imported(&cluster, "west"), "http: 10.96.0.7");
    assert_eq!(imported(&cluster, "east"), "http: 10.2.0.1 10.2.0.2");
}

#[test]
fn pods_of_others_in_an_own_network_are_left_out_and_named() {
    let own_networks = vec!["10.2.0.0/24".parse().unwrap()];
    let mut cluster = Cluster::of(&objects(&[NAMESPACE, SERVICE, ENDPOINTS]));
    let log = cluster.settle(&Importer { own_networks, ..importer() });
    assert_eq!(imported(&cluster, "east"), "");
    assert_eq!(imported(&cluster, "south"), "http: 10.3.0.1");
    let left_out = "10.2.0.1 of cluster east is in 10.2.0.0/24 of this cluster, and is left out, as is another: clusters of a \
                    ClusterSet need networks of their own";
    assert!(log.ends_with(&format!("problem: {left_out}\n")), "{log}");
    let told = format!(r#""type":"Ready","status":"True","reason":"Ready","message":"{left_out}""#);
    assert!(log.contains(&told), "{log}");
}
