//! What somebody wants to do, in the words of RBAC.

use std::fmt;

use k8s_openapi::api::authorization::v1::{NonResourceAttributes, ResourceAttributes};

/// Longer paths, names and methods are nobody's, and would only fill the memory, in bytes.
const LONGEST: usize = 512;

/// What somebody wants to do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Something with a path that is no resource.
    Path {
        /// The method of the request in lower case: `get`, `put`, …
        verb: String,
        /// The path.
        path: String,
    },
    /// Something with a resource.
    Resource(ResourceAction),
}

/// What somebody wants to do with a resource. What does not apply is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceAction {
    /// `get`, `list`, `watch`, `create`, …
    pub verb: String,
    /// The API group.
    pub group: String,
    /// Its version.
    pub version: String,
    /// What URLs call the kind.
    pub resource: String,
    /// A part of the object, like `status`.
    pub subresource: String,
    /// The Namespace; empty for all of them.
    pub namespace: String,
    /// The object; empty for all of them.
    pub name: String,
}

impl Action {
    /// A request for a path.
    pub fn path(method: &str, path: &str) -> Self {
        Self::Path { verb: method.to_ascii_lowercase(), path: path.to_owned() }
    }

    pub(super) fn is_too_long(&self) -> bool {
        match self {
            Self::Path { verb, path } => verb.len() + path.len() > LONGEST,
            Self::Resource(action) => {
                let ResourceAction { verb, group, version, resource, subresource, namespace, name } = action;
                let all = [verb, group, version, resource, subresource, namespace, name];
                all.into_iter().map(String::len).sum::<usize>() > LONGEST
            }
        }
    }

    /// As a review has it.
    pub(super) fn attributes(&self) -> (Option<NonResourceAttributes>, Option<ResourceAttributes>) {
        match self {
            Self::Path { verb, path } => {
                (Some(NonResourceAttributes { path: Some(path.clone()), verb: Some(verb.clone()) }), None)
            }
            Self::Resource(action) => (None, Some(action.attributes())),
        }
    }
}

impl ResourceAction {
    fn attributes(&self) -> ResourceAttributes {
        let there = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        ResourceAttributes {
            verb: there(&self.verb),
            group: there(&self.group),
            version: there(&self.version),
            resource: there(&self.resource),
            subresource: there(&self.subresource),
            namespace: there(&self.namespace),
            name: there(&self.name),
            ..ResourceAttributes::default()
        }
    }
}

/// As Kubernetes says what somebody cannot do: `get path "/metrics"`, `list resource "pods" in API group ""…`.
impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let action = match self {
            Self::Path { verb, path } => return write!(f, "{verb} path {path:?}"),
            Self::Resource(action) => action,
        };
        let ResourceAction { verb, group, resource, subresource, namespace, .. } = action;
        let slash = if subresource.is_empty() { "" } else { "/" };
        write!(f, "{verb} resource \"{resource}{slash}{subresource}\" in API group {group:?}")?;
        if namespace.is_empty() {
            f.write_str(" at the cluster scope")
        } else {
            write!(f, " in the namespace {namespace:?}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_reads_as_kubernetes_writes_it() {
        let action = ResourceAction {
            verb: "create".into(),
            group: "controlplane.antrea.io".into(),
            resource: "networkpolicies".into(),
            subresource: "status".into(),
            ..ResourceAction::default()
        };
        assert_eq!(
            Action::Resource(action.clone()).to_string(),
            "create resource \"networkpolicies/status\" in API group \"controlplane.antrea.io\" at the cluster scope"
        );
        let action = ResourceAction { namespace: "x".into(), subresource: String::new(), ..action };
        assert_eq!(
            Action::Resource(action).to_string(),
            "create resource \"networkpolicies\" in API group \"controlplane.antrea.io\" in the namespace \"x\""
        );
        assert_eq!(Action::path("GET", "/metrics").to_string(), "get path \"/metrics\"");
    }

    #[test]
    fn what_is_too_long_is_said_to_be() {
        assert!(!Action::path("GET", &"/".repeat(509)).is_too_long());
        assert!(Action::path("GET", &"/".repeat(510)).is_too_long());
        assert!(Action::path(&"A".repeat(512), "/").is_too_long());
        let name = "x".repeat(600);
        assert!(Action::Resource(ResourceAction { name, ..ResourceAction::default() }).is_too_long());
    }
}
