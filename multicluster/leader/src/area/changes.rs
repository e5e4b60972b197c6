//! What follows from a change: objects that may not be as they should, and what has to be merged again.

use std::collections::BTreeSet;
use std::time::Instant;

use antrea_mc_core::claims::Networks;
use antrea_mc_core::ids::ClusterId;
use antrea_mc_core::label_identity::Change as LabelEvent;
use antrea_mc_core::membership::{Change, Event as MemberEvent, Standing};
use antrea_mc_core::names::Resource;
use antrea_shared_api::labels::identity_name;
use antrea_shared_api::multicluster::well_known::announce_name;
use tracing::{info, warn};

use super::Area;
use crate::action::Task;
use crate::exports::{Exports, Stale};
use crate::labels::LabelChange;
use crate::members::{Members, cluster_of};

impl Area {
    pub(super) fn sets_changed(&mut self) {
        self.tasks.extend(self.sets.names().into_iter().map(Task::ClusterSet));
    }

    pub(super) fn announces_changed(&mut self, names: &BTreeSet<String>, now: Instant) {
        self.tasks.extend(names.iter().cloned().map(Task::Announce));
        if self.labels.is_none() {
            return;
        }
        for name in names {
            let changes = self.members.follow(name, &|_| None, now);
            self.members_changed(changes);
            if let Some(cluster) = cluster_of(name) {
                self.note_record(&cluster);
                self.note_joined(&cluster);
                self.update_claim(&cluster);
                self.note_announced(cluster, now);
            }
        }
    }

    /// What a cluster exports that has no announce stays for a lease.
    pub(super) fn note_announced(&mut self, cluster: ClusterId, now: Instant) {
        let is_unannounced =
            self.exports.exports_anything(cluster.as_str()) && self.members.announce_of(&cluster).is_none();
        if is_unannounced == self.members.is_unannounced(&cluster) {
            return;
        }
        let event =
            if is_unannounced { MemberEvent::Exports(cluster) } else { MemberEvent::NoExports(cluster) };
        self.step(event, now);
    }

    /// Other networks are bound to these clusters.
    pub(super) fn approvals_changed(&mut self, clusters: &BTreeSet<ClusterId>) {
        if self.labels.is_none() {
            return;
        }
        for cluster in clusters {
            self.tasks.insert(Task::Announce(announce_name(cluster.as_str())));
            self.note_record(cluster);
            self.note_joined(cluster);
            self.update_claim(cluster);
        }
    }

    /// What members have stays theirs when networks begin to need approval, after a leader that knew nothing of that.
    pub(super) fn hold_networks(&mut self, now: Instant) {
        if !self.sets.was_led_without_approval() {
            return;
        }
        for cluster in self.members.clusters() {
            self.approvals.hold(&cluster, networks_of(&self.members, &self.exports, &cluster), now);
        }
    }

    /// Where it cannot be written down that networks need approval, each leader would take what is claimed when it begins for
    /// what members had.
    pub(super) fn hold_nothing(&mut self) {
        warn!(
            "The CustomResourceDefinitions are older than the leader: what members had and is not private is not held"
        );
        for cluster in self.approvals.let_go() {
            self.tasks.insert(Task::Announce(announce_name(cluster.as_str())));
            self.update_claim(&cluster);
        }
    }

    /// A cluster has been a member for as long as its announce, or the first of its ServiceAccounts, is there: an admin who
    /// gives it another account makes nothing that it exports younger.
    pub(super) fn note_joined(&mut self, cluster: &ClusterId) {
        let announced = self.members.announce_of(cluster);
        let announced = announced.and_then(|announce| announce.metadata.creation_timestamp.as_ref());
        let joined = announced.map(|time| time.0).into_iter().chain(self.approvals.since(cluster)).min();
        if self.joined.get(cluster).copied() == joined {
            return;
        }
        match joined {
            Some(joined) => self.joined.insert(cluster.clone(), joined),
            None => self.joined.remove(cluster),
        };
        self.stale.extend(self.exports.resources_of(cluster.as_str()).cloned());
    }

    /// The ClusterSet says when the announces of all members say what they had.
    fn note_record(&mut self, cluster: &ClusterId) {
        if self.approvals.note(cluster, self.members.announce_of(cluster)) {
            self.sets_changed();
        }
    }

    /// Time went on.
    pub(super) fn tick(&mut self, now: Instant) {
        self.step(MemberEvent::Tick, now);
        if self.approvals.tick(now) {
            self.sets_changed();
        }
    }

    pub(super) fn step(&mut self, event: MemberEvent, now: Instant) {
        if self.labels.is_some() {
            let changes = self.members.step(event, now);
            self.members_changed(changes);
        }
    }

