//! What becomes of a ServiceExport in its own cluster.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fmt::Write;
use std::net::Ipv4Addr;

use antrea_mc_core::addresses::EndpointAddresses::{self, ClusterIps, PodIps};
use antrea_mc_core::addresses::{Claim, PodConnectivity};
use antrea_mc_core::service_export::{
    Conflicts, Decision, PodsAtHome, Progress, Reach, conditions, decide, reachable,
};
use antrea_mc_core::wire::{export_endpoints, export_service};
use antrea_shared_api::mcs::v1beta1::ServiceExport;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde::de::DeserializeOwned;
use serde_json::json;

const EXPORT: &str = "metadata: {namespace: shop, name: web}";
const SERVICE: &str = "spec: {clusterIP: 10.96.2.22, clusterIPs: [10.96.2.22], ipFamilies: [IPv4], ports: [{name: http, port: 80, protocol: TCP, targetPort: 8080}]}";
const SLICE: &str = "
addressType: IPv4
ports: [{name: http, port: 8080, protocol: TCP}]
endpoints: [{addresses: [10.10.0.1], conditions: {ready: true}}, {addresses: [10.10.0.2]}, {addresses: [10.10.0.3], conditions: {ready: false}}]";

fn read<T: DeserializeOwned>(yaml: &str) -> T {
    serde_saphyr::from_str(yaml).map_err(|error| format!("{error}: {yaml}")).unwrap()
}

fn reach(addresses: EndpointAddresses) -> Reach {
    let networks = |text: &str| vec![text.parse().unwrap()];
    let networks =
        Claim::new(&networks("10.96.0.0/16"), &networks("10.10.0.0/16"), addresses, PodConnectivity::On);
    Reach { addresses, networks, at_home: None }
}

fn objects(service: &str, slices: &[&str]) -> (Option<Service>, Vec<EndpointSlice>) {
    ((!service.is_empty()).then(|| read(service)), slices.iter().map(|slice| read(slice)).collect())
}

/// What is decided. Gateways let other clusters in to whatever is exported.
fn decision(export: &str, service: &str, slices: &[&str], addresses: EndpointAddresses) -> Decision {
    let open = reached(service, slices, addresses);
    let decision = decision_within(&reach(addresses), export, service, slices);
    match &decision {
        Decision::Export { endpoints, .. } => {
            let mut exported = endpoints.iter().map(|(_, address, _)| address.to_string());
            assert!(exported.all(|address| open.contains(&address.parse::<Ipv4Addr>().unwrap())), "{open:?}");
        }
        Decision::Withdraw(_) => assert_eq!(open, BTreeSet::new()),
    }
    decision
}

fn decision_within(reach: &Reach, export: &str, service: &str, slices: &[&str]) -> Decision {
    let export: ServiceExport = read(export);
    let (service, slices) = objects(service, slices);
    decide(&export.spec, service.as_ref(), &slices.iter().collect::<Vec<_>>(), reach)
}

fn reached(service: &str, slices: &[&str], addresses: EndpointAddresses) -> BTreeSet<Ipv4Addr> {
    let (service, slices) = objects(service, slices);
    let slices = || Ok::<_, Infallible>(slices);
    reachable(service.as_ref(), slices, addresses, &reach(addresses).networks).unwrap()
}

/// What is exported, and the conditions once the leader has taken it.
fn check(export: &str, service: &str, slices: &[&str], addresses: EndpointAddresses) -> String {
    let decision = decision(export, service, slices, addresses);
    let mut text = String::new();
    if let Decision::Export { service, endpoints, .. } = &decision {
        let service = json!(export_service(service, "2026-01-01T00:00:00Z".parse().unwrap()));
        let endpoints = json!(export_endpoints(endpoints));
        for (name, value) in service.as_object().unwrap().iter().chain(endpoints.as_object().unwrap()) {
            writeln!(text, "{name}: {}", value.to_string().replace('"', "")).unwrap();
        }
    }
    text + &said(&decision, &merged(Conflicts::None))
}

fn merged(conflicts: Conflicts) -> Progress {
    Progress::Merged { conflicts, left_out: None }
}

fn said(decision: &Decision, progress: &Progress) -> String {
    let line = |condition: antrea_mc_core::service_export::ExportCondition| {
        format!(
            "{}={} {} {}\n",
            condition.condition_type, condition.status, condition.reason, condition.message
        )
    };
    conditions(decision, progress).into_iter().map(line).collect()
}

