//! A member of upstream's whose controller is replaced by ours: recorded objects, and what becomes of them.

use antrea_mc_core::addresses::EndpointAddresses;
use antrea_mc_member::export::{ExportedPods, Exporter, Membership, Networks};
use antrea_mc_member::gateway::Election;
use antrea_mc_member::import::Importer;

use crate::objects::Cluster;
use crate::{exports, gateways, imports};

const AREA: &str = "antrea-multicluster";

/// What Kubernetes has, and nobody recorded.
const SURROUNDINGS: &str = "
{kind: Namespace, metadata: {name: shop}}
---
{kind: Tier, metadata: {name: securityops}, spec: {priority: 50}}
---
kind: Node
metadata: {name: c5n1, annotations: {multicluster.antrea.io/gateway: 'true'}}
status: {addresses: [{type: InternalIP, address: 172.18.5.11}], conditions: [{type: Ready, status: 'True'}]}
---
";

fn cluster(leader: &str, member: &str) -> Cluster {
    let documents = |recorded: &str| recorded.split_once("---\n").unwrap().1.to_owned();
    Cluster::of(&[SURROUNDINGS, &documents(leader), "---\n", &documents(member)].concat())
}

fn networks() -> Networks {
    Networks {
        service_cidrs: vec!["10.100.0.0/16".parse().unwrap()],
        pod_cidrs: vec!["10.14.0.0/16".parse().unwrap()],
    }
}

/// What our controller does in place of upstream's.
fn take_over(leader: &str, member: &str, addresses: EndpointAddresses) -> String {
    let importer = Importer { cluster: "c5".parse().unwrap(), area: AREA.to_owned(), ..imports::importer() };
    let joined = Membership::Joined { area: AREA.to_owned(), unreachable: None };
    let exporter = Exporter {
        cluster: "c5".parse().unwrap(),
        addresses,
        networks: networks(),
        pods: ExportedPods { networks: networks().pod_cidrs, at_home: None },
        membership: joined,
        ..exports::exporter()
    };
    let election = Election { service_cidrs: networks().service_cidrs, ..gateways::election() };
    let mut cluster = cluster(leader, member);
    let mut log = cluster.settle_briefly(&importer);
    log += &cluster.settle_briefly(&exporter);
    log += &cluster.settle_briefly(&election);
    for area_is_settled in [cluster.settle(&importer), cluster.settle(&exporter), cluster.settle(&election)] {
        assert_eq!(area_is_settled, "", "it is taken over once");
    }
    log
}

/// Nothing goes but Endpoints whose slices are there, nothing comes but slices, and only what says more is written.
#[track_caller]
fn check(leader: &str, member: &str, addresses: EndpointAddresses) {
    let log = take_over(leader, member, addresses);
    for (place, line) in log.lines().enumerate() {
        if let Some(service) = line.strip_prefix("delete Endpoints ") {
            let before = log.lines().take(place);
            let slices = before.filter(|line| line.starts_with(&format!("create EndpointSlice {service}-")));
            assert!(slices.count() > 0, "{service} has lost its endpoints:\n{log}");
            continue;
        }
        let is_adopted = [
            "create EndpointSlice ",
            "patch Service ",
            "patch ServiceImport ",
            "patch status of ServiceImport ",
            "patch ResourceExport ",
            // What is exported, which upstream's Gateways do not say.
            "patch Gateway ",
            // What became of a policy, of which upstream says nothing.
            "patch status of ResourceImport ",
            "patch status of ServiceExport ",
        ];
        assert!(is_adopted.iter().any(|adopted| line.starts_with(adopted)), "{line}\nof\n{log}");
    }
    assert!(log.contains("delete Endpoints shop/antrea-mc-web\n"), "{log}");
}

#[test]
fn services_networks_policies_and_the_gateway_of_upstream_are_adopted() {
    check(
        include_str!("golden/08-acnp-leader.yaml"),
        include_str!("golden/08-acnp-member.yaml"),
        EndpointAddresses::ClusterIps,
    );
}

#[test]
fn labels_of_upstream_are_adopted() {
    check(
        include_str!("golden/11-stretched-leader.yaml"),
        include_str!("golden/11-stretched-member.yaml"),
        EndpointAddresses::ClusterIps,
    );
}

#[test]
fn pods_as_endpoints_of_upstream_are_adopted() {
    check(
        include_str!("golden/12-podip-leader.yaml"),
        include_str!("golden/12-podip-member.yaml"),
        EndpointAddresses::PodIps,
    );
}

#[test]
fn objects_that_upstream_made_are_taken_over() {
    let upstream = "{kind: Service, metadata: {name: antrea-mc-web, namespace: shop, uid: u, annotations: {multicluster.antrea.io/imported-service: 'true'}}, spec: {type: ClusterIP, clusterIP: 10.96.7.7, clusterIPs: [10.96.7.7], ipFamilies: [IPv4], ports: [{name: http, port: 80, protocol: TCP, targetPort: 80}]}}\n---\n{kind: ServiceImport, metadata: {name: web, namespace: shop}, spec: {ips: [10.96.7.7], type: ClusterSetIP, ports: [{name: http, port: 80, protocol: TCP}]}}\n---\n{kind: Endpoints, metadata: {name: antrea-mc-web, namespace: shop}}";
    let mut cluster =
        Cluster::of(&imports::objects(&[imports::NAMESPACE, imports::SERVICE, imports::ENDPOINTS, upstream]));
    insta::assert_snapshot!(cluster.settle_briefly(&imports::importer()), @"
    create EndpointSlice shop/antrea-mc-web-69c53c1a2b719824
    create EndpointSlice shop/antrea-mc-web-2c32b312984c2e64
    delete Endpoints shop/antrea-mc-web
    patch Service shop/antrea-mc-web
    patch ServiceImport shop/web
    patch status of ServiceImport shop/web
    patch status of ServiceImport shop/web
    ");
}
