//! All ResourceExports of a ClusterSet, and what comes of them: a ResourceImport for each resource, and a word to each
//! exporter.

mod bounds;
mod cluster_info;
mod outcome;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use antrea_shared_api::multicluster::v1alpha1 as api;
use api::ResourceImportSpec;
use jiff::Timestamp;

use crate::addresses::{AddressRefused, Claims};
use crate::conflict::Conflict;
use crate::ids::ClusterId;
use crate::label_identity::LabelIdentities;
use crate::names::Resource;
use crate::wire::{ParsedExport, Payload, Problem, parse_export, resource_of};

/// The ResourceExports, by name.
#[derive(Clone, Debug, Default)]
pub struct CommonArea {
    exports: BTreeMap<String, Known>,
    by_resource: BTreeMap<Resource, BTreeSet<String>>,
    /// Since when a ResourceExport first said that its Service is exported: it gets no older by what it says later.
    first_said: BTreeMap<String, Timestamp>,
}

/// A ResourceExport, useless or not.
#[derive(Clone, Debug, PartialEq)]
struct Known {
    resource: Option<Resource>,
    parsed: Result<ParsedExport, Problem>,
}

/// What a merge depends on beside the exports.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// Clusters whose lease is over: their endpoints are left out.
    pub withdrawn: &'a BTreeSet<ClusterId>,
    /// Who has which networks and Gateways.
    pub claims: &'a Claims,
    /// Since when clusters are members: none of their exports of Services is older. Those of others are no older than their
    /// ResourceExports.
    pub joined: &'a BTreeMap<ClusterId, Timestamp>,
    /// The numbers of labels.
    pub labels: &'a LabelIdentities,
    /// The Namespace of the Common Area.
    pub namespace: &'a str,
}

/// What comes of the exports of one resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The ResourceImport; none where nothing can be imported.
    pub import: Option<ResourceImportSpec>,
    /// What is said to each exporter, by the name of the ResourceExport.
    pub exporters: BTreeMap<String, Verdict>,
}

/// What is said to an exporter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Why nothing of the export counts; nothing where it does.
    pub refused: Option<String>,
    /// What clusters disagree on: the same for all exporters.
    pub conflicts: Arc<[Conflict]>,
    /// Fields that are left out.
    pub problems: Vec<Problem>,
    /// Addresses that are left out.
    pub addresses: Vec<AddressRefused>,
    /// Networks and Gateways that are left out.
    pub left_out: Vec<String>,
}

impl CommonArea {
    /// Takes in a ResourceExport; says which resources have to be merged anew. One that is being deleted is gone, though
    /// its finalizers still hold it.
    pub fn apply(&mut self, object: &api::ResourceExport) -> BTreeSet<Resource> {
        let name = object.metadata.name.clone().unwrap_or_default();
        if object.metadata.deletion_timestamp.is_some() {
            return self.delete(&name);
        }
        let known = Known { resource: resource_of(object).ok(), parsed: self.dated(&name, object) };
        if self.exports.get(&name) == Some(&known) {
            return BTreeSet::new();
        }
        let mut stale = self.take_out(&name);
        if let Some(resource) = &known.resource {
            self.by_resource.entry(resource.clone()).or_default().insert(name.clone());
            stale.extend(with_dependents(resource));
        }
        self.exports.insert(name, known);
        stale
    }

    /// Forgets a ResourceExport; says which resources have to be merged anew.
    pub fn delete(&mut self, name: &str) -> BTreeSet<Resource> {
        self.first_said.remove(name);
        self.take_out(name)
    }

    /// What an export says, but for an age that is greater than it was.
    fn dated(&mut self, name: &str, object: &api::ResourceExport) -> Result<ParsedExport, Problem> {
        let mut parsed = parse_export(object)?;
        let origin = object.spec.service.as_ref().and_then(|service| service.origin.as_ref());
        let said = origin.and_then(|origin| origin.creation_timestamp.as_ref()).map(|time| time.0);
        if let (Payload::Service(export), Some(said)) = (&mut parsed.payload, said) {
            let first = self.first_said.entry(name.to_owned()).or_insert(said);
            export.created = export.created.max(*first);
        }
        Ok(parsed)
    }

    fn take_out(&mut self, name: &str) -> BTreeSet<Resource> {
        let Some(resource) = self.exports.remove(name).and_then(|known| known.resource) else {
            return BTreeSet::new();
        };
        if let Some(names) = self.by_resource.get_mut(&resource) {
            names.remove(name);
            if names.is_empty() {
                self.by_resource.remove(&resource);
            }
        }
        with_dependents(&resource).into_iter().collect()
    }

    /// Everything that is exported.
    pub fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.by_resource.keys()
    }

    /// ResourceExports that do not even say what they export, and why.
    pub fn useless(&self) -> impl Iterator<Item = (&str, &Problem)> {
        self.exports
            .iter()
            .filter(|(_, known)| known.resource.is_none())
            .filter_map(|(name, known)| known.parsed.as_ref().err().map(|problem| (name.as_str(), problem)))
    }
}

/// The resources that depend on one: which endpoints count depends on the merged Service.
fn with_dependents(resource: &Resource) -> Vec<Resource> {
    match resource {
        Resource::Service(name) => vec![resource.clone(), Resource::Endpoints(name.clone())],
        _ => vec![resource.clone()],
    }
}