    pub(super) fn members_changed(&mut self, changes: Vec<Change>) {
        for change in changes {
            self.sets_changed();
            match change {
                Change::Stands { cluster, before, now } => {
                    info!(%cluster, standing = ?now, "The standing of a member has changed");
                    if before.is_none() {
                        self.exports.adopt(cluster.as_str());
                    }
                    if before == Some(Standing::Expired) || now == Standing::Expired {
                        self.stale.extend(self.exports.resources_of(cluster.as_str()).cloned());
                    }
                }
                Change::Left(cluster) => {
                    info!(%cluster, "Member has left; its exports are removed");
                    self.abandon(&cluster);
                }
                Change::Abandoned(cluster) => {
                    info!(%cluster, "Cluster exports and has not announced itself; its exports are removed");
                    self.abandon(&cluster);
                }
            }
        }
    }

    /// All that a cluster exports now is to be removed.
    pub(super) fn abandon(&mut self, cluster: &ClusterId) {
        let orphans = self.exports.abandon(cluster.as_str());
        self.tasks.extend(orphans.into_iter().map(Task::Export));
    }

    pub(super) fn exports_changed(&mut self, names: BTreeSet<String>, stale: Stale, now: Instant) {
        self.tasks.extend(names.into_iter().map(Task::Export));
        self.tasks.extend(stale.fewer.iter().map(|cluster| Task::Announce(announce_name(cluster))));
        self.stale.extend(stale.resources);
        for change in stale.labels {
            self.label_changed(change);
        }
        for cluster in stale.used.iter().filter_map(|cluster| cluster.parse().ok()) {
            self.note_usage(&cluster);
            self.note_announced(cluster, now);
        }
        for cluster in stale.infos.iter().filter_map(|cluster| cluster.parse().ok()) {
            self.update_claim(&cluster);
        }
    }

    /// A member is told when it reaches limits, and when it does not any more; not how much it exports.
    fn note_usage(&mut self, cluster: &ClusterId) {
        let reached = self.limits.reached(self.exports.used(cluster.as_str()));
        if self.full.get(cluster).map(Vec::as_slice).unwrap_or_default() == reached {
            return;
        }
        if reached.is_empty() {
            self.full.remove(cluster);
        } else {
            self.full.insert(cluster.clone(), reached);
        }
        self.tasks.insert(Task::Announce(announce_name(cluster.as_str())));
        self.sets_changed();
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

    /// Takes in what a cluster says of its networks and Gateways.
    pub(super) fn update_claim(&mut self, cluster: &ClusterId) {
        if self.labels.is_some() {
            let networks = networks_of(&self.members, &self.exports, cluster);
            let approval = self.approvals.of(cluster, networks.announce);
            self.claims.update(cluster, networks, approval);
        }
    }

    /// Decides who has which networks and Gateways. Merged again is what that concerns: what a cluster exports whose networks
    /// or Gateways are others now, and what depends on the networks of others; of their Gateways, what it tells of networks.
    pub(super) fn settle_claims(&mut self) {
        if self.claims.is_settled() {
            return;
        }
        let concerned = self.claims.settle();
        let told = &concerned.told | &concerned.gateways;
        self.stale.extend(told.iter().cloned().map(Resource::ClusterInfo));
        if !concerned.gateways.is_empty() {
            let telling = self.exports.clusters_with_info();
            let dependent = telling.filter(|cluster| self.claims.depends_on_others(cluster));
            self.stale.extend(dependent.map(Resource::ClusterInfo));
        }
        if !concerned.networks.is_empty() {
            let is_concerned = |cluster: &ClusterId| {
                concerned.networks.contains(cluster) || self.claims.depends_on_others(cluster)
            };
            let clusters = self.exports.clusters().filter(is_concerned).collect::<Vec<_>>();
            let exported = clusters.iter().flat_map(|cluster| self.exports.resources_of(cluster.as_str()));
            let has_addresses =
                |resource: &&Resource| matches!(resource, Resource::Endpoints(_) | Resource::ClusterInfo(_));
            self.stale.extend(exported.filter(has_addresses).cloned());
            self.stale.extend(self.partly_imported.iter().cloned());
        }
        // The announce of a member says which networks it has for its Pods.
        let told = &told | &concerned.networks;
        self.tasks.extend(told.iter().map(|cluster| Task::Announce(announce_name(cluster.as_str()))));
        if !concerned.told.is_empty() || !concerned.networks.is_empty() {
            self.sets_changed();
        }
    }
}

fn networks_of<'a>(members: &'a Members, exports: &'a Exports, cluster: &ClusterId) -> Networks<'a> {
    Networks::of(members.announce_of(cluster), exports.info_of(cluster.as_str()))
}
