//! Schemas of values that several kinds have, as far as CRDs can express them.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::multicluster::v1alpha1::{MOST_NAMED_NETWORKS, TunnelInfo};
use crate::multicluster::well_known::{MOST_EXPORTED_ADDRESSES, MOST_EXPORTED_POD_CIDRS};

/// A DNS label (RFC 1123).
pub(crate) fn dns_label(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" })
}

/// The ID of a cluster, which stays what it is once it is set.
pub(crate) fn constant_id(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = dns_label(generator);
    constant(&mut schema);
    schema
}

/// A value that stays what it is once it is set.
pub(crate) fn constant(schema: &mut Schema) {
    rule(schema, "self == oldSelf", "cannot be changed");
}

/// Fields that must be there.
pub(crate) fn require(schema: &mut Schema, fields: &[&str]) {
    schema.insert("required".to_owned(), fields.into());
}

/// The field that objects of a kind must have.
pub(crate) fn payload(schema: &mut Schema, kind: &str, field: &str) {
    let message = format!("{field} is missing: the kind is {kind}");
    rule(schema, &format!("self.kind != '{kind}' || has(self.{field})"), &message);
}

/// Adds a rule in CEL that values have to keep.
pub(crate) fn rule(schema: &mut Schema, rule: &str, message: &str) {
    let rules = schema.ensure_object().entry("x-kubernetes-validations").or_insert_with(|| json!([]));
    if let Some(rules) = rules.as_array_mut() {
        rules.push(json!({ "rule": rule, "message": message }));
    }
}

/// The UID of an object, or nothing.
pub(crate) fn uid(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "maxLength": 128 })
}

/// The ID of a cluster or a ClusterSet: a DNS label, or nothing.
pub(crate) fn optional_id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "maxLength": 63, "pattern": "^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$" })
}

/// IDs of clusters.
pub(crate) fn ids(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": dns_label(generator) })
}

/// The ID of a ClusterSet, the name of an object, which stays what it is once it is set.
pub(crate) fn constant_name(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = optional_name(generator);
    constant(&mut schema);
    schema
}

/// The name of an object, a DNS subdomain (RFC 1123), or nothing.
pub(crate) fn optional_name(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "maxLength": 253, "pattern": "^([a-z0-9]([-.a-z0-9]*[a-z0-9])?)?$" })
}

/// The URL of an API server, or nothing.
pub(crate) fn optional_server(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^(https://.+)?$" })
}

/// An address of either family.
pub(crate) fn ip(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "anyOf": [{ "format": "ipv4" }, { "format": "ipv6" }] })
}

/// Addresses of either family.
pub(crate) fn ips(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": ip(generator) })
}

/// One address of each family at most.
pub(crate) fn two_ips(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "maxItems": 2, "items": ip(generator) })
}

/// The families of a Service (core `ipFamilies`).
pub(crate) fn ip_families(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "maxItems": 2, "items": { "type": "string", "enum": ["IPv4", "IPv6"] } })
}

/// Core `sessionAffinity`.
pub(crate) fn session_affinity(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["None", "ClientIP"] })
}

/// Core `internalTrafficPolicy`.
pub(crate) fn internal_traffic_policy(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["Cluster", "Local"] })
}

/// The protocol of a tunnel.
pub(crate) fn tunnel_type(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": TunnelInfo::TYPES })
}

/// A network of either family.
pub(crate) fn cidr(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "cidr" })
}

/// A network of either family, or nothing.
pub(crate) fn optional_cidr(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "anyOf": [{ "format": "cidr" }, { "maxLength": 0 }] })
}

/// Networks of one kind that a member names, of either family.
pub(crate) fn named_cidrs(generator: &mut SchemaGenerator) -> Schema {
    cidrs_at_most(MOST_NAMED_NETWORKS, generator)
}

/// Where exported Services are reached.
pub(crate) fn exported_cidrs(generator: &mut SchemaGenerator) -> Schema {
    cidrs_at_most(MOST_EXPORTED_ADDRESSES, generator)
}

/// The networks of the Pods that other clusters reach.
pub(crate) fn pod_cidrs(generator: &mut SchemaGenerator) -> Schema {
    cidrs_at_most(MOST_EXPORTED_POD_CIDRS, generator)
}

/// So many networks of either family at most.
pub(crate) fn cidrs_at_most(most: usize, generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "maxItems": most, "items": cidr(generator) })
}

/// An object of another API, kept as it is.
pub(crate) fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

/// A list of which no two have the same `type`.
pub(crate) fn by_type(schema: &mut Schema) {
    schema.insert("x-kubernetes-list-type".to_owned(), "map".into());
    schema.insert("x-kubernetes-list-map-keys".to_owned(), vec!["type"].into());
}

/// A type of Kubernetes' own: its long descriptions stand in Kubernetes' reference. The field's own stays.
pub(crate) fn without_descriptions(schema: &mut Schema) {
    schema.ensure_object().values_mut().for_each(strip);
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.shift_remove("description");
            object.values_mut().for_each(strip);
        }
        Value::Array(values) => values.iter_mut().for_each(strip),
        _ => {}
    }
}
