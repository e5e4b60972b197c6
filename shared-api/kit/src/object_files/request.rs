//! What a URL of the Kubernetes API asks for.

use serde_json::Value;

use super::objects::{Key, Refusal, Resource};

/// A request, but for its method and body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) selection: Selection,
    /// The version from which on changes are wanted; none where nothing is watched.
    watch: Option<u64>,
}

/// Which objects are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Selection {
    One(Key),
    Many(Many),
}

/// Objects of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Many {
    pub(super) resource: Resource,
    pub(super) namespace: Option<String>,
    /// Field paths, such as `spec.nodeName`, and what stands there.
    fields: Vec<(String, String)>,
}

impl Call {
    /// Reads `/api/v1/…` or `/apis/GROUP/VERSION/…`, and the parameters `watch`, `resourceVersion` and
    /// `fieldSelector`; others do not change what is answered.
    pub(super) fn parse(path: &str, query: Option<&str>) -> Result<Self, Refusal> {
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        let (group_version, rest) = match segments.as_slice() {
            ["api", version, rest @ ..] => ((*version).to_owned(), rest),
            ["apis", group, version, rest @ ..] => (format!("{group}/{version}"), rest),
            _ => return Err(Refusal::bad_request("the path is not one of the Kubernetes API")),
        };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() && *rest != ["status"] => {
                (Some((*namespace).to_owned()), rest)
            }
            rest => (None, rest),
        };
        let resource =
            |plural: &str| Resource { group_version: group_version.clone(), plural: plural.to_owned() };
        let parameters = Parameters::parse(query.unwrap_or_default());
        let selection = match rest {
            [plural] => {
                Selection::Many(Many { resource: resource(plural), namespace, fields: parameters.fields })
            }
            // The status is part of the object here.
            [plural, name] | [plural, name, "status"] => {
                Selection::One(Key { resource: resource(plural), namespace, name: (*name).to_owned() })
            }
            _ => return Err(Refusal::bad_request("object files have no such subresource")),
        };
        Ok(Self { selection, watch: parameters.watch })
    }

    pub(super) fn watches(&self) -> bool {
        self.watch.is_some()
    }

    /// What is watched, and the version that was seen.
    pub(super) fn watching(&mut self) -> Option<(&Many, &mut u64)> {
        match (&self.selection, &mut self.watch) {
            (Selection::Many(many), Some(seen)) => Some((many, seen)),
            _ => None,
        }
    }
}

impl Many {
    /// Whether an object is one of them.
    pub(super) fn chooses(&self, key: &Key, object: &Value) -> bool {
        let field = |(path, wanted): &(String, String)| {
            let value = path.split('.').fold(object, |value, name| &value[name]);
            value.as_str().unwrap_or_default() == wanted
        };
        self.resource == key.resource
            && (self.namespace.is_none() || self.namespace == key.namespace)
            && self.fields.iter().all(field)
    }
}

struct Parameters {
    watch: Option<u64>,
    fields: Vec<(String, String)>,
}

impl Parameters {
    fn parse(query: &str) -> Self {
        let (mut watches, mut version, mut fields) = (false, 0, Vec::new());
        for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            match name {
                "watch" => watches = value == "true" || value == "1",
                "resourceVersion" => version = value.parse().unwrap_or(0),
                "fieldSelector" => fields = field_selector(value),
                _ => {}
            }
        }
        Self { watch: watches.then_some(version), fields }
    }
}

/// Reads `spec.nodeName=a,metadata.name=b`, percent-encoded.
fn field_selector(value: &str) -> Vec<(String, String)> {
    let text = value.replace("%3D", "=").replace("%3d", "=").replace("%2C", ",").replace("%2c", ",");
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs.map(|(path, value)| (path.to_owned(), value.trim_start_matches('=').to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, query: &str) -> String {
        match Call::parse(path, Some(query)) {
            Ok(Call { selection: Selection::One(key), .. }) => key.to_string(),
            Ok(Call { selection: Selection::Many(many), watch }) => {
                let Resource { group_version, plural } = many.resource;
                format!(
                    "{group_version} {plural} in {:?} with {:?}, watch {watch:?}",
                    many.namespace, many.fields
                )
            }
            Err(refusal) => refusal.message,
        }
    }

    #[test]
    fn paths_name_one_object_or_many() {
        assert_eq!(check("/api/v1/nodes/a/status", ""), "v1 nodes a");
        assert_eq!(check("/api/v1/namespaces/n/pods/p", ""), "v1 pods n/p");
        assert_eq!(check("/api/v1/namespaces/n", ""), "v1 namespaces n");
        assert_eq!(
            check("/apis/crd.antrea.io/v1beta1/antreaagentinfos", ""),
            "crd.antrea.io/v1beta1 antreaagentinfos in None with [], watch None"
        );
        assert_eq!(check("/version", ""), "the path is not one of the Kubernetes API");
    }

    #[test]
    fn parameters_choose_and_watch() {
        assert_eq!(
            check("/api/v1/pods", "&fieldSelector=spec.nodeName%3Da&watch=true&resourceVersion=7&limit=500"),
            "v1 pods in None with [(\"spec.nodeName\", \"a\")], watch Some(7)"
        );
    }
}
