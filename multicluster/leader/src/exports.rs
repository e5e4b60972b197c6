//! ResourceExports: what each cluster exports, what is said to it, and whose exports are to be removed.

use std::collections::{BTreeMap, BTreeSet};

use antrea_kit::watch::WatchEvent;
use antrea_mc_core::common_area::{CommonArea, Outcome, Surroundings, Verdict};
use antrea_mc_core::ids::ClusterId;
use antrea_mc_core::limits::{Size, Usage, Used, exporter};
use antrea_mc_core::names::Resource;
use antrea_mc_core::wire::{Payload, export_conditions, parse_export, resource_of};
use antrea_shared_api::multicluster::Condition;
use antrea_shared_api::multicluster::v1alpha1::{ExportKind, ResourceExport, ResourceExportStatus};
use antrea_shared_api::multicluster::well_known::finalizer;
use jiff::Timestamp;

use crate::action::Action;
use crate::answers::Answers;
use crate::change::Change;
use crate::condition::dated;
use crate::export::Export;
use crate::labels::{LabelChange, LabelExports, LabelOf};
use crate::objects::Objects;

/// What a change of exports makes stale.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stale {
    /// What has to be merged anew.
    pub(crate) resources: BTreeSet<Resource>,
    /// Whose labels have changed.
    pub(crate) labels: Vec<LabelChange>,
    /// Clusters whose ClusterInfo may have changed.
    pub(crate) infos: BTreeSet<String>,
    /// Clusters that export less than before.
    pub(crate) fewer: BTreeSet<String>,
    /// Clusters that export more or less than before.
    pub(crate) used: BTreeSet<String>,
}

/// The ResourceExports of a Common Area.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exports {
    known: Objects<Export>,
    common_area: CommonArea,
    labels: LabelExports,
    infos: BTreeMap<String, ResourceExport>,
    by_cluster: BTreeMap<String, BTreeSet<String>>,
    usage: Usage,
    clusters: BTreeMap<String, String>,
    said: BTreeMap<String, Vec<Condition>>,
    answers: Answers<ResourceExportStatus>,
    /// Exports of clusters that have left.
    orphans: BTreeSet<String>,
    /// Those of them that are being deleted, and are there still.
    ended: BTreeSet<String>,
}

impl Exports {
    pub(crate) const fn is_complete(&self) -> bool {
        self.known.is_complete()
    }

    pub(crate) const fn round(&self) -> u64 {
        self.known.round()
    }

    /// Takes in what the watch tells; names the exports that it is about.
    pub(crate) fn learn(&mut self, event: WatchEvent<Export>) -> (BTreeSet<String>, Stale) {
        self.answers.learn(&event);
        let names = self.known.learn(event);
        let stale = self.take_in(&names);
        (names, stale)
    }

    /// Takes in what became of `action`, which was sent in the round `asked`.
    pub(crate) fn learn_answer(
        &mut self,
        action: &Action,
        answer: Export,
        asked: u64,
    ) -> (BTreeSet<String>, Stale) {
        if let Action::WriteExportStatus(asked) = action {
            self.answers.note(&asked.name, asked.wanted.clone(), answer.status.clone());
        }
        let names = self.known.learn_answer(answer, asked);
        let stale = self.take_in(&names);
        (names, stale)
    }

