//! The labels that Pods of this cluster have: one ResourceExport for each set, which policies of other clusters select.

use std::collections::{BTreeMap, BTreeSet};

use antrea_mc_core::ids::ClusterId;
use antrea_mc_core::names::{Naming, Resource, export_name};
use antrea_shared_api::labels::{Labels, identity_name, normalized, parse};
use antrea_shared_api::multicluster::well_known::label;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Membership, Problem};
use crate::action::{Action, ensure};
use crate::area::{Area, Plan};
use crate::kind::Kind;
use crate::objects::{Change, Key, Objects, at, is_leaving, read, text};

/// The label that every Namespace has: its name. So the labels of a Pod say which Namespace it is in, and each
/// Namespace is decided on alone.
const NAMESPACE_LABEL: &str = "kubernetes.io/metadata.name";

/// Whether other clusters' policies can select Pods of this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelIdentities {
    /// Labels of Pods stay in the cluster. Those that were exported before are withdrawn.
    Kept,
    /// They are exported.
    Exported,
}

/// Exports labels of Pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelExporter {
    /// This cluster.
    pub cluster: ClusterId,
    /// Whether there is a leader.
    pub membership: Membership,
    /// Whether there is anything to export.
    pub labels: LabelIdentities,
}

impl Area for LabelExporter {
    /// A Namespace.
    type Subject = String;
    type Problem = Problem;

    fn kinds(&self) -> &'static [Kind] {
        match self.labels {
            LabelIdentities::Kept => &[Kind::ResourceExport],
            LabelIdentities::Exported => &[Kind::Namespace, Kind::Pod, Kind::ResourceExport],
        }
    }

    fn subjects(&self, objects: &Objects, change: &Change) -> Vec<String> {
        let Change { key, before } = change;
        match key.kind {
            Kind::Namespace => vec![key.name.clone()],
            Kind::Pod => vec![key.namespace.clone()],
            Kind::ResourceExport => {
                before.iter().chain(objects.get(key)).filter_map(|export| self.namespace_of(export)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn plan(&self, objects: &Objects, namespace: &String, _: Timestamp) -> Plan<Problem> {
        let Membership::Joined { area, naming, unreachable: None } = &self.membership else {
            return Plan::default();
        };
        let labels = match self.labels {
            LabelIdentities::Kept => BTreeSet::new(),
            LabelIdentities::Exported => labels(objects, namespace),
        };
        let wanted: BTreeMap<Key, String> =
            labels.into_iter().map(|text| (self.key(area, *naming, &text), text)).collect();
        let mut actions: Vec<Action> = wanted
            .iter()
            .filter(|(key, _)| !objects.get(key).is_some_and(is_leaving))
            .filter_map(|(key, text)| ensure(Kind::ResourceExport, objects.get(key), &self.export(key, text)))
            .collect();
        let there = objects.all(Kind::ResourceExport).filter(|(key, export)| {
            !wanted.contains_key(key)
                && !is_leaving(export)
                && self.namespace_of(export).as_ref() == Some(namespace)
        });
        actions.extend(there.map(|(key, export)| Action::delete(key, export)));
        Plan { actions, problems: Vec::new() }
    }
}

impl LabelExporter {
    fn key(&self, area: &str, naming: Naming, text: &str) -> Key {
        let resource = Resource::LabelIdentity(identity_name(text));
        Key::new(Kind::ResourceExport, area, &export_name(&self.cluster, &resource, naming))
    }

    /// The Namespace that exported labels are of; nothing where the export is another cluster's or of another kind.
    fn namespace_of(&self, export: &Value) -> Option<String> {
        let ours = text(export, "/spec/clusterID") == self.cluster.as_str();
        if !ours || text(export, "/spec/kind") != "LabelIdentity" {
            return None;
        }
        let labels = parse(text(export, "/spec/labelIdentity/normalizedLabel")).ok();
        // What cannot be read is of no Namespace, and is withdrawn with that.
        Some(labels.and_then(|mut labels| labels.namespace.remove(NAMESPACE_LABEL)).unwrap_or_default())
    }

    /// As upstream's: neither name nor Namespace, and no finalizer.
    fn export(&self, key: &Key, text: &str) -> Value {
        json!({
            "apiVersion": "multicluster.crd.antrea.io/v1alpha1",
            "kind": "ResourceExport",
            "metadata": {
                "name": key.name,
                "namespace": key.namespace,
                "labels": { label::SOURCE_CLUSTER_ID: self.cluster.as_str(), label::SOURCE_KIND: "LabelIdentity" },
            },
            "spec": {
                "clusterID": self.cluster.as_str(),
                "kind": "LabelIdentity",
                "labelIdentity": { "normalizedLabel": text },
            },
        })
    }
}

/// The label sets of the Pods of a Namespace, normalized.
fn labels(objects: &Objects, namespace: &str) -> BTreeSet<String> {
    let Some(home) = objects.get(&Key::new(Kind::Namespace, "", namespace)) else { return BTreeSet::new() };
    let mut of_home = labels_of(home);
    of_home.entry(NAMESPACE_LABEL.to_owned()).or_insert_with(|| namespace.to_owned());
    let pods = objects.within(Kind::Pod, namespace).map(|(_, pod)| normalized(&of_home, &labels_of(pod)));
    pods.collect()
}

fn labels_of(object: &Value) -> Labels {
    at(object, "/metadata/labels").and_then(read).unwrap_or_default()
}
