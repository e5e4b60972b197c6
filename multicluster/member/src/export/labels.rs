//! The labels that Pods of this cluster have: one ResourceExport for each set, which policies of other clusters select.

use std::fmt;

use antrea_mc_core::ids::ClusterId;
use antrea_mc_core::names::{Names, Resource};
use antrea_shared_api::labels::{identity_name, normalized};
use antrea_shared_api::multicluster::well_known::label;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Membership, Problem};
use crate::action::{Action, ensure};
use crate::area::{Area, Lifted, Plan};
use crate::kind::Kind;
use crate::objects::{Change, Key, LabelSet, NAMESPACE_LABEL, Objects, is_leaving, labels_of, text};

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

impl fmt::Display for LabelSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels: Vec<String> = self.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        write!(f, "labels {:?} of Pods in Namespace {}", labels.join(","), self.namespace)
    }
}

impl Area for LabelExporter {
    type Subject = LabelSet;
    type Problem = Problem;

    fn kinds(&self) -> &'static [Kind] {
        match self.labels {
            LabelIdentities::Kept => &[Kind::ResourceExport],
            LabelIdentities::Exported => &[Kind::Namespace, Kind::Pod, Kind::ResourceExport],
        }
    }

    fn surroundings(&self) -> &'static [Kind] {
        &[Kind::Namespace]
    }

    fn lifts_refusals(&self, objects: &Objects, change: &Change) -> Lifted {
        Lifted::by_room(objects, change)
    }

    fn subjects(&self, objects: &Objects, change: &Change) -> Vec<LabelSet> {
        let Change { key, before } = change;
        let (before, now) = (before.as_ref(), objects.get(key));
        match key.kind {
            Kind::Namespace if before.map(labels_of) != now.map(labels_of) || before.is_none() => {
                objects.label_sets(&key.name).cloned().collect()
            }
            Kind::Pod => {
                let of = |pod| LabelSet::of_pod(&key.namespace, pod);
                let (before, now) = (before.map(of), now.map(of));
                if before == now { Vec::new() } else { now.into_iter().chain(before).collect() }
            }
            Kind::ResourceExport => {
                before.into_iter().chain(now).filter_map(|export| self.set_of(export)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn plan(&self, objects: &Objects, set: &LabelSet, _: Timestamp) -> Plan<Problem> {
        let Membership::Joined { area, unreachable: None } = &self.membership else {
            return Plan::default();
        };
        let text = match self.labels {
            LabelIdentities::Kept => None,
            LabelIdentities::Exported => wanted(objects, set),
        };
        let wanted = text.map(|text| (self.key(area, &text), text));
        let made = wanted.as_ref().and_then(|(key, text)| {
            let actual = objects.get(key);
            let export = self.export(key, text);
            // It comes back once the leader has let it go.
            ensure(Kind::ResourceExport, actual, &export).filter(|_| !actual.is_some_and(is_leaving))
        });
        let superfluous = objects.exports_of(set).filter(|(key, export)| {
            let is_it = wanted.as_ref().is_some_and(|(wanted, _)| wanted == *key);
            !is_it && !is_leaving(export) && self.set_of(export).is_some()
        });
        let superfluous = superfluous.map(|(key, export)| Action::delete(key, export));
        Plan { actions: made.into_iter().chain(superfluous).collect(), problems: Vec::new() }
    }
}

impl LabelExporter {
    fn key(&self, area: &str, text: &str) -> Key {
        let resource = Resource::LabelIdentity(identity_name(text));
        Key::new(Kind::ResourceExport, area, &Names::of_export(&self.cluster, &resource).plain)
    }

    /// What is exported; nothing where the export is another cluster's or of another kind.
    fn set_of(&self, export: &Value) -> Option<LabelSet> {
        let is_ours = text(export, "/spec/clusterID") == self.cluster.as_str();
        LabelSet::of_export(export).filter(|_| is_ours)
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

/// What is to be exported of a set, normalized; nothing where no Pod has it, or where its Namespace is gone.
fn wanted(objects: &Objects, set: &LabelSet) -> Option<String> {
    if objects.pods_with(set) == 0 {
        return None;
    }
    let home = objects.get(&Key::new(Kind::Namespace, "", &set.namespace))?;
    let mut of_home = labels_of(home);
    of_home.insert(NAMESPACE_LABEL.to_owned(), set.namespace.clone());
    Some(normalized(&of_home, &set.labels))
}
