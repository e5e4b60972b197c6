//! Names of objects: upstream's where they can only mean one thing, and never one name for two.

use std::collections::BTreeMap;

use antrea_mc_core::ids::{ClusterId, NamespacedName};
use antrea_mc_core::names::{
    Holder, Names, Resource, derived_policy_name, derived_service_name, endpoint_slice_name,
};
use proptest::prelude::*;

fn cluster(id: &str) -> ClusterId {
    id.parse().unwrap()
}

fn service(namespace: &str, name: &str) -> Resource {
    Resource::Service(NamespacedName::new(namespace, name).unwrap())
}

fn endpoints(namespace: &str, name: &str) -> Resource {
    Resource::Endpoints(NamespacedName::new(namespace, name).unwrap())
}

fn export_name(id: &str, resource: &Resource) -> String {
    Names::of_export(&cluster(id), resource).plain
}

fn import_name(resource: &Resource) -> String {
    Names::of_import(resource).plain
}

/// The name that is chosen where something has these names already.
fn chosen(names: &Names, its_own: &str, of_others: &str) -> String {
    let holder = |name: &str| match name {
        name if name == its_own => Holder::Itself,
        name if name == of_others => Holder::Another,
        _ => Holder::Nobody,
    };
    names.choose(holder).to_owned()
}

#[test]
fn the_names_of_the_seed_are_those_that_are_written() {
    assert_eq!(export_name("cluster-a", &service("ns", "foo")), "cluster-a-ns-foo-service");
    assert_eq!(export_name("cluster-a", &endpoints("ns", "foo")), "cluster-a-ns-foo-endpoints");
    assert_eq!(import_name(&service("ns", "foo")), "ns-foo-service");
    assert_eq!(import_name(&endpoints("ns", "foo")), "ns-foo-endpoints");
    let of_export = Names::of_export(&cluster("cluster-a"), &service("ns", "foo"));
    assert_eq!(chosen(&of_export, "", ""), "cluster-a-ns-foo-service");
    assert_eq!(chosen(&Names::of_import(&service("my-ns", "foo")), "", ""), "my-ns-foo-service");
}

#[test]
fn names_are_upstreams() {
    assert_eq!(export_name("east", &service("default", "web-api")), "east-default-web-api-service");
    assert_eq!(export_name("east", &Resource::ClusterInfo(cluster("east"))), "east-clusterinfo");
    let labels = Resource::LabelIdentity("3c62ea4851ac2068".to_owned());
    assert_eq!(export_name("east-1", &labels), "east-1-3c62ea4851ac2068");
    assert_eq!(import_name(&service("default", "nginx")), "default-nginx-service");
    assert_eq!(
        import_name(&Resource::ClusterInfo(cluster("test-cluster-east"))),
        "test-cluster-east-clusterinfo"
    );
    assert_eq!(import_name(&Resource::Policy("strict-x".to_owned())), "strict-x-antreaclusternetworkpolicy");
    assert_eq!(import_name(&labels), "3c62ea4851ac2068");
    assert_eq!(derived_service_name("nginx"), "antrea-mc-nginx");
    assert_eq!(derived_policy_name("strict"), "antrea-mc-strict");
}

#[test]
fn a_name_that_something_else_has_gets_a_hash() {
    let names = Names::of_import(&service("prod-web", "api"));
    insta::assert_snapshot!(&names.hashed, @"prod-web-api-service-bd16e6199b930c7d");
    assert_eq!(chosen(&names, "", "prod-web-api-service"), names.hashed);
    let of_export = Names::of_export(&cluster("east-1"), &service("prod", "api"));
    insta::assert_snapshot!(&of_export.hashed, @"east-1-prod-api-service-9a8917294af3dd27");
    assert_eq!(chosen(&of_export, "", "east-1-prod-api-service"), of_export.hashed);
}

#[test]
fn what_is_there_keeps_its_name() {
    let names = Names::of_import(&service("prod-web", "api"));
    assert_eq!(chosen(&names, &names.hashed, ""), names.hashed, "though nothing has the plain one any more");
    assert_eq!(chosen(&names, &names.plain, ""), names.plain);
}

#[test]
fn names_that_can_mean_one_thing_alone_never_get_a_hash() {
    for resource in
        [service("prod", "api"), Resource::Policy("a-b".to_owned()), Resource::ClusterInfo(cluster("a-b"))]
    {
        let names = Names::of_import(&resource);
        assert_eq!(chosen(&names, "", &names.plain), names.plain);
    }
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

/// The name that something gets beside others with names.
fn name_of<T: PartialEq>(there: &BTreeMap<String, T>, names: &Names, own: &T) -> String {
    let holder = |name: &str| match there.get(name) {
        None => Holder::Nobody,
        Some(holder) if holder == own => Holder::Itself,
        Some(_) => Holder::Another,
    };
    names.choose(holder).to_owned()
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
            let name = name_of(&exports, &Names::of_export(&id, &resource), &(id.clone(), resource.clone()));
            prop_assert!(is_subdomain(&name), "{}", name);
            prop_assert_eq!(exports.entry(name).or_insert((id.clone(), resource.clone())), &(id.clone(), resource.clone()));
            let name = name_of(&imports, &Names::of_import(&resource), &resource);
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
