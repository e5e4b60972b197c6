//! A Common Area: everything that is known of it, what follows from that, and what is to be done. No client, no clock.

mod changes;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use antrea_mc_core::claims::ClaimBook;
use antrea_mc_core::common_area::Surroundings;
use antrea_mc_core::ids::ClusterId;
use antrea_mc_core::label_identity::{LabelId, LabelIdentities};
use antrea_mc_core::limits::{Limit, Limits};
use antrea_mc_core::membership::{Event as MemberEvent, LeaseTimes};
use antrea_mc_core::names::Resource;
use antrea_shared_api::multicluster::v1alpha1::{ExportKind, ImportKind};
use jiff::Timestamp;

use crate::action::{Action, Task};
use crate::approvals::Approvals;
use crate::census::{Census, UNANNOUNCED, count, kind, standing};
use crate::cluster_sets::ClusterSets;
use crate::condition::Told;
use crate::event::{Answer, Event};
use crate::exports::Exports;
use crate::imports::Imports;
use crate::members::Members;

/// The most resources that are merged, and the most objects that are looked at, in one turn. Whatever else the thread
/// does has a turn in between, such as hearing members.
pub(crate) const TURN: usize = 256;

/// The state of a Common Area.
#[derive(Debug)]
pub(crate) struct Area {
    namespace: String,
    sets: ClusterSets,
    approvals: Approvals,
    members: Members,
    /// Since when clusters are members.
    joined: BTreeMap<ClusterId, Timestamp>,
    claims: ClaimBook,
    exports: Exports,
    limits: Limits,
    /// Members that have reached limits.
    full: BTreeMap<ClusterId, Vec<Limit>>,
    imports: Imports,
    /// The numbers of labels; none before everything was listed once. Nothing is decided before that.
    labels: Option<LabelIdentities>,
    stale: BTreeSet<Resource>,
    /// Everything was merged once. Before that an import looks as if nobody wanted it.
    merged_once: bool,
    /// Resources with addresses that are left out.
    partly_imported: BTreeSet<Resource>,
    merges: usize,
    tasks: BTreeSet<Task>,
}

/// How often the objects of each kind have been listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rounds {
    pub(crate) sets: u64,
    pub(crate) announces: u64,
    pub(crate) exports: u64,
    pub(crate) imports: u64,
}

impl Area {
    pub(crate) fn new(namespace: &str, times: LeaseTimes, limits: Limits) -> Self {
        Self {
            namespace: namespace.to_owned(),
            sets: ClusterSets::default(),
            approvals: Approvals::default(),
            members: Members::new(times),
            joined: BTreeMap::new(),
            claims: ClaimBook::default(),
            exports: Exports::default(),
            limits,
            full: BTreeMap::new(),
            imports: Imports::default(),
            labels: None,
            stale: BTreeSet::new(),
            merged_once: false,
            partly_imported: BTreeSet::new(),
            merges: 0,
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
            Event::Account(event) => {
                let clusters = self.approvals.learn(event);
                self.approvals_changed(&clusters);
            }
            Event::Announce(event) => {
                let names = self.members.learn(event);
                self.announces_changed(&names, now);
            }
            Event::Export(event) => {
                let (names, stale) = self.exports.learn(event);
                self.exports_changed(names, stale, now);
            }
            Event::Import(event) => {
                let names = self.imports.learn(event);
                self.tasks.extend(names.into_iter().map(Task::Import));
            }
            Event::Heard { asked, announces } => {
                for announce in announces {
                    let names = self.members.learn_answer(announce, asked);
                    self.announces_changed(&names, now);
                }
                self.step(MemberEvent::Listening, now);
            }
            Event::Deaf => self.step(MemberEvent::Deaf, now),
            Event::Tick => self.tick(now),
        }
    }

    /// How often everything has been listed.
    pub(crate) const fn rounds(&self) -> Rounds {
        Rounds {
            sets: self.sets.round(),
            announces: self.members.round(),
            exports: self.exports.round(),
            imports: self.imports.round(),
        }
    }

    /// Takes in what became of `action`, which was sent in the rounds `asked`.
    pub(crate) fn learn_answer(&mut self, action: &Action, answer: Answer, asked: Rounds, now: Instant) {
        match answer {
            Answer::ClusterSet(set) => {
                if self.sets.learn_answer(action, *set, asked.sets) {
                    self.hold_nothing();
                }
                self.sets_changed();
            }
            Answer::Announce(announce) => {
                self.members.note_answer(action, &announce);
                let names = self.members.learn_answer(*announce, asked.announces);
                self.announces_changed(&names, now);
            }
            Answer::Export(export) => {
                let (names, stale) = self.exports.learn_answer(action, *export, asked.exports);
                self.exports_changed(names, stale, now);
            }
            Answer::Import(import) => {
                let names = self.imports.learn_answer(action, import, asked.imports);
                self.tasks.extend(names.into_iter().map(Task::Import));
            }
            Answer::Nothing => {}
        }
    }

    /// Merges some of what is stale; gives some of the objects that may not be as they should. None before everything was
    /// listed, and merged once.
    pub(crate) fn settle(&mut self, now: Instant) -> BTreeSet<Task> {
        if self.labels.is_none() && !self.begin(now) {
            return BTreeSet::new();
        }
        for cluster in self.members.leaving().cloned().collect::<Vec<_>>() {
            self.abandon(&cluster);
        }
        self.settle_claims();
        self.merge_stale();
        self.merged_once |= self.stale.is_empty();
        if self.merged_once { self.give_out() } else { BTreeSet::new() }
    }

