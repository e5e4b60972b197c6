//! What a request is about: paths of resources as Kubernetes has them (`/apis/GROUP/VERSION/…`).

use antrea_kit::auth::{Action, ResourceAction};
use antrea_kit::query::Query;
use hyper::{Method, Uri};

use super::failure::Failure;
use crate::store::Selector;

/// How long path and query may be, in bytes, and how many parameters there may be.
const LONGEST_PATH: usize = 1024;
const LONGEST_QUERY: usize = 2048;
const MOST_PARAMETERS: usize = 32;

/// The resource that a path names. What is not there is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourcePath {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) namespace: String,
    pub(crate) resource: String,
    pub(crate) name: String,
    pub(crate) subresource: String,
}

impl ResourcePath {
    /// Reads a path. There is none where it names no resource.
    pub(crate) fn read(path: &str) -> Option<Self> {
        let mut parts = path.trim_matches('/').split('/');
        if parts.next() != Some("apis") {
            return None;
        }
        let (group, version) = (parts.next()?, parts.next()?);
        let rest: Vec<&str> = parts.collect();
        let (namespace, rest) = match rest.as_slice() {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            rest => ("", rest),
        };
        let (resource, rest) = rest.split_first()?;
        let (name, subresource) = rest.split_first().unwrap_or((&"", &[]));
        Some(Self {
            group: group.to_owned(),
            version: version.to_owned(),
            namespace: namespace.to_owned(),
            resource: (*resource).to_owned(),
            name: (*name).to_owned(),
            subresource: subresource.join("/"),
        })
    }
}

/// Refuses a target longer than any client needs before parsing it: the client is not authenticated yet.
pub(crate) fn check_length(target: &Uri) -> Result<(), Failure> {
    let query = target.query().unwrap_or_default();
    let is_too_long = target.path().len() > LONGEST_PATH
        || query.len() > LONGEST_QUERY
        || query.matches('&').count() >= MOST_PARAMETERS;
    if is_too_long { Err(Failure::target_too_long()) } else { Ok(()) }
}

/// What somebody wants to do with a resource, in Kubernetes' words.
pub(crate) fn verb(method: &Method, path: &ResourcePath, query: &Query) -> &'static str {
    match (method.as_str(), path.name.is_empty()) {
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("GET" | "HEAD", true) if wants(query, "watch") => "watch",
        ("GET" | "HEAD", true) => "list",
        ("GET" | "HEAD", false) => "get",
        ("DELETE", true) => "deletecollection",
        ("DELETE", false) => "delete",
        _ => "",
    }
}

/// What of it RBAC is asked about. A list of one object by its name is about that object.
pub(crate) fn action(verb: &str, path: &ResourcePath, query: &Query) -> Action {
    let selected = || Selector::parse(query.get("fieldSelector")?).ok()?.name;
    let name = match verb {
        "list" | "watch" => selected().unwrap_or_default(),
        _ => path.name.clone(),
    };
    Action::Resource(ResourceAction {
        verb: verb.to_owned(),
        group: path.group.clone(),
        version: path.version.clone(),
        resource: path.resource.clone(),
        subresource: path.subresource.clone(),
        namespace: path.namespace.clone(),
        name,
    })
}

/// Whether a parameter is set: it is there and not false.
pub(crate) fn wants(query: &Query, name: &str) -> bool {
    query.has(name) && !matches!(query.get(name), Some("false" | "0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(request: &str, expected: &str) {
        let (method, uri) = request.split_once(' ').unwrap();
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let (method, query) = (method.parse().unwrap(), Query::parse(query));
        let read = ResourcePath::read(path).map(|path| {
            let verb = verb(&method, &path, &query);
            let Action::Resource(action) = action(verb, &path, &query) else { return String::new() };
            let ResourceAction { verb, group, version, resource, subresource, namespace, name } = action;
            format!("{verb} {group} {version} {namespace:?} {resource} {name:?} {subresource:?}")
        });
        assert_eq!(read.unwrap_or("path".to_owned()), expected, "{request}");
    }

    #[test]
    fn what_is_too_long_is_refused_before_it_is_taken_apart() {
        let check = |target: String, length: usize| {
            let is_refused =
                |length| check_length(&target.replace('*', &"&".repeat(length)).parse().unwrap()).is_err();
            assert_eq!([length, length + 1].map(is_refused), [false, true], "{target}");
        };
        check("/*".to_owned(), LONGEST_PATH - 1);
        check("/?*".to_owned(), MOST_PARAMETERS - 1);
        check(format!("/?{}*", "x".repeat(LONGEST_QUERY - 7)), 7);
    }

    #[test]
    fn requests_are_understood_as_kubernetes_does() {
        check("GET /apis", "path");
        check("GET /apis/g/v1", "path");
        check("GET /apis/g/v1/", "path");
        check("GET /metrics", "path");
        check("GET /apis/g/v1/things", r#"list g v1 "" things "" """#);
        check("GET /apis/g/v1/things?watch=1", r#"watch g v1 "" things "" """#);
        check("GET /apis/g/v1/things?watch=false", r#"list g v1 "" things "" """#);
        check(
            "GET /apis/g/v1/things?watch=true&fieldSelector=metadata.name%3Da",
            r#"watch g v1 "" things "a" """#,
        );
        check("GET /apis/g/v1/things/a", r#"get g v1 "" things "a" """#);
        check("POST /apis/g/v1/things/a/status", r#"create g v1 "" things "a" "status""#);
        check("DELETE /apis/g/v1/namespaces/x/things", r#"deletecollection g v1 "x" things "" """#);
        check("GET /apis/g/v1/namespaces/x/things/a/b/c", r#"get g v1 "x" things "a" "b/c""#);
        check("PATCH /apis/g/v1/namespaces/x", r#"patch g v1 "" namespaces "x" """#);
        check("OPTIONS /apis/g/v1/things", r#" g v1 "" things "" """#);
    }
}
