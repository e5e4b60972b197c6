//! The CRDs are such as API servers take, and take the objects that upstream writes.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use antrea_shared_api::definitions::multicluster;
use serde_json::{Value, json};

use crate::{golden, items, yaml};

/// Schemas by `KIND.GROUP/VERSION`.
static SCHEMAS: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| {
    let mut schemas = BTreeMap::new();
    for definition in multicluster().unwrap() {
        let definition = serde_json::to_value(definition).unwrap();
        for version in definition["spec"]["versions"].as_array().unwrap() {
            let name = format!(
                "{}.{}/{}",
                definition["spec"]["names"]["kind"].as_str().unwrap(),
                definition["spec"]["group"].as_str().unwrap(),
                version["name"].as_str().unwrap()
            );
            schemas.insert(name, version["schema"]["openAPIV3Schema"].clone());
        }
    }
    schemas
});

/// The schema of each kind.
pub(crate) fn schemas() -> impl Iterator<Item = (&'static String, &'static Value)> {
    SCHEMAS.iter()
}

/// The name that the schema of an object has here.
pub(crate) fn name_of(object: &Value) -> String {
    format!("{}.{}", object["kind"].as_str().unwrap(), object["apiVersion"].as_str().unwrap())
}

fn schema_of(object: &Value) -> &'static Value {
    &SCHEMAS[&name_of(object)]
}

/// What an API server would refuse or drop of a value, as far as types, fields and words go.
fn problems(path: &str, value: &Value, schema: &Value, found: &mut Vec<String>) {
    let is = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    if schema["x-kubernetes-int-or-string"] != true && schema["type"] != is {
        found.push(format!("{path}: is of type {is}, not {}", schema["type"]));
    }
    if schema["enum"].as_array().is_some_and(|words| !words.contains(value)) {
        found.push(format!("{path}: {value} is none of {}", schema["enum"]));
    }
    for field in schema["required"].as_array().into_iter().flatten() {
        if value.get(field.as_str().unwrap()).is_none() {
            found.push(format!("{path}.{}: is missing", field.as_str().unwrap()));
        }
    }
    for item in value.as_array().into_iter().flatten() {
        problems(&format!("{path}[]"), item, &schema["items"], found);
    }
    for (key, part) in value.as_object().into_iter().flatten() {
        let path = format!("{path}.{key}");
        let field = schema["properties"].get(key).or_else(|| schema.get("additionalProperties"));
        match field {
            Some(field) => problems(&path, part, field, found),
            None if schema["x-kubernetes-preserve-unknown-fields"] == true => {}
            None => found.push(format!("{path}: is dropped")),
        }
    }
}

/// What an API server makes of an object is what is expected.
#[track_caller]
pub(crate) fn check(object: &Value, expected: &[&str]) {
    let schema = schema_of(object);
    let mut object = object.clone();
    for common in ["apiVersion", "kind", "metadata"] {
        object.as_object_mut().unwrap().remove(common);
    }
    let mut found = Vec::new();
    problems("", &object, schema, &mut found);
    assert_eq!(found, expected);
}

#[test]
fn what_upstream_writes_is_taken_and_kept() {
    for list in golden::ALL {
        items(&yaml(list)).iter().for_each(|item| check(item, &[]));
    }
}

#[test]
fn what_is_no_object_of_the_kind_is_refused() {
    check(
        &yaml(
            "{apiVersion: multicluster.crd.antrea.io/v1alpha1, kind: ResourceExport, spec: {kind: Pod, name: 1, \
             service: {serviceSpec: {ports: [{name: a}], externalIPs: [kept]}, more: dropped}}}",
        ),
        &[
            ".spec.kind: \"Pod\" is none of [\"Service\",\"Endpoints\",\"ClusterInfo\",\"AntreaClusterNetworkPolicy\",\"LabelIdentity\",\"ExternalEntity\"]",
            ".spec.name: is of type integer, not \"string\"",
            ".spec.service.serviceSpec.ports[].port: is missing",
            ".spec.service.more: is dropped",
        ],
    );
}

/// What API servers demand of a structural schema.
fn check_structural(path: &str, schema: &Value) {
    let schema = schema.as_object().unwrap();
    assert!(
        schema.contains_key("type") || schema.contains_key("x-kubernetes-int-or-string"),
        "{path}: no type"
    );
    for foreign in ["$ref", "default", "uniqueItems", "oneOf", "allOf"] {
        assert!(!schema.contains_key(foreign), "{path}: {foreign}");
    }
    for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        check_structural(&format!("{path}.{name}"), field);
    }
    for part in ["items", "additionalProperties"] {
        if let Some(part) = schema.get(part) {
            assert!(!schema.contains_key("properties"), "{path}: has both properties and others");
            check_structural(&format!("{path}[]"), part);
        }
    }
}

#[test]
fn schemas_are_structural() {
    for (name, schema) in SCHEMAS.iter() {
        check_structural(name, schema);
    }
}

/// As many as 512 clusters have, of which eight Gateways each are used.
#[test]
fn a_gateway_reports_4096_gateways_of_other_clusters_at_most() {
    let gateway = &SCHEMAS["Gateway.multicluster.crd.antrea.io/v1alpha1"];
    let most = gateway.pointer("/properties/status/properties/probe/properties/peers/maxItems");
    assert_eq!(most, Some(&json!(4096)));
}

#[test]
fn kinds_have_one_stored_version() {
    for definition in multicluster().unwrap() {
        let stored = definition.spec.versions.iter().filter(|version| version.storage).count();
        assert_eq!(stored, 1, "{:?}", definition.metadata.name);
    }
}