#[test]
fn a_service_is_exported_by_its_cluster_ip() {
    insta::assert_snapshot!(check(EXPORT, SERVICE, &[SLICE], ClusterIps), @"
    serviceSpec: {ports:[{name:http,port:80,protocol:TCP}],sessionAffinity:None,ipFamilies:[IPv4],internalTrafficPolicy:Cluster}
    origin: {creationTimestamp:2026-01-01T00:00:00Z,type:ClusterSetIP}
    subsets: [{addresses:[{ip:10.96.2.22}],ports:[{name:http,port:80,protocol:TCP}]}]
    endpointSlices: [{addressType:IPv4,ports:[{name:http,port:80,protocol:TCP}],endpoints:[{addresses:[10.96.2.22]}]}]
    Valid=True Valid The Service can be exported
    Ready=True Exported The Service is exported successfully
    Conflict=False NoConflicts
    ");
}

#[test]
fn or_by_its_pods_each_once() {
    insta::assert_snapshot!(check(EXPORT, SERVICE, &[SLICE, SLICE], PodIps), @"
    serviceSpec: {ports:[{name:http,port:80,protocol:TCP}],sessionAffinity:None,ipFamilies:[IPv4],internalTrafficPolicy:Cluster}
    origin: {creationTimestamp:2026-01-01T00:00:00Z,type:ClusterSetIP}
    subsets: [{addresses:[{ip:10.10.0.1},{ip:10.10.0.2}],ports:[{name:http,port:8080,protocol:TCP}]}]
    endpointSlices: [{addressType:IPv4,ports:[{name:http,port:8080,protocol:TCP}],endpoints:[{addresses:[10.10.0.1]},{addresses:[10.10.0.2]}]}]
    Valid=True Valid The Service can be exported
    Ready=True Exported The Service is exported successfully
    Conflict=False NoConflicts
    ");
}

/// etcd takes no object of more than 1.5 MiB.
#[test]
fn a_service_of_three_thousand_pods_fits_into_an_export() {
    let slice = |number: usize| {
        let pods =
            (0..100).map(|pod| format!("{{addresses: [10.10.{number}.{pod}], conditions: {{ready: true}}}}"));
        let pods = pods.collect::<Vec<_>>().join(", ");
        format!("addressType: IPv4\nports: [{{name: http, port: 8080, protocol: TCP}}]\nendpoints: [{pods}]")
    };
    let slices: Vec<String> = (0..30).map(slice).collect();
    let slices: Vec<&str> = slices.iter().map(String::as_str).collect();
    let Decision::Export { endpoints, .. } = decision(EXPORT, SERVICE, &slices, PodIps) else {
        panic!("it is not exported")
    };
    let exported = json!(export_endpoints(&endpoints)).to_string();
    assert_eq!(exported.matches("\"10.10.29.99\"").count(), 2, "flat, and in a slice");
    assert!(exported.len() < 256 * 1024, "{} bytes", exported.len());
}

#[test]
fn a_headless_service_is_exported_by_its_pods_in_any_case() {
    let service =
        "spec: {clusterIP: None, clusterIPs: [None], ipFamilies: [IPv4], ports: [{name: http, port: 80}]}";
    let slice = SLICE.replace("{addresses: [10.10.0.2]}", "{addresses: [10.10.0.2], hostname: web-1}");
    insta::assert_snapshot!(check(EXPORT, service, &[&slice], ClusterIps), @"
    serviceSpec: {ports:[{name:http,port:80,protocol:TCP}],sessionAffinity:None,ipFamilies:[IPv4],internalTrafficPolicy:Cluster}
    origin: {creationTimestamp:2026-01-01T00:00:00Z,type:Headless}
    subsets: [{addresses:[{ip:10.10.0.1},{ip:10.10.0.2}],ports:[{name:http,port:8080,protocol:TCP}]}]
    endpointSlices: [{addressType:IPv4,ports:[{name:http,port:8080,protocol:TCP}],endpoints:[{addresses:[10.10.0.1]},{addresses:[10.10.0.2],hostname:web-1}]}]
    Valid=True Valid The Service can be exported
    Ready=True Exported The Service is exported successfully
    Conflict=False NoConflicts
    ");
}

/// Such as a Pod's in the network of its host: the leader would refuse all of them.
#[test]
fn endpoints_outside_of_the_clusters_networks_are_left_out_and_named() {
    let slice = SLICE.replace("10.10.0.1]", "172.18.0.5]");
    insta::assert_snapshot!(check(EXPORT, SERVICE, &[&slice], PodIps), @"
    serviceSpec: {ports:[{name:http,port:80,protocol:TCP}],sessionAffinity:None,ipFamilies:[IPv4],internalTrafficPolicy:Cluster}
    origin: {creationTimestamp:2026-01-01T00:00:00Z,type:ClusterSetIP}
    subsets: [{addresses:[{ip:10.10.0.2}],ports:[{name:http,port:8080,protocol:TCP}]}]
    endpointSlices: [{addressType:IPv4,ports:[{name:http,port:8080,protocol:TCP}],endpoints:[{addresses:[10.10.0.2]}]}]
    Valid=True Valid The Service can be exported
    Ready=True Exported The Service is exported successfully; 172.18.0.5 is in no network that this cluster has announced
    Conflict=False NoConflicts
    ");
    let many = (1..7).map(|host| format!("{{addresses: [172.18.0.{host}]}}")).collect::<Vec<_>>().join(", ");
    let slice = format!("addressType: IPv4\nports: [{{port: 8080, protocol: TCP}}]\nendpoints: [{many}]");
    insta::assert_snapshot!(check(EXPORT, SERVICE, &[&slice], PodIps), @"
    serviceSpec: {ports:[{name:http,port:80,protocol:TCP}],sessionAffinity:None,ipFamilies:[IPv4],internalTrafficPolicy:Cluster}
    origin: {creationTimestamp:2026-01-01T00:00:00Z,type:ClusterSetIP}
    Valid=True Valid The Service can be exported
    Ready=True Exported The Service is exported successfully; 172.18.0.1 is in no network that this cluster has announced; 172.18.0.2 is in no network that this cluster has announced; 172.18.0.3 is in no network that this cluster has announced; nor are 3 others; it has no ready endpoints that other clusters can reach
    Conflict=False NoConflicts
    ");
}

const HEADLESS: &str =
    "spec: {clusterIP: None, clusterIPs: [None], ipFamilies: [IPv4], ports: [{name: http, port: 80}]}";

/// What `Ready` says of a Service in a cluster that exports Pods in these networks, and why in no others.
fn ready(pods: &[&str], at_home: PodsAtHome, service: &str, addresses: EndpointAddresses) -> String {
    let pods: Vec<ipnet::IpNet> = pods.iter().map(|network| network.parse().unwrap()).collect();
    let networks = Claim::new(&["10.96.0.0/16".parse().unwrap()], &pods, addresses, PodConnectivity::Off);
    let reach = Reach { addresses, networks, at_home: Some(at_home) };
    let said = said(&decision_within(&reach, EXPORT, service, &[SLICE]), &merged(Conflicts::Unknown));
    said.lines().nth(1).unwrap().trim_start_matches("Ready=").to_owned()
}

#[test]
fn pods_that_stay_at_home_are_told_in_one_sentence() {
    for (at_home, why) in [
        (PodsAtHome::NotNamed, "podCIDRs names no network"),
        (PodsAtHome::NoNode, "no Node names a network of Pods"),
        (
            PodsAtHome::OlderLeader,
            "the leader is older and takes no networks of Nodes: name those of Pods in podCIDRs",
        ),
    ] {
        let told = format!(
            "True Exported The Service is exported successfully; its Pods are reached in this cluster alone, as {why}"
        );
        assert_eq!(ready(&[], at_home.clone(), HEADLESS, ClusterIps), told);
        assert_eq!(ready(&[], at_home.clone(), SERVICE, PodIps), told);
        let cluster_ip = ready(&[], at_home, SERVICE, ClusterIps);
        assert_eq!(cluster_ip, "True Exported The Service is exported successfully");
    }
}

#[test]
fn what_the_leader_refuses_of_pods_fails_where_nothing_else_is_exported() {
    let refused = PodsAtHome::Refused("10.10.0.0/24 is of cluster east".to_owned());
    assert_eq!(
        ready(&[], refused.clone(), HEADLESS, ClusterIps),
        "False Failed 10.10.0.0/24 is of cluster east"
    );
    assert_eq!(
        ready(&["10.10.0.0/31"], refused.clone(), HEADLESS, ClusterIps),
        "True Exported The Service is exported successfully; 10.10.0.0/24 is of cluster east"
    );
    let cluster_ip = ready(&[], refused, SERVICE, ClusterIps);
    assert_eq!(cluster_ip, "True Exported The Service is exported successfully");
}

#[test]
fn its_properties_and_those_of_the_export_go_along() {
    let export = "{metadata: {name: web}, spec: {exportedLabels: {team: a}, exportedAnnotations: {note: b}}}";
    let service = SERVICE.replace(
        "clusterIP:",
        "type: LoadBalancer, sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 10}}, internalTrafficPolicy: Local, trafficDistribution: PreferClose, clusterIP:",
    );
    insta::assert_snapshot!(check(export, &service, &[SLICE], ClusterIps), @"
    serviceSpec: {ports:[{name:http,port:80,protocol:TCP}],sessionAffinity:ClientIP,sessionAffinityConfig:{clientIP:{timeoutSeconds:10}},ipFamilies:[IPv4],internalTrafficPolicy:Local,trafficDistribution:PreferClose}
    origin: {creationTimestamp:2026-01-01T00:00:00Z,type:ClusterSetIP,labels:{team:a},annotations:{note:b}}
    subsets: [{addresses:[{ip:10.96.2.22}],ports:[{name:http,port:80,protocol:TCP}]}]
    endpointSlices: [{addressType:IPv4,ports:[{name:http,port:80,protocol:TCP}],endpoints:[{addresses:[10.96.2.22]}]}]
    Valid=True Valid The Service can be exported
    Ready=True Exported The Service is exported successfully; with sessionAffinity ClientIP all clients of another cluster count as one, as its Gateway is what they come from
    Conflict=False NoConflicts
    ");
}

/// Of Pods that are not ready yet other clusters hear later.
#[test]
fn an_exported_service_is_reached_whichever_endpoints_are_ready() {
    let check = |service: &str, slices: &[&str], addresses, expected: &[&str]| {
        let reached = reached(service, slices, addresses);
        assert_eq!(reached.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    };
    check(SERVICE, &[SLICE], ClusterIps, &["10.96.2.22"]);
    check(SERVICE, &[], ClusterIps, &["10.96.2.22"]);
    let pods = ["10.10.0.1", "10.10.0.2", "10.10.0.3"];
    check(SERVICE, &[SLICE, SLICE], PodIps, &pods);
    check(&SERVICE.replace("10.96.2.22", "None"), &[SLICE], ClusterIps, &pods);
    check(SERVICE, &[], PodIps, &[]);
    check(SERVICE, &[&SLICE.replace("10.10.0.1]", "172.18.0.5]")], PodIps, &pods[1..]);
    check(&SERVICE.replace("10.96.2.22", "10.97.0.1"), &[SLICE], ClusterIps, &[]);
}

#[test]
fn a_service_whose_clients_stay_says_what_that_means_for_other_clusters() {
    let service = SERVICE.replace("clusterIP:", "sessionAffinity: ClientIP, clusterIP:");
    let says = |service: &str, addresses| {
        let said = check(EXPORT, service, &[SLICE], addresses);
        said.contains("Exported The Service is exported successfully; with sessionAffinity ClientIP all clients of another cluster")
    };
    assert!(says(&service, ClusterIps));
    assert!(!says(&service, PodIps), "their own cluster chooses the Pod");
    assert!(
        !says(&service.replace("10.96.2.22", "None"), ClusterIps),
        "it is headless: names choose the Pod"
    );
    assert!(!says(SERVICE, ClusterIps));
}

#[test]
fn what_cannot_be_exported_is_withdrawn() {
    insta::assert_snapshot!(check(EXPORT, "", &[], ClusterIps), @"
    Valid=False NoService Service does not exist
    Ready=False Failed the Service cannot be exported, see condition Valid
    ");
    insta::assert_snapshot!(check(EXPORT, "spec: {type: ExternalName, externalName: web.example}", &[], ClusterIps), @"
    Valid=False InvalidServiceType Service of ExternalName type is not supported
    Ready=False Failed the Service cannot be exported, see condition Valid
    ");
    let imported =
        format!("metadata: {{annotations: {{multicluster.antrea.io/imported-service: 'true'}}}}\n{SERVICE}");
    insta::assert_snapshot!(check(EXPORT, &imported, &[SLICE], ClusterIps), @"
    Valid=False ImportedService The Service is imported, not allowed to export
    Ready=False Failed the Service cannot be exported, see condition Valid
    ");
    let six = SERVICE.replace("10.96.2.22", "'fd00:96::22'").replace("IPv4", "IPv6");
    insta::assert_snapshot!(check(EXPORT, &six, &[SLICE], ClusterIps), @"
    Valid=False ServiceNoClusterIP Service does not have a valid ClusterIP: only IPv4 crosses clusters
    Ready=False Failed the Service cannot be exported, see condition Valid
    ");
}

#[test]
fn a_service_without_ready_endpoints_stays_exported_and_gets_no_connections() {
    let none = "{addressType: IPv4, endpoints: [{addresses: [10.10.0.3], conditions: {ready: false}}]}";
    insta::assert_snapshot!(check(EXPORT, SERVICE, &[none], ClusterIps), @"
    serviceSpec: {ports:[{name:http,port:80,protocol:TCP}],sessionAffinity:None,ipFamilies:[IPv4],internalTrafficPolicy:Cluster}
    origin: {creationTimestamp:2026-01-01T00:00:00Z,type:ClusterSetIP}
    Valid=True Valid The Service can be exported
    Ready=True Exported The Service is exported successfully; it has no ready endpoints that other clusters can reach
    Conflict=False NoConflicts
    ");
}

#[test]
fn endpoints_that_say_nothing_are_ready_and_terminating_ones_serve() {
    let unsaid = "{addressType: IPv4, endpoints: [{addresses: [10.10.0.3]}]}";
    assert!(check(EXPORT, SERVICE, &[unsaid], ClusterIps).contains("10.96.2.22"));
    let terminating = "{addressType: IPv4, endpoints: [{addresses: [10.10.0.3], conditions: {ready: false, serving: true, terminating: true}}]}";
    assert!(check(EXPORT, SERVICE, &[terminating], ClusterIps).contains("10.96.2.22"));
}

#[test]
fn families_that_stay_at_home_are_named() {
    let dual =
        SERVICE.replace("[10.96.2.22]", "[10.96.2.22, 'fd00:96::22']").replace("[IPv4]", "[IPv4, IPv6]");
    let six = "{addressType: IPv6, endpoints: [{addresses: ['fd00:10::1']}]}";
    insta::assert_snapshot!(check(EXPORT, &dual, &[SLICE, six], PodIps), @"
    serviceSpec: {ports:[{name:http,port:80,protocol:TCP}],sessionAffinity:None,ipFamilies:[IPv4,IPv6],internalTrafficPolicy:Cluster}
    origin: {creationTimestamp:2026-01-01T00:00:00Z,type:ClusterSetIP}
    subsets: [{addresses:[{ip:10.10.0.1},{ip:10.10.0.2}],ports:[{name:http,port:8080,protocol:TCP}]}]
    endpointSlices: [{addressType:IPv4,ports:[{name:http,port:8080,protocol:TCP}],endpoints:[{addresses:[10.10.0.1]},{addresses:[10.10.0.2]}]}]
    Valid=True Valid The Service can be exported
    Ready=True Exported The Service is exported successfully; IPv4 crosses clusters, IPv6 does not
    Conflict=False NoConflicts
    ");
}

#[test]
fn conditions_say_how_far_it_has_come() {
    let decision = decision(EXPORT, SERVICE, &[SLICE], ClusterIps);
    let conflict =
        Conflicts::Some("PortConflict".to_owned(), "port https 443/TCP is exported by west only".to_owned());
    insta::assert_snapshot!(said(&decision, &Progress::NoClusterSet), @"
    Valid=True Valid The Service can be exported
    Ready=False Pending this cluster is in no ClusterSet yet
    ");
    insta::assert_snapshot!(said(&decision, &Progress::Pending(None)), @"
    Valid=True Valid The Service can be exported
    Ready=False Pending the leader has not taken the export yet
    ");
    assert_eq!(said(&decision, &Progress::Kept), "Valid=True Valid The Service can be exported\n");
    insta::assert_snapshot!(said(&decision, &Progress::Refused("why".to_owned(), conflict.clone())), @"
    Valid=True Valid The Service can be exported
    Ready=False Failed why
    Conflict=True PortConflict port https 443/TCP is exported by west only
    ");
    insta::assert_snapshot!(said(&decision, &merged(conflict)), @"
    Valid=True Valid The Service can be exported
    Ready=True Exported The Service is exported successfully
    Conflict=True PortConflict port https 443/TCP is exported by west only
    ");
    let left_out = Some("left out: 10.97.0.1 is in no network that cluster east has announced".to_owned());
    insta::assert_snapshot!(said(&decision, &Progress::Merged { conflicts: Conflicts::Unknown, left_out }), @"
    Valid=True Valid The Service can be exported
    Ready=True Exported The Service is exported successfully; left out: 10.97.0.1 is in no network that cluster east has announced
    ");
    insta::assert_snapshot!(said(&decision, &merged(Conflicts::Unknown)), @"
    Valid=True Valid The Service can be exported
    Ready=True Exported The Service is exported successfully
    ");
}
