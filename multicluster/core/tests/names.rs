//! Names of objects: upstream's where they can only mean one thing, and never one name for two.

use std::collections::BTreeMap;

use antrea_mc_core::ids::{ClusterId, NamespacedName};
use antrea_mc_core::names::{
    Naming, Resource, derived_policy_name, derived_service_name, endpoint_slice_name, export_name,
    import_name,
};
use proptest::prelude::*;

fn cluster(id: &str) -> ClusterId {
    id.parse().unwrap()
}

fn service(namespace: &str, name: &str) -> Resource {
    Resource::Service(NamespacedName::new(namespace, name).unwrap())
}

#[test]
fn names_are_upstreams_where_they_mean_one_thing() {
    let of_east = |resource| export_name(&cluster("east"), &resource, Naming::Unambiguous);
    assert_eq!(of_east(service("default", "web-api")), "east-default-web-api-service");
    assert_eq!(of_east(Resource::ClusterInfo(cluster("east"))), "east-clusterinfo");
    assert_eq!(of_east(Resource::LabelIdentity("3c62ea4851ac2068".to_owned())), "east-3c62ea4851ac2068");
    assert_eq!(import_name(&service("default", "nginx")), "default-nginx-service");
    assert_eq!(
        import_name(&Resource::ClusterInfo(cluster("test-cluster-east"))),
        "test-cluster-east-clusterinfo"
    );
    assert_eq!(import_name(&Resource::Policy("strict-x".to_owned())), "strict-x-antreaclusternetworkpolicy");
    assert_eq!(import_name(&Resource::LabelIdentity("3c62ea4851ac2068".to_owned())), "3c62ea4851ac2068");
    assert_eq!(derived_service_name("nginx"), "antrea-mc-nginx");
    assert_eq!(derived_policy_name("strict"), "antrea-mc-strict");
}

#[test]
fn names_that_upstream_gives_twice_get_a_hash() {
    assert_eq!(import_name(&service("prod", "web-api")), "prod-web-api-service");
    insta::assert_snapshot!(import_name(&service("prod-web", "api")), @"prod-web-api-service-bd16e6199b930c7d");
    let of = |id, naming| export_name(&cluster(id), &service("prod", "api"), naming);
    insta::assert_snapshot!(of("east-1", Naming::Unambiguous), @"east-1-prod-api-service-9a8917294af3dd27");
    assert_eq!(of("east-1", Naming::Upstream), "east-1-prod-api-service");
}

#[test]
fn names_that_are_too_long_get_a_hash() {
    insta::assert_snapshot!(derived_service_name(&"a".repeat(54)), @"antrea-mc-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-a3f01b6939256127");
    assert_eq!(derived_service_name(&"a".repeat(53)), format!("antrea-mc-{}", "a".repeat(53)));
    let (long, other) = (format!("{}.a", "p".repeat(234)), format!("{}.b", "p".repeat(234)));
    assert_ne!(import_name(&Resource::Policy(long.clone())), import_name(&Resource::Policy(other)));
    assert!(import_name(&Resource::Policy(long)).len() <= 253);
}

#[test]
fn endpoint_slices_are_told_apart_by_cluster_and_number() {
    insta::assert_snapshot!(endpoint_slice_name("web", &cluster("east"), 0), @"antrea-mc-web-69c53c1a2b719824");
}

/// Labels made of few letters and many dashes, so that joined names collide often.
fn label() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ab]",
        "[ab]-[ab]",
        "[ab]-[ab]-[ab]",
        "[ab]{40,63}",
        "a{54}-[0-9a-f]{4}",
        "[ab]{36}-[0-9a-f]{16}"
    ]
}

fn resource() -> impl Strategy<Value = Resource> {
    let name =
        || (label(), label()).prop_map(|(namespace, name)| NamespacedName::new(&namespace, &name).unwrap());
    prop_oneof![
        name().prop_map(Resource::Service),
        name().prop_map(Resource::Endpoints),
        name().prop_map(Resource::ExternalEntity),
        label().prop_map(|id| Resource::ClusterInfo(cluster(&id))),
        proptest::collection::vec(label(), 1..5)
            .prop_map(|labels| Resource::Policy(labels.join(".")))
            .prop_filter(
                "a name of up to 253 bytes",
                |policy| matches!(policy, Resource::Policy(name) if name.len() <= 253)
            ),
        "[0-9a-f]{16}".prop_map(Resource::LabelIdentity),
    ]
}

fn is_subdomain(name: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    name.len() <= 253 && name.split('.').all(label)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn two_things_never_share_a_name(resources in proptest::collection::vec((label(), resource()), 100)) {
        let (mut exports, mut imports, mut services, mut slices) =
            (BTreeMap::new(), BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for (id, resource) in resources {
            // Each cluster exports what it says of itself only.
            let id = match &resource { Resource::ClusterInfo(own) => own.clone(), _ => cluster(&id) };
            let name = export_name(&id, &resource, Naming::Unambiguous);
            prop_assert!(is_subdomain(&name), "{}", name);
            prop_assert_eq!(exports.entry(name).or_insert((id.clone(), resource.clone())), &(id.clone(), resource.clone()));
            let name = import_name(&resource);
            prop_assert!(is_subdomain(&name), "{}", name);
            prop_assert_eq!(imports.entry(name).or_insert(resource.clone()), &resource);
            if let Resource::Service(of) = &resource {
                let name = derived_service_name(of.name());
                prop_assert!(name.len() <= 63 && is_subdomain(&name), "{}", name);
                prop_assert_eq!(services.entry(name).or_insert(of.name().to_owned()), of.name());
                let name = endpoint_slice_name(of.name(), &id, 0);
                prop_assert!(is_subdomain(&name), "{}", name);
                let key = (of.name().to_owned(), id.clone());
                prop_assert_eq!(slices.entry(name).or_insert(key.clone()), &key);
            }
        }
    }
}