    /// Whether another turn would do nothing before something happens.
    pub(crate) fn is_settled(&self) -> bool {
        self.labels.is_none() || self.stale.is_empty() && self.tasks.is_empty()
    }

    fn give_out(&mut self) -> BTreeSet<Task> {
        let first_left = self.tasks.iter().nth(TURN).cloned();
        let left = first_left.map(|first| self.tasks.split_off(&first)).unwrap_or_default();
        std::mem::replace(&mut self.tasks, left)
    }

    /// What brings an object in line, if something has to.
    pub(crate) fn plan(&self, task: &Task, now: Timestamp) -> Option<Action> {
        match task {
            Task::Import(name) => self.plan_import(name),
            Task::Export(name) => self.plan_export(name, now),
            Task::Announce(name) => self
                .members
                .plan(name, |cluster| self.exports.exports_anything(cluster.as_str()))
                .or_else(|| self.members.plan_status(name, &self.told(), &self.approvals, now)),
            Task::ClusterSet(name) => {
                let known = (&self.told(), &self.approvals);
                self.sets.plan(name, &self.members.standings(), known, now)
            }
        }
    }

    /// What members are told.
    fn told(&self) -> Told<'_> {
        Told { namespace: &self.namespace, claims: &self.claims, limits: &self.limits, full: &self.full }
    }

    /// While what is exported was not merged yet, nothing is withdrawn of it.
    fn plan_import(&self, name: &str) -> Option<Action> {
        let may_be_wanted =
            || self.imports.resource_of(name).is_some_and(|resource| self.stale.contains(&resource));
        match self.imports.plan(&self.namespace, name) {
            Some(Action::DeleteImport(_)) if may_be_wanted() => None,
            action => action,
        }
    }

    /// Who exports something is not told what came of what it exported before.
    fn plan_export(&self, name: &str, now: Timestamp) -> Option<Action> {
        let is_unmerged =
            || self.exports.resource_of(name).is_some_and(|resource| self.stale.contains(resource));
        match self.exports.plan(name, now) {
            Some(Action::WriteExportStatus(_)) if is_unmerged() => None,
            action => action,
        }
    }

    /// How much there is.
    pub(crate) fn census(&self) -> Census {
        let kinds = self.imports.specs().map(|spec| kind(spec.kind.as_str(), ImportKind::KNOWN));
        Census {
            members: self.members_by_standing(),
            exports: count(self.exports.kinds().map(|of| kind(of.as_str(), ExportKind::KNOWN))),
            imports: count(kinds),
            merges: self.merges,
        }
    }

    fn members_by_standing(&self) -> BTreeMap<&'static str, usize> {
        let mut members = count(self.members.standings().into_values().map(standing));
        let unannounced = Some(self.members.unannounced()).filter(|unannounced| *unannounced > 0);
        members.extend(unannounced.map(|unannounced| (UNANNOUNCED, unannounced)));
        members
    }

    /// Decides for the first time, once everything is known. Whether it is.
    fn begin(&mut self, now: Instant) -> bool {
        let complete = self.sets.is_complete()
            && self.approvals.is_complete()
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
        self.hold_networks(now);
        let known = self.members.clusters().chain(self.approvals.clusters().cloned());
        let clusters: BTreeSet<ClusterId> = known.chain(self.exports.clusters_with_info()).collect();
        for cluster in clusters {
            self.note_joined(&cluster);
            self.update_claim(&cluster);
        }
        for cluster in self.exports.clusters().collect::<Vec<_>>() {
            self.note_announced(cluster, now);
        }
        self.stale = self.exports.resources().cloned().collect();
        self.sets_changed();
        true
    }

    /// What is merged in this turn: the endpoints of a Service right behind it, so that importers hear of both together.
    fn next_stale(&mut self) -> Vec<Resource> {
        let mut next = Vec::new();
        while next.len() + 1 < TURN {
            let Some(resource) = self.stale.pop_first() else { break };
            let endpoints = match &resource {
                Resource::Service(name) => self.stale.take(&Resource::Endpoints(name.clone())),
                _ => None,
            };
            next.push(resource);
            next.extend(endpoints);
        }
        next
    }

    fn merge_stale(&mut self) {
        let next = self.next_stale();
        let Some(labels) = &self.labels else { return };
        let withdrawn = self.members.withdrawn();
        let surroundings = Surroundings {
            withdrawn: &withdrawn,
            joined: &self.joined,
            claims: self.claims.settled(),
            labels,
            namespace: &self.namespace,
        };
        for resource in next {
            self.merges += 1;
            let outcome = self.exports.merge(&resource, &surroundings);
            if outcome.exporters.values().any(|verdict| !verdict.addresses.is_empty()) {
                self.partly_imported.insert(resource.clone());
            } else {
                self.partly_imported.remove(&resource);
            }
            self.tasks.extend(self.exports.say(&outcome).into_iter().map(Task::Export));
            self.tasks.extend(self.imports.want(&resource, outcome.import).map(Task::Import));
        }
    }
}
