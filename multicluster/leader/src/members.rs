//! Members of the ClusterSet: their announces, whether they are alive, and what they claim.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use antrea_kit::watch::WatchEvent;
use antrea_mc_core::ids::ClusterId;
use antrea_mc_core::membership::{Change as MemberChange, Event, LeaseTimes, Membership, Standing};
use antrea_shared_api::multicluster::v1alpha1::{
    MemberClusterAnnounce, MemberClusterAnnounceStatus, TOUCH_TS,
};
use antrea_shared_api::multicluster::well_known::{announce_name, finalizer};
use jiff::Timestamp;
use tracing::warn;

use crate::action::Action;
use crate::answers::Answers;
use crate::approvals::Approvals;
use crate::change::Change;
use crate::condition::{Told, dated};
use crate::imports::target;
use crate::objects::{Objects, Record, version_of};
use crate::record;

impl Record for MemberClusterAnnounce {
    fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    fn version(&self) -> u64 {
        version_of(&self.metadata)
    }
}

/// The announces of a Common Area, and what they say.
#[derive(Clone, Debug)]
pub(crate) struct Members {
    announces: Objects<MemberClusterAnnounce>,
    membership: Membership,
    answers: Answers<MemberClusterAnnounceStatus>,
    /// Members whose announce is being deleted: all that they export is to be removed.
    leaving: BTreeSet<ClusterId>,
}

impl Members {
    pub(crate) fn new(times: LeaseTimes) -> Self {
        let membership = Membership::new(times);
        Self {
            announces: Objects::default(),
            membership,
            answers: Answers::default(),
            leaving: BTreeSet::new(),
        }
    }

    pub(crate) const fn is_complete(&self) -> bool {
        self.announces.is_complete()
    }

    pub(crate) const fn round(&self) -> u64 {
        self.announces.round()
    }

    /// Takes in what the watch tells; names the announces that it is about.
    pub(crate) fn learn(&mut self, event: WatchEvent<MemberClusterAnnounce>) -> BTreeSet<String> {
        self.answers.learn(&event);
        self.announces.learn(event)
    }

    /// Takes in an announce that was read or written in the round `asked`; names it if that is news. One that has lost
    /// its last finalizer is gone, whether or not the watch has told so: what the cluster exports from then on is that
    /// of a new member.
    pub(crate) fn learn_answer(&mut self, announce: MemberClusterAnnounce, asked: u64) -> BTreeSet<String> {
        let metadata = &announce.metadata;
        let has_finalizers = metadata.finalizers.as_ref().is_some_and(|finalizers| !finalizers.is_empty());
        if metadata.deletion_timestamp.is_some() && !has_finalizers {
            return self.announces.learn(WatchEvent::Deleted(announce));
        }
        self.announces.learn_answer(announce, asked)
    }

    /// Takes in what became of `action`.
    pub(crate) fn note_answer(&mut self, action: &Action, answer: &MemberClusterAnnounce) {
        if let Action::WriteAnnounceStatus(asked) = action {
            let got = answer.status.clone().unwrap_or_default();
            self.answers.note(&asked.name, asked.wanted.clone(), got);
        }
    }

    /// All members begin to be watched; `earlier` is what an earlier leader process wrote down of each.
    pub(crate) fn begin(
        &mut self,
        earlier: impl Fn(&ClusterId) -> Option<Standing>,
        now: Instant,
    ) -> Vec<MemberChange> {
        let names: Vec<String> = self.announces.iter().map(|(name, _)| name.clone()).collect();
        let mut changes: Vec<MemberChange> =
            names.iter().flat_map(|name| self.follow(name, &earlier, now)).collect();
        changes.extend(self.membership.step(Event::Listening, now));
        changes
    }

    /// Something became of the announce `name`.
    pub(crate) fn follow(
        &mut self,
        name: &str,
        earlier: &dyn Fn(&ClusterId) -> Option<Standing>,
        now: Instant,
    ) -> Vec<MemberChange> {
        let Some(cluster) = cluster_of(name) else {
            warn!(announce = name, "MemberClusterAnnounce has not the name that belongs to a cluster ID");
            return Vec::new();
        };
        match self.announce_of(&cluster) {
            Some(announce) if announce.metadata.deletion_timestamp.is_some() => {
                self.leaving.insert(cluster.clone());
                self.membership.step(Event::Leave(cluster), now)
            }
            Some(announce) => {
                let touch = announce.metadata.annotations.as_ref().and_then(|all| all.get(TOUCH_TS)).cloned();
                let earlier = earlier(&cluster);
                self.leaving.remove(&cluster);
                self.membership.step(Event::Announce { cluster, touch, earlier }, now)
            }
            None => {
                self.answers.forget(name);
                self.leaving.remove(&cluster);
                self.membership.step(Event::Leave(cluster), now)
            }
        }
    }