    /// The kind of each.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &ExportKind> {
        self.known.iter().map(|(_, export)| &export.kind)
    }

    /// What comes of the exports of a resource.
    pub(crate) fn merge(&self, resource: &Resource, surroundings: &Surroundings<'_>) -> Outcome {
        self.common_area.merge(resource, surroundings)
    }

    /// Notes what is said to exporters; names those to whom that is news, or has not been said of their export as it is now.
    pub(crate) fn say(&mut self, outcome: &Outcome) -> BTreeSet<String> {
        let mut news = BTreeSet::new();
        for (name, verdict) in &outcome.exporters {
            let Some(known) = self.known.get(name) else { continue };
            let said = export_conditions(&known.kind, verdict);
            if self.said.get(name) != Some(&said) {
                self.said.insert(name.clone(), said);
                news.insert(name.clone());
            } else if known.status.observed_generation != known.generation {
                news.insert(name.clone());
            }
        }
        news
    }

    /// Everything that is exported.
    pub(crate) fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.common_area.resources()
    }

    /// What the exports of `cluster` are part of.
    pub(crate) fn resources_of(&self, cluster: &str) -> impl Iterator<Item = &Resource> {
        self.names_of(cluster).filter_map(|name| self.known.get(name)?.resource.as_ref())
    }

    /// What an export is part of.
    pub(crate) fn resource_of(&self, name: &str) -> Option<&Resource> {
        self.known.get(name)?.resource.as_ref()
    }

    /// All labels with their clusters.
    pub(crate) const fn labels(&self) -> &LabelExports {
        &self.labels
    }

    /// The export in which a cluster says what it is.
    pub(crate) fn info_of(&self, cluster: &str) -> Option<&ResourceExport> {
        self.infos.get(cluster)
    }

    /// Clusters that export something.
    pub(crate) fn clusters(&self) -> impl Iterator<Item = ClusterId> {
        self.by_cluster.keys().filter_map(|cluster| cluster.parse().ok())
    }

    /// Clusters that say what they are.
    pub(crate) fn clusters_with_info(&self) -> impl Iterator<Item = ClusterId> {
        self.infos.keys().filter_map(|cluster| cluster.parse().ok())
    }

    /// The cluster has left: all that it exports now is to be removed. Names what was not yet.
    pub(crate) fn abandon(&mut self, cluster: &str) -> BTreeSet<String> {
        let news = self.names_of(cluster).filter(|name| !self.orphans.contains(*name)).cloned();
        let news: BTreeSet<String> = news.collect();
        self.orphans.extend(news.iter().cloned());
        news
    }

    /// The cluster is a member: nothing that it exports is to be removed.
    pub(crate) fn adopt(&mut self, cluster: &str) {
        let (orphans, by_cluster) = (&mut self.orphans, &self.by_cluster);
        let Some(names) = by_cluster.get(cluster).filter(|_| !orphans.is_empty()) else { return };
        orphans.retain(|name| !names.contains(name));
    }

    /// Whether the cluster has exports that are not being deleted yet.
    pub(crate) fn exports_anything(&self, cluster: &str) -> bool {
        self.by_cluster.contains_key(cluster)
    }

    /// How much a cluster exports.
    pub(crate) fn used(&self, cluster: &str) -> Used {
        self.usage.of(cluster)
    }

    /// What brings an export in line, if something has to.
    pub(crate) fn plan(&self, name: &str, now: Timestamp) -> Option<Action> {
        let known = self.known.get(name)?;
        if known.is_deleted {
            // A member that is gone needs none, and takes none off any more.
            let is_ended = self.ended.contains(name);
            let mut kept = known.finalizers.clone();
            kept.retain(|finalizer| !is_leaders(finalizer) && !is_ended);
            let released = kept.len() < known.finalizers.len();
            return released.then(|| Action::KeepExportFinalizers(known.target.clone(), kept));
        }
        if self.orphans.contains(name) {
            return Some(Action::DeleteExport(known.target.clone()));
        }
        let before = self.answers.meant(name, &known.status);
        let conditions = dated(self.said.get(name)?.clone(), &before.conditions, now);
        let wanted = ResourceExportStatus { conditions, observed_generation: known.generation };
        if self.answers.satisfy(name, &wanted, &known.status) {
            return None;
        }
        Change::new(name, &known.status, wanted).map(Action::WriteExportStatus)
    }

    fn names_of(&self, cluster: &str) -> impl Iterator<Item = &String> {
        self.by_cluster.get(cluster).into_iter().flatten()
    }

    fn take_in(&mut self, names: &BTreeSet<String>) -> Stale {
        let mut stale = Stale::default();
        for name in names {
            let known = self.known.get_mut(name).filter(|known| !known.is_deleted);
            match known.and_then(|known| known.object.take()) {
                Some(taken) => {
                    let (object, size) = *taken;
                    self.add(name, object, &size, &mut stale);
                }
                None if self.known.get(name).is_none_or(|known| known.is_deleted) => {
                    self.remove(name, &mut stale);
                }
                None => {}
            }
        }
        stale
    }

    fn add(&mut self, name: &str, object: ResourceExport, size: &Size, stale: &mut Stale) {
        let cluster = exporter(&object.spec).to_owned();
        if self.clusters.get(name).is_some_and(|before| *before != cluster) {
            self.remove(name, stale);
        }
        self.ended.remove(name);
        self.usage.set(name, Some(size));
        stale.used.insert(cluster.clone());
        self.clusters.insert(name.to_owned(), cluster.clone());
        self.by_cluster.entry(cluster.clone()).or_default().insert(name.to_owned());
        stale.resources.extend(self.common_area.apply(&object));
        if let Err(problem) = resource_of(&object) {
            let verdict = Verdict { refused: Some(problem.to_string()), ..Verdict::default() };
            self.said.insert(name.to_owned(), export_conditions(&object.spec.kind, &verdict));
        }
        match object.spec.kind {
            ExportKind::LabelIdentity => stale.labels.push(self.labels.set(name, label_of(&object))),
            ExportKind::ClusterInfo => {
                stale.infos.insert(cluster.clone());
                self.infos.insert(cluster, object);
            }
            _ => {}
        }
    }

    fn remove(&mut self, name: &str, stale: &mut Stale) {
        stale.resources.extend(self.common_area.delete(name));
        stale.labels.push(self.labels.set(name, None));
        self.said.remove(name);
        self.answers.forget(name);
        if self.orphans.remove(name) {
            self.ended.insert(name.to_owned());
        }
        if self.known.get(name).is_none() {
            self.ended.remove(name);
        }
        self.usage.set(name, None);
        let Some(cluster) = self.clusters.remove(name) else { return };
        if let Some(names) = self.by_cluster.get_mut(&cluster) {
            names.remove(name);
            if names.is_empty() {
                self.by_cluster.remove(&cluster);
            }
        }
        if self.infos.get(&cluster).is_some_and(|info| info.metadata.name.as_deref() == Some(name)) {
            self.infos.remove(&cluster);
            stale.infos.insert(cluster.clone());
        }
        stale.used.insert(cluster.clone());
        stale.fewer.insert(cluster);
    }
}

/// The labels that an export is of; none where it is useless.
fn label_of(object: &ResourceExport) -> Option<LabelOf> {
    match parse_export(object).ok()?.payload {
        Payload::LabelIdentity(cluster, label) => Some((cluster, label)),
        _ => None,
    }
}

/// Whether a finalizer is the leader's, before Antrea 2.2 or since.
fn is_leaders(name: &str) -> bool {
    [finalizer::RESOURCE_EXPORT, finalizer::RESOURCE_EXPORT_BEFORE_2_2].contains(&name)
}
