//! What comes of the exports of one resource, by the kind of the resource.

use std::borrow::Cow;
use std::sync::Arc;

use antrea_shared_api::multicluster::v1alpha1 as api;
use api::{ImportKind, ResourceImportSpec};

use super::bounds::{self, BoundedService, too_large};
use super::{CommonArea, Known, Outcome, Surroundings, Verdict};
use crate::conflict::Conflict;
use crate::export::Export;
use crate::ids::ClusterId;
use crate::merge::{self, MergedService, WholeExport};
use crate::names::{Names, Resource};
use crate::service::ExportedService;
use crate::wire::{ParsedExport, import_service};

use super::cluster_info::cluster_info;

impl CommonArea {
    /// What comes of the exports of `resource`.
    pub fn merge(&self, resource: &Resource, surroundings: &Surroundings<'_>) -> Outcome {
        let mut outcome = Outcome::default();
        for (name, known) in self.of(resource) {
            let verdict = match &known.parsed {
                Ok(parsed) => Verdict { problems: parsed.problems.clone(), ..Verdict::default() },
                Err(problem) => Verdict { refused: Some(problem.to_string()), ..Verdict::default() },
            };
            outcome.exporters.insert(name.to_owned(), verdict);
        }
        match resource {
            Resource::Service(_) => self.merge_service(resource, surroundings, &mut outcome),
            Resource::Endpoints(_) => self.merge_endpoints(resource, surroundings, &mut outcome),
            Resource::ClusterInfo(_) => self.merge_cluster_info(resource, surroundings, &mut outcome),
            Resource::LabelIdentity(_) => self.merge_labels(resource, surroundings, &mut outcome),
            Resource::Policy(_) | Resource::ExternalEntity(_) => self.merge_whole(resource, &mut outcome),
        }
        outcome
    }

    fn merge_service(&self, resource: &Resource, surroundings: &Surroundings<'_>, outcome: &mut Outcome) {
        let service = self.merged_service(resource, surroundings);
        let conflicts = service.merged.iter().flat_map(|merged| &merged.conflicts);
        let conflicts: Arc<[Conflict]> = conflicts.cloned().collect();
        for (name, cluster) in self.exporters_of(resource) {
            let verdict = outcome.exporters.entry(name.to_owned()).or_default();
            verdict.refused = refusal(&service, cluster);
            verdict.conflicts = Arc::clone(&conflicts);
        }
        outcome.import = service.merged.map(|merged| {
            let service_import = Some(import_service(&merged));
            ResourceImportSpec { service_import, ..spec(resource) }
        });
    }

    fn merge_endpoints(&self, resource: &Resource, surroundings: &Surroundings<'_>, outcome: &mut Outcome) {
        let Resource::Endpoints(service) = resource else { return };
        let service = self.merged_service(&Resource::Service(service.clone()), surroundings);
        let exports: Vec<_> =
            self.parsed(resource).filter_map(|(_, parsed)| parsed.payload.endpoints()).collect();
        if exports.is_empty() {
            return;
        }
        let nothing = MergedService::default();
        let counting = service.merged.as_ref().unwrap_or(&nothing);
        let mut merged = merge::endpoints(counting, &exports, surroundings.withdrawn, surroundings.claims);
        let refused = std::mem::take(&mut merged.refused);
        let (endpoints, left_out) = bounds::endpoints(merged);
        for (name, cluster) in self.exporters_of(resource) {
            let verdict = outcome.exporters.entry(name.to_owned()).or_default();
            let is_left_out = left_out.contains(cluster);
            verdict.refused = refusal(&service, cluster).or_else(|| is_left_out.then(|| too_large(cluster)));
            verdict.addresses = refused.get(cluster).cloned().unwrap_or_default();
        }
        let endpoints = Some(endpoints);
        outcome.import = service.merged.map(|_| ResourceImportSpec { endpoints, ..spec(resource) });
    }

    fn merge_cluster_info(
        &self,
        resource: &Resource,
        surroundings: &Surroundings<'_>,
        outcome: &mut Outcome,
    ) {
        let Resource::ClusterInfo(cluster) = resource else { return };
        let info = self
            .parsed(resource)
            .find_map(|(name, parsed)| parsed.payload.cluster_info().map(|info| (name, info)));
        let Some((name, info)) = info else { return };
        let verdict = outcome.exporters.entry(name.to_owned()).or_default();
        match cluster_info(cluster, info, surroundings.claims) {
            Err(reason) => verdict.refused = Some(reason),
            Ok((kept, left_out)) => {
                verdict.left_out = left_out;
                let namespace = surroundings.namespace.to_owned();
                outcome.import =
                    Some(ResourceImportSpec { namespace, cluster_info: Some(kept), ..spec(resource) });
            }
        }
    }

