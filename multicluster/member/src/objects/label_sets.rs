//! Labels that Pods of a Namespace have, and that are exported: found without looking at all Pods and ResourceExports.

use std::collections::{BTreeMap, BTreeSet};

use antrea_shared_api::labels::{Labels, parse};
use serde_json::Value;

use super::{Key, at, read, text};
use crate::kind::Kind;

/// The label that every Namespace has: its name. So the labels of a Pod say which Namespace it is in.
pub(crate) const NAMESPACE_LABEL: &str = "kubernetes.io/metadata.name";

/// Labels of Pods in one Namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LabelSet {
    /// The Namespace; empty where an export cannot be read, which is of no Namespace.
    pub namespace: String,
    /// The labels.
    pub labels: Labels,
}

impl LabelSet {
    /// Of a Pod.
    pub(crate) fn of_pod(namespace: &str, pod: &Value) -> Self {
        Self { namespace: namespace.to_owned(), labels: labels_of(pod) }
    }

    /// Of a ResourceExport, if it is one of labels.
    pub(crate) fn of_export(export: &Value) -> Option<Self> {
        if text(export, "/spec/kind") != "LabelIdentity" {
            return None;
        }
        let labels = parse(text(export, "/spec/labelIdentity/normalizedLabel")).ok();
        let set = labels.and_then(|mut labels| {
            let namespace = labels.namespace.remove(NAMESPACE_LABEL)?;
            Some(Self { namespace, labels: labels.pod })
        });
        Some(set.unwrap_or_default())
    }
}

/// The labels of an object.
pub(crate) fn labels_of(object: &Value) -> Labels {
    at(object, "/metadata/labels").and_then(read).unwrap_or_default()
}

/// Who has each set of labels.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LabelSets(BTreeMap<LabelSet, Holders>);

#[derive(Clone, Debug, Default, PartialEq)]
struct Holders {
    /// How many Pods.
    pods: usize,
    /// The ResourceExports.
    exports: BTreeSet<Key>,
}

impl LabelSets {
    /// The object is there.
    pub(super) fn add(&mut self, key: &Key, object: &Value) {
        match key.kind {
            Kind::Pod => self.0.entry(LabelSet::of_pod(&key.namespace, object)).or_default().pods += 1,
            Kind::ResourceExport => {
                if let Some(set) = LabelSet::of_export(object) {
                    self.0.entry(set).or_default().exports.insert(key.clone());
                }
            }
            _ => {}
        }
    }

    /// The object, which was like this, is not there any more.
    pub(super) fn remove(&mut self, key: &Key, object: &Value) {
        let set = match key.kind {
            Kind::Pod => Some(LabelSet::of_pod(&key.namespace, object)),
            Kind::ResourceExport => LabelSet::of_export(object),
            _ => None,
        };
        let Some(set) = set else { return };
        let Some(holders) = self.0.get_mut(&set) else { return };
        if !holders.exports.remove(key) {
            holders.pods = holders.pods.saturating_sub(1);
        }
        if holders.pods == 0 && holders.exports.is_empty() {
            self.0.remove(&set);
        }
    }

    /// The sets of a Namespace.
    pub(super) fn within(&self, namespace: &str) -> impl Iterator<Item = &LabelSet> {
        let first = LabelSet { namespace: namespace.to_owned(), labels: Labels::new() };
        self.0.range(first..).map(|(set, _)| set).take_while(move |set| set.namespace == namespace)
    }

    /// How many Pods have a set.
    pub(super) fn pods(&self, set: &LabelSet) -> usize {
        self.0.get(set).map_or(0, |holders| holders.pods)
    }

    /// The ResourceExports of a set.
    pub(super) fn exports(&self, set: &LabelSet) -> impl Iterator<Item = &Key> {
        self.0.get(set).into_iter().flat_map(|holders| &holders.exports)
    }
}
