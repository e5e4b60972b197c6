//! Which Services and policies are imported: found without looking at all ResourceImports.

use std::collections::BTreeSet;

use antrea_shared_api::multicluster::v1alpha1::ImportKind;
use serde_json::Value;

use super::{Key, text};
use crate::kind::Kind;

/// What a ResourceImport is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum About {
    /// A Service: its Namespace and name.
    Service([String; 2]),
    /// A policy of this name.
    Policy(String),
}

/// What each ResourceImport is about, with its Namespace and name: several can be about the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Imports(BTreeSet<(About, [String; 2])>);

impl Imports {
    /// The object is there.
    pub(super) fn add(&mut self, key: &Key, object: &Value) {
        self.0.extend(entry(key, object));
    }

    /// The object, which was like this, is not there any more.
    pub(super) fn remove(&mut self, key: &Key, object: &Value) {
        if let Some(entry) = entry(key, object) {
            self.0.remove(&entry);
        }
    }

    /// The names of the imported Services of a Namespace, sorted, once for each import.
    pub(super) fn services(&self, namespace: &str) -> impl Iterator<Item = &str> {
        let first = About::Service([namespace.to_owned(), String::new()]);
        self.0.range((first, <[String; 2]>::default())..).map_while(move |(about, _)| match about {
            About::Service([of, name]) if of == namespace => Some(name.as_str()),
            _ => None,
        })
    }

    /// Whether there is an import of a Service.
    pub(super) fn has_service(&self, namespace: &str, name: &str) -> bool {
        let about = About::Service([namespace.to_owned(), name.to_owned()]);
        let mut following = self.0.range((about.clone(), <[String; 2]>::default())..);
        following.next().is_some_and(|(found, _)| *found == about)
    }

    /// The names of the imported policies, sorted, once for each import.
    pub(super) fn policies(&self) -> impl Iterator<Item = &str> {
        let first = About::Policy(String::new());
        self.0.range((first, <[String; 2]>::default())..).filter_map(|(about, _)| match about {
            About::Policy(name) => Some(name.as_str()),
            About::Service(_) => None,
        })
    }
}

fn entry(key: &Key, object: &Value) -> Option<(About, [String; 2])> {
    if key.kind != Kind::ResourceImport {
        return None;
    }
    let part = |pointer| text(object, pointer).to_owned();
    let about = match ImportKind::from(text(object, "/spec/kind")) {
        ImportKind::ServiceImport | ImportKind::Endpoints => {
            About::Service([part("/spec/namespace"), part("/spec/name")])
        }
        ImportKind::AntreaClusterNetworkPolicy => About::Policy(part("/spec/name")),
        _ => return None,
    };
    Some((about, [key.namespace.clone(), key.name.clone()]))
}
