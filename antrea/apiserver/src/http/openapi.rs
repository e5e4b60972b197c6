//! OpenAPI of the resources, versions 2 and 3: paths, verbs, kinds, and what is in objects.

use serde_json::{Map, Value, json};

use super::discovery::response_kind;
use super::documents::Document;
use super::resources::{RESOURCES, Resource, Scope, groups, of};

/// What there is at `openapi/v2`, `openapi/v3`, and the paths that the latter names.
pub(super) fn documents() -> Vec<Document> {
    let index = |(group, version)| {
        let path = format!("apis/{group}/{version}");
        let url = json!({"serverRelativeURL": format!("/openapi/v3/{path}")});
        (path, url)
    };
    let index = groups().into_iter().map(index).collect::<Map<_, _>>();
    let of_version = |(group, version)| {
        Document::json(format!("openapi/v3/apis/{group}/{version}"), of_version(group, version))
    };
    let mut documents =
        vec![Document::json("openapi/v2", whole()), Document::json("openapi/v3", json!({"paths": index}))];
    documents.extend(groups().into_iter().map(of_version));
    documents
}

fn whole() -> Value {
    let schemas = schemas(RESOURCES.iter());
    let paths = paths(RESOURCES.iter(), Version::V2);
    json!({"swagger": "2.0", "info": info(), "paths": paths, "definitions": schemas})
}

fn of_version(group: &str, version: &str) -> Value {
    let schemas = schemas(of(group, version));
    let paths = paths(of(group, version), Version::V3);
    json!({"openapi": "3.0.0", "info": info(), "paths": paths, "components": {"schemas": schemas}})
}

#[derive(Clone, Copy)]
enum Version {
    V2,
    V3,
}

fn info() -> Value {
    json!({"title": "Antrea", "version": concat!("v", env!("CARGO_PKG_VERSION"))})
}

/// `io.antrea.controlplane.v1beta2.NetworkPolicy`
fn schema_name(resource: &Resource) -> String {
    let reversed: Vec<&str> = resource.group().split('.').rev().collect();
    format!("{}.{}.{}", reversed.join("."), resource.version(), resource.kind)
}

fn schemas<'a>(resources: impl Iterator<Item = &'a Resource>) -> Map<String, Value> {
    resources.map(|resource| (schema_name(resource), schema(resource))).collect()
}

/// What is in objects of a resource; their kind stands in them, too.
fn schema(resource: &Resource) -> Value {
    let mut schema = (resource.schema)();
    schema["x-kubernetes-group-version-kind"] = json!([response_kind(resource)]);
    for (field, description) in [("apiVersion", "Group and version."), ("kind", "The kind of object.")] {
        schema["properties"][field] = json!({"description": description, "type": "string"});
    }
    schema
}

fn paths<'a>(resources: impl Iterator<Item = &'a Resource>, version: Version) -> Map<String, Value> {
    let mut paths = Map::new();
    for resource in resources {
        for verb in resource.served.verbs() {
            // A watch is a list with a parameter.
            let (method, action, path) = match *verb {
                "get" => ("get", "get", object_path(resource)),
                "list" => ("get", "list", collection_path(resource)),
                "create" if resource.part().is_some() => ("post", "post", object_path(resource)),
                "create" => ("post", "post", collection_path(resource)),
                _ => continue,
            };
            let operation = operation(resource, action, version);
            let item = paths
                .entry(path.clone())
                .or_insert_with(|| json!({"parameters": parameters(&path, version)}));
            if let Value::Object(item) = item {
                item.insert(method.to_owned(), operation);
            }
        }
    }
    paths
}

fn collection_path(resource: &Resource) -> String {
    let namespace = match resource.scope {
        Scope::Cluster => "",
        Scope::Namespaced => "namespaces/{namespace}/",
    };
    format!("/apis/{}/{namespace}{}", resource.api_version, resource.name)
}

fn object_path(resource: &Resource) -> String {
    match resource.part() {
        Some((whole, part)) => format!("/apis/{}/{whole}/{{name}}/{part}", resource.api_version),
        None => format!("{}/{{name}}", collection_path(resource)),
    }
}

fn parameters(path: &str, version: Version) -> Vec<Value> {
    let names = ["namespace", "name"].into_iter().filter(|name| path.contains(&format!("{{{name}}}")));
    let parameter = |name| match version {
        Version::V2 => json!({"name": name, "in": "path", "required": true, "type": "string"}),
        Version::V3 => json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}),
    };
    names.map(parameter).collect()
}

fn operation(resource: &Resource, action: &str, version: Version) -> Value {
    let schema = |place| match action {
        "list" => json!({"type": "object"}),
        _ => json!({"$ref": format!("#/{place}/{}", schema_name(resource))}),
    };
    let code = if action == "post" { "201" } else { "200" };
    let answered = match version {
        Version::V2 => json!({"description": "OK", "schema": schema("definitions")}),
        Version::V3 => json!({
            "description": "OK",
            "content": {"application/json": {"schema": schema("components/schemas")}},
        }),
    };
    let mut operation = json!({
        "operationId": format!("{action}{}{}", resource.group().replace('.', "_"), resource.kind),
        "responses": {code: answered},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": response_kind(resource),
    });
    if let (Version::V2, Value::Object(operation)) = (version, &mut operation) {
        operation.insert("produces".to_owned(), json!(["application/json"]));
    }
    operation
}
