//! How large one export may be.

use antrea_mc_core::limits::{Limits, MOST_ENDPOINT_PORTS, Size, Usage, Used};
use antrea_shared_api::multicluster::v1alpha1::ResourceExport;
use serde_json::{Value, json};

fn size(spec: &Value) -> Size {
    let export: ResourceExport = serde_json::from_value(json!({ "metadata": {}, "spec": spec })).unwrap();
    Size::of(&export)
}

fn check(old: Option<&Size>, new: &Size) -> String {
    let checked = Limits::default().check(&"east".parse().unwrap(), Used::default(), old, new);
    checked.map_or_else(|over| over.to_string(), |()| "taken".to_owned())
}

#[test]
fn an_export_has_so_many_endpoints_and_no_more_unless_it_had_them_before() {
    let endpoints = |number: usize| {
        let address = |number: usize| json!({ "ip": format!("10.0.{}.{}", number / 250, number % 250 + 1) });
        let addresses: Vec<Value> = (0..number).map(address).collect();
        size(&json!({ "kind": "Endpoints", "endpoints": { "subsets": [{ "addresses": addresses }] } }))
    };
    let (most, more, most_of_all) = (
        endpoints(MOST_ENDPOINT_PORTS),
        endpoints(MOST_ENDPOINT_PORTS + 1),
        endpoints(MOST_ENDPOINT_PORTS + 2),
    );
    assert_eq!(check(None, &most), "taken");
    assert_eq!(
        check(None, &more),
        "the ResourceExport has 20001 endpoints times ports; at most 20000 are allowed"
    );
    assert_eq!(check(Some(&most_of_all), &more), "taken");
    assert_ne!(check(Some(&more), &most_of_all), "taken");
}

#[test]
fn endpoints_that_stand_there_for_two_readers_count_once() {
    let slice = json!({ "addressType": "IPv4", "endpoints": [{ "addresses": ["10.0.0.1"] }, { "addresses": ["10.0.0.2"] }] });
    let subset = json!({ "addresses": [{ "ip": "10.0.0.1" }, { "ip": "10.0.0.2" }] });
    let both = json!({ "subsets": [subset], "endpointSlices": [slice] });
    assert_eq!(size(&json!({ "kind": "Endpoints", "endpoints": both })).endpoint_ports, 2);
}

/// They are on every Node and in the environment of containers, also where nobody has endpoints.
#[test]
fn ports_of_a_service_count_without_any_endpoint() {
    let ports: Vec<Value> =
        (1..=100).map(|port| json!({ "name": format!("p{port}"), "port": port })).collect();
    let service = size(&json!({ "kind": "Service", "service": { "serviceSpec": { "ports": ports } } }));
    assert_eq!(service.endpoint_ports, 100);
    let used = Used { endpoint_ports: 99_901, ..Used::default() };
    let checked = Limits::default().check(&"east".parse().unwrap(), used, None, &service);
    let refused =
        "with this export cluster east would have 100001 endpoints times ports; at most 100000 are allowed";
    assert!(checked.unwrap_err().to_string().starts_with(refused));
}

/// Each Service that is exported takes one in every other member.
#[test]
fn a_member_leaves_others_clusterips_by_default() {
    let (limits, small) = (Limits::default(), "10.96.0.0/20".parse::<ipnet::Ipv4Net>().unwrap());
    assert!(limits.exports <= small.hosts().count() / 2, "of every other member with such a Service CIDR");
    let service = size(&json!({ "kind": "Service" }));
    let used = Used { exports: limits.exports, ..Used::default() };
    let cluster = "east".parse().unwrap();
    assert!(limits.check(&cluster, used, None, &service).is_err());
}

#[test]
fn what_a_member_uses_is_that_of_its_exports_as_they_are() {
    let export = |cluster: &str, kind: &str, ports: usize| {
        let ports: Vec<Value> = (1..=ports).map(|port| json!({ "port": port })).collect();
        let spec =
            json!({ "clusterID": cluster, "kind": kind, "service": { "serviceSpec": { "ports": ports } } });
        size(&spec)
    };
    let (large, small) = (export("east", "Service", 9), export("east", "Service", 2));
    let labels = export("east", "LabelIdentity", 0);
    let mut usage = Usage::default();
    usage.set("web", Some(&large));
    usage.set("labels", Some(&labels));
    usage.set("other", Some(&export("west", "Service", 1)));
    let both = Used { exports: 1, label_identities: 1, bytes: large.bytes + labels.bytes, endpoint_ports: 9 };
    assert_eq!(usage.of("east"), both);
    usage.set("web", Some(&small));
    assert_eq!(usage.of("east"), Used { bytes: small.bytes + labels.bytes, endpoint_ports: 2, ..both });
    usage.set("labels", None);
    usage.set("unknown", None);
    assert_eq!(usage.of("east"), Used { bytes: small.bytes, endpoint_ports: 2, label_identities: 0, ..both });
    usage.set("web", None);
    assert_eq!((usage.of("east"), usage.of("west").exports), (Used::default(), 1));
}