    /// Time, or the ability to hear of members, went on.
    pub(crate) fn step(&mut self, event: Event, now: Instant) -> Vec<MemberChange> {
        self.membership.step(event, now)
    }

    /// The announce of a cluster; an object that says another cluster than its name does is none.
    pub(crate) fn announce_of(&self, cluster: &ClusterId) -> Option<&MemberClusterAnnounce> {
        let announce = self.announces.get(&announce_name(cluster.as_str()))?;
        (announce.cluster_id == cluster.as_str()).then_some(announce)
    }

    /// Members whose endpoints are withdrawn.
    pub(crate) fn withdrawn(&self) -> BTreeSet<ClusterId> {
        self.membership.withdrawn()
    }

    /// Members on their way out.
    pub(crate) fn leaving(&self) -> impl Iterator<Item = &ClusterId> {
        self.leaving.iter()
    }

    /// How many clusters export something, and have not announced themselves.
    pub(crate) fn unannounced(&self) -> usize {
        self.membership.unannounced()
    }

    /// Whether a cluster is one of them.
    pub(crate) fn is_unannounced(&self, cluster: &ClusterId) -> bool {
        self.membership.is_unannounced(cluster)
    }

    /// All clusters that have announced themselves.
    pub(crate) fn clusters(&self) -> impl Iterator<Item = ClusterId> {
        self.announces.iter().filter_map(|(name, _)| cluster_of(name))
    }

    /// Every member with its standing, by cluster ID.
    pub(crate) fn standings(&self) -> BTreeMap<&ClusterId, Standing> {
        self.membership.members().collect()
    }

    /// What brings an announce in line, if something has to: it carries a finalizer of the leader until all exports of a
    /// member that leaves are on their way out.
    pub(crate) fn plan(&self, name: &str, exports_anything: impl Fn(&ClusterId) -> bool) -> Option<Action> {
        let cluster = cluster_of(name)?;
        let metadata = &self.announce_of(&cluster)?.metadata;
        let own = finalizer::member_cluster_announce(cluster.as_str());
        let mut finalizers = metadata.finalizers.clone().unwrap_or_default();
        let has_own = finalizers.contains(&own);
        if metadata.deletion_timestamp.is_none() {
            finalizers.push(own);
            return (!has_own).then(|| Action::KeepAnnounceFinalizers(target(metadata), finalizers));
        }
        finalizers.retain(|finalizer| *finalizer != own);
        let done = has_own && !exports_anything(&cluster);
        done.then(|| Action::KeepAnnounceFinalizers(target(metadata), finalizers))
    }

    /// What tells a member of its networks and Gateways, if it has not been told.
    pub(crate) fn plan_status(
        &self,
        name: &str,
        told: &Told<'_>,
        approvals: &Approvals,
        now: Timestamp,
    ) -> Option<Action> {
        let cluster = cluster_of(name)?;
        let announce = self.announce_of(&cluster).filter(|of| of.metadata.deletion_timestamp.is_none())?;
        let present = announce.status.clone().unwrap_or_default();
        let before = self.answers.meant(name, &present);
        let wanted = MemberClusterAnnounceStatus {
            conditions: dated(told.to_the_member(&cluster), &before.conditions, now),
            gateways: record::gateways(told.claims, &cluster, &before.gateways, now),
            networks: record::networks(told.claims, &cluster, &before.networks, now),
            held_networks: approvals.record(&cluster, &before.held_networks),
            pod_cidrs: record::pod_networks(told.claims, &cluster),
        };
        if self.answers.satisfy(name, &wanted, &present) {
            return None;
        }
        let version = announce.metadata.resource_version.clone();
        let version = version.filter(|_| record::is_other(&present, &wanted));
        let change = Change::new(name, &present, wanted)?;
        Some(Action::WriteAnnounceStatus(Change { version, ..change }))
    }
}

/// The cluster that an announce of this name is of.
pub(crate) fn cluster_of(name: &str) -> Option<ClusterId> {
    name.strip_prefix(&announce_name(""))?.parse().ok()
}
