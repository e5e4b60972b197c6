//! The ClusterSet of a Common Area, and its status.
//!
//! A Namespace is the Common Area of one ClusterSet, the oldest whose leader is this cluster; a further one is told so.
//! The ClusterSet of a member, whose leader is another cluster, is the member controller's affair.

use std::collections::{BTreeMap, BTreeSet};

use antrea_kit::watch::WatchEvent;
use antrea_mc_core::cluster_set::{
    approval_is_not_kept, earlier_standing, needs_approval, status, was_led_without_approval,
};
use antrea_mc_core::ids::ClusterId;
use antrea_mc_core::membership::Standing;
use antrea_shared_api::multicluster::v1alpha2::{ClusterSet, ClusterSetStatus};
use antrea_shared_api::multicluster::{ClusterConditions, Condition, ConditionStatus, condition_type};
use jiff::Timestamp;

use crate::action::Action;
use crate::answers::Answers;
use crate::approvals::Approvals;
use crate::change::Change;
use crate::condition::{Told, dated, whole_seconds};
use crate::objects::{Objects, Record, version_of};

/// A ClusterSet in a Namespace that is another's Common Area.
const NOT_THE_FIRST: &str = "NotTheFirst";

impl Record for ClusterSet {
    fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    fn version(&self) -> u64 {
        version_of(&self.metadata)
    }
}

/// The ClusterSets in the Namespace of a Common Area.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterSets {
    known: Objects<ClusterSet>,
    answers: Answers<ClusterSetStatus>,
    /// The API server drops since when networks need approval.
    drops_approval: bool,
}

impl ClusterSets {
    pub(crate) const fn is_complete(&self) -> bool {
        self.known.is_complete()
    }

    pub(crate) const fn round(&self) -> u64 {
        self.known.round()
    }

    /// Takes in what the watch tells.
    pub(crate) fn learn(&mut self, event: WatchEvent<ClusterSet>) {
        self.answers.learn(&event);
        self.known.learn(event);
    }

    /// Takes in what became of `action`, which was sent in the round `asked`. Whether it is news that the API server drops
    /// since when networks need approval.
    pub(crate) fn learn_answer(&mut self, action: &Action, answer: ClusterSet, asked: u64) -> bool {
        let dropped_before = self.drops_approval;
        if let Action::WriteClusterSetStatus(asked) = action {
            let got = answer.status.clone().unwrap_or_default();
            if asked.wanted.network_approval_since.is_some() {
                self.drops_approval = got.network_approval_since.is_none();
            }
            self.answers.note(&asked.name, asked.wanted.clone(), got);
        }
        self.known.learn_answer(answer, asked);
        self.drops_approval && !dropped_before
    }

    /// The names of all.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        self.known.iter().map(|(name, _)| name.clone()).collect()
    }

    /// How a member stood when the status of the ClusterSet was last written.
    pub(crate) fn earlier_standing(&self, cluster: &ClusterId) -> Option<Standing> {
        earlier_standing(self.first()?.status.as_ref()?, cluster)
    }

    /// Whether members had networks before these needed approval, and nobody has written down which.
    pub(crate) fn was_led_without_approval(&self) -> bool {
        let status = self.first().and_then(|set| set.status.as_ref());
        status.is_some_and(was_led_without_approval)
    }

    /// What brings the status of a ClusterSet in line, if something has to.
    pub(crate) fn plan(
        &self,
        name: &str,
        members: &BTreeMap<&ClusterId, Standing>,
        (told, approvals): (&Told<'_>, &Approvals),
        now: Timestamp,
    ) -> Option<Action> {
        let set = self.known.get(name).filter(|set| leads(set))?;
        let first = self.first()?;
        let is_first = first.name() == name;
        let mut said = if is_first { of_members(members, told) } else { not_the_first(first.name()) };
        let present = set.status.clone().unwrap_or_default();
        let was_dropped = self.drops_approval || needs_approval(&present);
        if is_first && present.network_approval_since.is_none() && was_dropped {
            said.conditions.push(approval_is_not_kept());
        }
        let before = self.answers.meant(name, &present);
        let begins = (is_first && approvals.are_recorded()).then(|| whole_seconds(now));
        let wanted = ClusterSetStatus {
            observed_generation: set.metadata.generation.unwrap_or_default(),
            network_approval_since: before.network_approval_since.clone().or(begins),
            ..with_times(said, before, now)
        };
        if self.answers.satisfy(name, &wanted, &present) {
            return None;
        }
        Change::new(name, &present, wanted).map(Action::WriteClusterSetStatus)
    }

    fn first(&self) -> Option<&ClusterSet> {
        let led = self.known.iter().map(|(_, set)| set).filter(|set| leads(set));
        led.min_by_key(|set| (set.metadata.creation_timestamp.clone(), set.metadata.name.clone()))
    }
}

/// Whether the ClusterSet says that its own cluster is the leader. In one that was made before it had to name its own
/// cluster, the leader is the one that needs no server to be reached at.
fn leads(set: &ClusterSet) -> bool {
    let own = set.spec.cluster_id.as_str();
    set.spec
        .leaders
        .iter()
        .any(|leader| leader.cluster_id == own || own.is_empty() && leader.server.is_empty())
}

fn of_members(members: &BTreeMap<&ClusterId, Standing>, told: &Told<'_>) -> ClusterSetStatus {
    let mut status = status(members.iter().map(|(cluster, standing)| (*cluster, *standing)));
    for (said, cluster) in status.cluster_statuses.iter_mut().zip(members.keys()) {
        said.conditions.extend(told.conditions(cluster));
    }
    status
}

fn not_the_first(first: &str) -> ClusterSetStatus {
    let condition = Condition {
        condition_type: condition_type::READY.to_owned(),
        status: ConditionStatus::False,
        reason: NOT_THE_FIRST.to_owned(),
        message: format!(
            "this Namespace is the Common Area of ClusterSet {first}, which is older: use another Namespace"
        ),
        last_transition_time: None,
    };
    ClusterSetStatus { conditions: vec![condition], ..ClusterSetStatus::default() }
}

fn with_times(said: ClusterSetStatus, present: &ClusterSetStatus, now: Timestamp) -> ClusterSetStatus {
    let of_cluster = |said: ClusterConditions| {
        let before = present.cluster_statuses.iter().find(|before| before.cluster_id == said.cluster_id);
        let before = before.map(|before| before.conditions.as_slice()).unwrap_or_default();
        ClusterConditions { conditions: dated(said.conditions, before, now), ..said }
    };
    ClusterSetStatus {
        conditions: dated(said.conditions, &present.conditions, now),
        cluster_statuses: said.cluster_statuses.into_iter().map(of_cluster).collect(),
        ..said
    }
}
