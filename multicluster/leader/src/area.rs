//! A Common Area: everything that is known of it, what follows from that, and what is to be done. No client, no clock.

use std::collections::BTreeSet;
use std::time::Instant;

use antrea_mc_core::claims::ClaimBook;
use antrea_mc_core::common_area::Surroundings;
use antrea_mc_core::ids::ClusterId;
use antrea_mc_core::label_identity::{Change as LabelEvent, LabelId, LabelIdentities};
use antrea_mc_core::membership::{Change, Event as MemberEvent, LeaseTimes, Standing};
use antrea_mc_core::names::Resource;
use antrea_shared_api::labels::identity_name;
use antrea_shared_api::multicluster::v1alpha1::{ExportKind, ImportKind};
use antrea_shared_api::multicluster::well_known::announce_name;
use jiff::Timestamp;
use tracing::info;

use crate::action::{Action, Task};
use crate::census::{Census, count, kind, standing};
use crate::cluster_sets::ClusterSets;
use crate::event::{Answer, Event};
use crate::exports::{Exports, Stale};
use crate::imports::Imports;
use crate::labels::LabelChange;
use crate::members::{Members, cluster_of};

/// The state of a Common Area.
#[derive(Debug)]
pub(crate) struct Area {
    namespace: String,
    sets: ClusterSets,
    members: Members,
    claims: ClaimBook,
    exports: Exports,
    imports: Imports,
    /// The numbers of labels; none before everything was listed once. Nothing is decided before that.
    labels: Option<LabelIdentities>,
    stale: BTreeSet<Resource>,
    tasks: BTreeSet<Task>,
}

impl Area {
    pub(crate) fn new(namespace: &str, times: LeaseTimes) -> Self {
        Self {
            namespace: namespace.to_owned(),
            sets: ClusterSets::default(),
            members: Members::new(times),
            claims: ClaimBook::default(),
            exports: Exports::default(),
            imports: Imports::default(),
            labels: None,
            stale: BTreeSet::new(),
            tasks: BTreeSet::new(),
        }
    }

    /// Takes in an event.
    pub(crate) fn learn(&mut self, event: Event, now: Instant) {
        match event {
            Event::ClusterSet(event) => {
                self.sets.learn(event);
                self.sets_changed();
            }
            Event::Announce(event) => {
                let names = self.members.learn(event);
                self.announces_changed(&names, now);
            }
            Event::Export(event) => {
                let (names, stale) = self.exports.learn(event);
                self.exports_changed(names, stale);
            }
            Event::Import(event) => {
                let names = self.imports.learn(event);
                self.tasks.extend(names.into_iter().map(Task::Import));
            }
            Event::Heard(announces) => {
                for announce in announces {
                    let names = self.members.learn_answer(announce);
                    self.announces_changed(&names, now);
                }
                self.step(MemberEvent::Listening, now);
            }
            Event::Deaf => self.step(MemberEvent::Deaf, now),
            Event::Tick => self.step(MemberEvent::Tick, now),
        }
    }

    /// Takes in what became of `action`.
    pub(crate) fn learn_answer(&mut self, action: &Action, answer: Answer, now: Instant) {
        match answer {
            Answer::ClusterSet(set) => {
                self.sets.learn_answer(action, *set);
                self.sets_changed();
            }
            Answer::Announce(announce) => {
                self.members.note_answer(action, &announce);
                let names = self.members.learn_answer(*announce);
                self.announces_changed(&names, now);
            }
            Answer::Export(export) => {
                let (names, stale) = self.exports.learn_answer(action, *export);
                self.exports_changed(names, stale);
            }
            Answer::Import(import) => {
                let names = self.imports.learn_answer(action, import);
                self.tasks.extend(names.into_iter().map(Task::Import));
            }
            Answer::Nothing => {}
        }
    }

    /// Merges what is stale; gives the objects that may not be as they should. Nothing before all kinds were listed.
    pub(crate) fn settle(&mut self, now: Instant) -> BTreeSet<Task> {
        if self.labels.is_none() && !self.begin(now) {
            return BTreeSet::new();
        }
        for cluster in self.members.leaving() {
            let orphans = self.exports.abandon(cluster.as_str());
            self.tasks.extend(orphans.into_iter().map(Task::Export));
        }
        self.merge_stale();
        std::mem::take(&mut self.tasks)
    }

    /// What brings an object in line, if something has to.
    pub(crate) fn plan(&self, task: &Task, now: Timestamp) -> Option<Action> {
        match task {
            Task::Import(name) => self.imports.plan(&self.namespace, name),
            Task::Export(name) => self.exports.plan(name, now),
            Task::Announce(name) => self
                .members
                .plan(name, |cluster| self.exports.exports_anything(cluster.as_str()))
                .or_else(|| self.members.plan_status(name, &self.claims, now)),
            Task::ClusterSet(name) => self.sets.plan(name, &self.members.standings(), &self.claims, now),
        }
    }

    /// How much there is.
    pub(crate) fn census(&self) -> Census {
        let kinds = self.imports.specs().map(|spec| kind(spec.kind.as_str(), ImportKind::KNOWN));
        Census {
            members: count(self.members.standings().into_values().map(standing)),
            exports: count(self.exports.kinds().map(|of| kind(of.as_str(), ExportKind::KNOWN))),
            imports: count(kinds),
        }
    }

