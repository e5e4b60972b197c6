//! Which groups, versions and resources there are: one by one, or all at once (aggregated discovery of Kubernetes).

use hyper::HeaderMap;
use serde_json::{Value, json};

use super::accept::{Format, negotiate};
use super::answer::{self, Answer, JSON};
use super::failure::Failure;
use super::resources::{Resource, Scope, groups, of};

/// Answers for `/api`, `/apis`, a group or a version.
pub(super) fn answer(path: &str, headers: &HeaderMap) -> Result<Answer, Failure> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let aggregated = [Format::Json, Format::Discovery("v2"), Format::Discovery("v2beta1")];
    let offered = if matches!(parts.as_slice(), ["apis"]) { &aggregated[..] } else { &aggregated[..1] };
    let format = negotiate(headers, offered).ok_or_else(Failure::not_acceptable)?;
    let value = match (parts.as_slice(), format) {
        (["apis"], Format::Discovery(version)) => return Ok(all(version)),
        (["api"], _) => json!({"kind": "APIVersions", "versions": [], "serverAddressByClientCIDRs": []}),
        (["apis"], _) => {
            let groups: Vec<Value> =
                groups().into_iter().map(|(group, version)| api_group(group, version)).collect();
            json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
        }
        (["apis", wanted], _) => {
            let found = groups().into_iter().find(|(group, _)| group == wanted);
            let (group, version) = found.ok_or_else(Failure::no_such_path)?;
            let mut value = json!({"kind": "APIGroup", "apiVersion": "v1"});
            merge(&mut value, api_group(group, version));
            value
        }
        (["apis", group, version], _) => {
            let resources: Vec<Value> = of(group, version).map(api_resource).collect();
            if resources.is_empty() {
                return Err(Failure::no_such_path());
            }
            json!({
                "kind": "APIResourceList",
                "apiVersion": "v1",
                "groupVersion": format!("{group}/{version}"),
                "resources": resources,
            })
        }
        _ => return Err(Failure::no_such_path()),
    };
    Ok(answer::json(JSON, &value))
}

fn merge(value: &mut Value, more: Value) {
    if let (Value::Object(fields), Value::Object(more)) = (value, more) {
        fields.extend(more);
    }
}

fn api_group(group: &str, version: &str) -> Value {
    let version = json!({"groupVersion": format!("{group}/{version}"), "version": version});
    json!({"name": group, "versions": [version], "preferredVersion": version})
}

fn api_resource(resource: &Resource) -> Value {
    json!({
        "name": resource.name,
        "singularName": resource.singular,
        "namespaced": resource.scope == Scope::Namespaced,
        "kind": resource.kind,
        "verbs": resource.served.verbs(),
    })
}

/// All groups (`apidiscovery.k8s.io`). The two versions say the same.
fn all(version: &str) -> Answer {
    let items: Vec<Value> =
        groups().into_iter().map(|(group, version)| discovered_group(group, version)).collect();
    let value = json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": format!("apidiscovery.k8s.io/{version}"),
        "metadata": {},
        "items": items,
    });
    let content_type = match version {
        "v2" => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        _ => "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
    };
    answer::json(content_type, &value)
}

fn discovered_group(group: &str, version: &str) -> Value {
    let whole = of(group, version).filter(|resource| resource.part().is_none());
    let resources: Vec<Value> = whole.map(discovered_resource).collect();
    json!({
        "metadata": {"name": group, "creationTimestamp": null},
        "versions": [{"version": version, "resources": resources, "freshness": "Current"}],
    })
}

fn discovered_resource(resource: &Resource) -> Value {
    let scope = match resource.scope {
        Scope::Cluster => "Cluster",
        Scope::Namespaced => "Namespaced",
    };
    let mut value = json!({
        "resource": resource.name,
        "responseKind": response_kind(resource),
        "scope": scope,
        "singularResource": resource.singular,
        "verbs": resource.served.verbs(),
    });
    let parts = of(resource.group(), resource.version()).filter_map(|part| {
        let (_, name) = part.part().filter(|(whole, _)| *whole == resource.name)?;
        let verbs = part.served.verbs();
        Some(json!({"subresource": name, "responseKind": response_kind(part), "verbs": verbs}))
    });
    let parts: Vec<Value> = parts.collect();
    if !parts.is_empty() {
        merge(&mut value, json!({"subresources": parts}));
    }
    value
}

pub(super) fn response_kind(resource: &Resource) -> Value {
    json!({"group": resource.group(), "version": resource.version(), "kind": resource.kind})
}