    fn merge_labels(&self, resource: &Resource, surroundings: &Surroundings<'_>, outcome: &mut Outcome) {
        let label = self.parsed(resource).find_map(|(_, parsed)| parsed.payload.label());
        let Some(label) = label else { return };
        let Some(id) = surroundings.labels.id(label) else {
            let text = "all numbers for labels are in use: export fewer of them".to_owned();
            outcome.exporters.values_mut().for_each(|verdict| verdict.refused = Some(text.clone()));
            return;
        };
        let label_identity = Some(api::LabelIdentitySpec { label: label.to_owned(), id: id.get() });
        outcome.import = Some(ResourceImportSpec { label_identity, ..spec(resource) });
    }

    fn merge_whole(&self, resource: &Resource, outcome: &mut Outcome) {
        let exports: Vec<&WholeExport<_>> =
            self.parsed(resource).filter_map(|(_, parsed)| parsed.payload.whole()).collect();
        let Some(merged) = merge::whole(&exports) else { return };
        for name in &merged.refused {
            let text = format!(
                "differs from ResourceExport {}, which is older: make them the same, or delete one",
                merged.winner.object
            );
            outcome.exporters.entry((*name).to_owned()).or_default().refused = Some(text);
        }
        let payload = merged.winner.payload.clone();
        outcome.import = Some(match resource {
            Resource::Policy(_) => {
                ResourceImportSpec { cluster_network_policy: Some(payload), ..spec(resource) }
            }
            _ => {
                let external_entity = Some(api::ExternalEntityImport { external_entity_spec: payload });
                ResourceImportSpec { external_entity, ..spec(resource) }
            }
        });
    }

    fn merged_service(&self, resource: &Resource, surroundings: &Surroundings<'_>) -> BoundedService {
        let exports = self.parsed(resource).map(|(_, parsed)| parsed);
        let exports: Vec<_> =
            exports.filter_map(|export| no_older_than_its_member(export, surroundings)).collect();
        bounds::service(exports.iter().map(Cow::as_ref).collect())
    }

    fn of(&self, resource: &Resource) -> impl Iterator<Item = (&str, &Known)> {
        let names = self.by_resource.get(resource).into_iter().flatten();
        names.filter_map(|name| self.exports.get(name).map(|known| (name.as_str(), known)))
    }

    fn parsed(&self, resource: &Resource) -> impl Iterator<Item = (&str, &ParsedExport)> {
        self.of(resource).filter_map(|(name, known)| known.parsed.as_ref().ok().map(|parsed| (name, parsed)))
    }

    fn exporters_of(&self, resource: &Resource) -> impl Iterator<Item = (&str, &ClusterId)> {
        self.parsed(resource).filter_map(|(name, parsed)| Some((name, parsed.payload.cluster()?)))
    }
}

/// A cluster exports nothing before it is a member, whatever it says. Of one that is none any more nobody knows since when it
/// was one: it has exported for as long as its ResourceExport is there.
fn no_older_than_its_member<'a>(
    parsed: &'a ParsedExport,
    surroundings: &Surroundings<'_>,
) -> Option<Cow<'a, Export<ExportedService>>> {
    let export = parsed.payload.service()?;
    let joined = surroundings.joined.get(&export.cluster).copied().or(parsed.since);
    Some(match joined {
        Some(joined) if export.created < joined => Cow::Owned(Export { created: joined, ..export.clone() }),
        _ => Cow::Borrowed(export),
    })
}

fn refusal(service: &BoundedService, cluster: &ClusterId) -> Option<String> {
    if service.left_out.contains(cluster) {
        return Some(too_large(cluster));
    }
    let merged = service.merged.as_ref();
    if merged.is_some_and(|merged| !merged.refuses(cluster)) {
        return None;
    }
    let says = |conflict: &&Conflict| matches!(conflict, Conflict::Refused { cluster: other, .. } if other == cluster);
    let conflict = merged.and_then(|merged| merged.conflicts.iter().find(says)).map(Conflict::to_string);
    Some(conflict.unwrap_or_else(|| {
        format!("cluster {cluster} has no ResourceExport of the Service, or a useless one")
    }))
}

/// What names a ResourceImport.
fn spec(resource: &Resource) -> ResourceImportSpec {
    let named = |kind, namespace: &str, name: &str| ResourceImportSpec {
        kind,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        ..ResourceImportSpec::default()
    };
    match resource {
        Resource::Service(of) => named(ImportKind::ServiceImport, of.namespace(), of.name()),
        Resource::Endpoints(of) => named(ImportKind::Endpoints, of.namespace(), of.name()),
        Resource::ExternalEntity(of) => named(ImportKind::ExternalEntity, of.namespace(), of.name()),
        // As upstream: the name of the ResourceImport, not of the cluster.
        Resource::ClusterInfo(_) => named(ImportKind::ClusterInfo, "", &Names::of_import(resource).plain),
        Resource::Policy(name) => named(ImportKind::AntreaClusterNetworkPolicy, "", name),
        Resource::LabelIdentity(_) => named(ImportKind::LabelIdentity, "", ""),
    }
}