    /// Decides for the first time, once everything is known. Whether it is.
    fn begin(&mut self, now: Instant) -> bool {
        let complete = self.sets.is_complete()
            && self.members.is_complete()
            && self.exports.is_complete()
            && self.imports.is_complete();
        if !complete {
            return false;
        }
        let numbered = self.imports.specs().filter_map(|spec| spec.label_identity.as_ref());
        let numbered = numbered.filter_map(|of| Some((of.label.clone(), LabelId::new(of.id)?)));
        let mut labels = LabelIdentities::restore(numbered);
        for (cluster, label) in self.exports.labels().all() {
            labels.export(cluster, label);
        }
        labels.exports_complete();
        self.labels = Some(labels);
        let changes = self.members.begin(|cluster| self.sets.earlier_standing(cluster), now);
        self.members_changed(changes);
        let announced = self.members.clusters();
        let clusters: BTreeSet<ClusterId> = announced.chain(self.exports.clusters_with_info()).collect();
        for cluster in clusters {
            self.update_claim(&cluster);
        }
        self.stale = self.exports.resources().cloned().collect();
        self.sets_changed();
        true
    }

    fn merge_stale(&mut self) {
        let Some(labels) = &self.labels else { return };
        let withdrawn = self.members.withdrawn();
        let surroundings = Surroundings {
            withdrawn: &withdrawn,
            claims: self.claims.settled(),
            labels,
            namespace: &self.namespace,
        };
        for resource in std::mem::take(&mut self.stale) {
            let outcome = self.exports.merge(&resource, &surroundings);
            self.tasks.extend(self.exports.say(&outcome).into_iter().map(Task::Export));
            self.tasks.extend(self.imports.want(&resource, outcome.import).map(Task::Import));
        }
    }

    fn sets_changed(&mut self) {
        self.tasks.extend(self.sets.names().into_iter().map(Task::ClusterSet));
    }

    fn announces_changed(&mut self, names: &BTreeSet<String>, now: Instant) {
        self.tasks.extend(names.iter().cloned().map(Task::Announce));
        if self.labels.is_none() {
            return;
        }
        for name in names {
            let changes = self.members.follow(name, &|_| None, now);
            self.members_changed(changes);
            if let Some(cluster) = cluster_of(name) {
                self.update_claim(&cluster);
            }
        }
    }

    fn step(&mut self, event: MemberEvent, now: Instant) {
        if self.labels.is_some() {
            let changes = self.members.step(event, now);
            self.members_changed(changes);
        }
    }

    fn members_changed(&mut self, changes: Vec<Change>) {
        for change in changes {
            self.sets_changed();
            match change {
                Change::Stands { cluster, before, now } => {
                    info!(%cluster, standing = ?now, "Member stands otherwise");
                    if before.is_none() {
                        self.exports.adopt(cluster.as_str());
                    }
                    if before == Some(Standing::Expired) || now == Standing::Expired {
                        self.stale.extend(self.exports.resources_of(cluster.as_str()).cloned());
                    }
                }
                Change::Left(cluster) => {
                    info!(%cluster, "Member has left; its exports are removed");
                    let orphans = self.exports.abandon(cluster.as_str());
                    self.tasks.extend(orphans.into_iter().map(Task::Export));
                }
            }
        }
    }

    fn exports_changed(&mut self, names: BTreeSet<String>, stale: Stale) {
        self.tasks.extend(names.into_iter().map(Task::Export));
        self.tasks.extend(stale.fewer.iter().map(|cluster| Task::Announce(announce_name(cluster))));
        self.stale.extend(stale.resources);
        for change in stale.labels {
            self.label_changed(change);
        }
        for cluster in stale.infos.iter().filter_map(|cluster| cluster.parse().ok()) {
            self.update_claim(&cluster);
        }
    }

    fn label_changed(&mut self, change: LabelChange) {
        let Some(labels) = &mut self.labels else { return };
        let mut events: Vec<LabelEvent> = Vec::new();
        if let Some((cluster, label)) = change.exported {
            events.extend(labels.export(&cluster, &label));
        }
        if let Some((cluster, label)) = change.withdrawn {
            events.extend(labels.withdraw(&cluster, &label));
        }
        let labels = events.into_iter().map(|event| match event {
            LabelEvent::Assigned(label, _) | LabelEvent::Released(label) | LabelEvent::Exhausted(label) => {
                label
            }
        });
        self.stale.extend(labels.map(|label| Resource::LabelIdentity(identity_name(&label))));
    }

    /// Takes in what a cluster says of its networks: whoever exports addresses may gain or lose some by that.
    fn update_claim(&mut self, cluster: &ClusterId) {
        let (announce, info) = (self.members.announce_of(cluster), self.exports.info_of(cluster.as_str()));
        if self.labels.is_some() && self.claims.update(cluster, announce, info) {
            let concerned =
                |resource: &&Resource| matches!(resource, Resource::Endpoints(_) | Resource::ClusterInfo(_));
            self.stale.extend(self.exports.resources().filter(concerned).cloned());
            let clusters = self.members.clusters();
            self.tasks.extend(clusters.map(|cluster| Task::Announce(announce_name(cluster.as_str()))));
            self.sets_changed();
        }
    }
}
