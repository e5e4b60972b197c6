//! Objects as version 0.1.0 writes them, with every field: frozen, for this version has to read what members and leaders
//! of that one wrote, and the other way round. A file of a released version never changes; fields of a later one come
//! with a folder of their own.

use std::collections::BTreeSet;

use antrea_shared_api::mcs;
use antrea_shared_api::multicluster::{v1alpha1, v1alpha2};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{check, definitions};

/// All frozen objects, one file a kind.
const FROZEN: [&str; 10] = [
    include_str!("../golden/v0.1.0/clusterclaim.yaml"),
    include_str!("../golden/v0.1.0/clusterinfoimport.yaml"),
    include_str!("../golden/v0.1.0/clusterset.yaml"),
    include_str!("../golden/v0.1.0/gateway.yaml"),
    include_str!("../golden/v0.1.0/labelidentity.yaml"),
    include_str!("../golden/v0.1.0/memberclusterannounce.yaml"),
    include_str!("../golden/v0.1.0/resourceexport.yaml"),
    include_str!("../golden/v0.1.0/resourceimport.yaml"),
    include_str!("../golden/v0.1.0/serviceexport.yaml"),
    include_str!("../golden/v0.1.0/serviceimport.yaml"),
];

/// What is done with an object, whatever its type.
trait Each {
    fn each<T: Serialize + DeserializeOwned>(&mut self, object: &Value);
}

fn for_all(what: &mut impl Each) {
    for object in objects() {
        let version = object["apiVersion"].as_str().unwrap().rsplit('/').next().unwrap();
        match (object["kind"].as_str().unwrap(), version) {
            ("ClusterClaim", "v1alpha2") => what.each::<v1alpha2::ClusterClaim>(&object),
            ("ClusterInfoImport", "v1alpha1") => what.each::<v1alpha1::ClusterInfoImport>(&object),
            ("ClusterSet", "v1alpha2") => what.each::<v1alpha2::ClusterSet>(&object),
            ("ClusterSet", "v1alpha1") => what.each::<v1alpha1::ClusterSet>(&object),
            ("Gateway", "v1alpha1") => what.each::<v1alpha1::Gateway>(&object),
            ("LabelIdentity", "v1alpha1") => what.each::<v1alpha1::LabelIdentity>(&object),
            ("MemberClusterAnnounce", "v1alpha1") => what.each::<v1alpha1::MemberClusterAnnounce>(&object),
            ("ResourceExport", "v1alpha1") => what.each::<v1alpha1::ResourceExport>(&object),
            ("ResourceImport", "v1alpha1") => what.each::<v1alpha1::ResourceImport>(&object),
            ("ServiceExport", "v1beta1") => what.each::<mcs::v1beta1::ServiceExport>(&object),
            ("ServiceExport", "v1alpha1") => what.each::<mcs::v1alpha1::ServiceExport>(&object),
            ("ServiceImport", "v1beta1") => what.each::<mcs::v1beta1::ServiceImport>(&object),
            ("ServiceImport", "v1alpha1") => what.each::<mcs::v1alpha1::ServiceImport>(&object),
            (kind, version) => panic!("{kind} {version} is no kind of ours"),
        }
    }
}

fn objects() -> impl Iterator<Item = Value> {
    FROZEN.iter().flat_map(|file| serde_saphyr::from_multiple::<Value>(file).unwrap())
}

#[test]
fn objects_of_0_1_0_come_through_unchanged() {
    struct Unchanged;
    impl Each for Unchanged {
        fn each<T: Serialize + DeserializeOwned>(&mut self, object: &Value) {
            check::<T>(object);
        }
    }
    for_all(&mut Unchanged);
}

#[test]
fn objects_of_0_1_0_are_taken_and_kept() {
    objects().for_each(|object| definitions::check(&object, &[]));
}

#[test]
fn fields_of_a_newer_version_are_passed_over() {
    struct Newer;
    impl Each for Newer {
        fn each<T: Serialize + DeserializeOwned>(&mut self, object: &Value) {
            let mut newer = object.clone();
            add_fields(&mut newer);
            let read: T = serde_json::from_value(newer).expect("a newer version may add optional fields");
            let mut written = serde_json::to_value(&read).unwrap();
            // Some parts are kept whatever they are.
            remove_fields(&mut written);
            assert_eq!(written, *object);
        }
    }
    for_all(&mut Newer);
}

const NEWER: &str = "fieldOfANewerVersion";

fn add_fields(value: &mut Value) {
    match value {
        // The keys of labels and annotations are anybody's.
        Value::Object(fields)
            if ["team", "owner", "touch-ts"].iter().any(|key| fields.contains_key(*key)) => {}
        Value::Object(fields) => {
            fields.values_mut().for_each(add_fields);
            fields.insert(NEWER.to_owned(), json!({ "a": [1] }));
        }
        Value::Array(items) => items.iter_mut().for_each(add_fields),
        _ => {}
    }
}

fn remove_fields(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.shift_remove(NEWER);
            fields.values_mut().for_each(remove_fields);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_fields),
        _ => {}
    }
}

#[test]
fn every_field_of_this_version_is_frozen() {
    let mut frozen = BTreeSet::new();
    for object in objects() {
        let kind = definitions::name_of(&object);
        paths(&kind, &object, &mut frozen);
    }
    for (kind, schema) in definitions::schemas() {
        let mut known = BTreeSet::new();
        properties(kind, schema, &mut known);
        let missing: Vec<&String> = known.difference(&frozen).collect();
        assert!(missing.is_empty(), "add them to the newest folder of tests/golden: {missing:?}");
    }
}

/// The fields that an object has.
fn paths(path: &str, value: &Value, found: &mut BTreeSet<String>) {
    value.as_array().into_iter().flatten().for_each(|item| paths(path, item, found));
    for (name, value) in value.as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        paths(&path, value, found);
        found.insert(path);
    }
}

/// The fields that a schema knows.
fn properties(path: &str, schema: &Value, found: &mut BTreeSet<String>) {
    if let Some(items) = schema.get("items") {
        properties(path, items, found);
    }
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        properties(&path, schema, found);
        found.insert(path);
    }
}
