//! Which groups, versions and resources there are: one by one, or all at once (aggregated discovery of Kubernetes).

use serde_json::{Value, json};

use super::accept::Format;
use super::documents::Document;
use super::resources::{Resource, Scope, groups, of};

/// What there is at `api`, `apis`, and those of the groups and their versions.
pub(super) fn documents() -> Vec<Document> {
    let groups = groups();
    let listed: Vec<Value> = groups.iter().map(|(group, version)| api_group(group, version)).collect();
    let mut documents = vec![
        Document::json(
            "api",
            json!({"kind": "APIVersions", "versions": [], "serverAddressByClientCIDRs": []}),
        ),
        Document::json("apis", json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": listed})),
    ];
    for version in ["v2", "v2beta1"] {
        let (path, format) = ("apis".to_owned(), Format::Discovery(version));
        documents.push(Document { path, format, value: all(version) });
    }
    for (group, version) in groups {
        let mut value = json!({"kind": "APIGroup", "apiVersion": "v1"});
        merge(&mut value, api_group(group, version));
        documents.push(Document::json(format!("apis/{group}"), value));
        let resources: Vec<Value> = of(group, version).map(api_resource).collect();
        let value = json!({
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": format!("{group}/{version}"),
            "resources": resources,
        });
        documents.push(Document::json(format!("apis/{group}/{version}"), value));
    }
    documents
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
fn all(version: &str) -> Value {
    let items: Vec<Value> =
        groups().into_iter().map(|(group, version)| discovered_group(group, version)).collect();
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": format!("apidiscovery.k8s.io/{version}"),
        "metadata": {},
        "items": items,
    })
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
