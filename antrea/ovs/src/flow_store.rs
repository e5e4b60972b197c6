//! All flows, groups and meters that a bridge shall have, in named sets.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use antrea_openflow::{Action, Flow, Group, Meter, TableId};

use crate::round::Round;
use crate::store::{Change, Object, SetKey, Store};

impl Object for Flow {
    fn compare(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl Object for Group {
    fn compare(&self, other: &Self) -> Ordering {
        self.id.cmp(&other.id)
    }
}

impl Object for Meter {
    fn compare(&self, other: &Self) -> Ordering {
        self.id.cmp(&other.id)
    }
}

/// What belongs together: the flows of a Pod, of a peer Node, of a Service, with the groups and meters they use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowSet {
    /// The flows. Their cookies have no round; the store puts it in.
    pub flows: Vec<Flow>,
    /// The groups.
    pub groups: Vec<Group>,
    /// The meters.
    pub meters: Vec<Meter>,
}

impl From<Vec<Flow>> for FlowSet {
    fn from(flows: Vec<Flow>) -> Self {
        Self { flows, ..Self::default() }
    }
}

/// What replacing a set changes on the bridge, in the order of identities.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FlowChanges {
    /// Changes of flows.
    pub flows: Vec<Change<Flow>>,
    /// Changes of groups.
    pub groups: Vec<Change<Group>>,
    /// Changes of meters.
    pub meters: Vec<Change<Meter>>,
}

impl FlowChanges {
    /// Whether nothing has to be done.
    pub const fn is_empty(&self) -> bool {
        self.flows.is_empty() && self.groups.is_empty() && self.meters.is_empty()
    }

    /// Only what goes.
    pub(crate) fn deletions(mut self) -> Self {
        self.flows.retain(|change| matches!(change, Change::Delete(_)));
        self.groups.retain(|change| matches!(change, Change::Delete(_)));
        self.meters.retain(|change| matches!(change, Change::Delete(_)));
        self
    }
}

/// The members of a set as the store keeps them.
#[derive(Debug, Default)]
pub(crate) struct Members {
    pub(crate) flows: Vec<Arc<Flow>>,
    pub(crate) groups: Vec<Arc<Group>>,
    pub(crate) meters: Vec<Arc<Meter>>,
}

impl Members {
    /// Whether there are none.
    pub(crate) const fn is_empty(&self) -> bool {
        self.flows.is_empty() && self.groups.is_empty() && self.meters.is_empty()
    }
}

/// The sets. A flow (by table, priority and match) that several sets hold is there as long as one of them has it.
#[derive(Debug)]
pub struct FlowStore {
    round: Round,
    flows: Store<Flow>,
    groups: Store<Group>,
    meters: Store<Meter>,
}

impl FlowStore {
    /// No sets; flows will carry that round.
    pub fn new(round: Round) -> Self {
        Self { round, flows: Store::default(), groups: Store::default(), meters: Store::default() }
    }

    /// The round that flows carry.
    pub const fn round(&self) -> Round {
        self.round
    }

    /// Replaces a set, and returns what changes.
    pub fn set(&mut self, key: &SetKey, set: FlowSet) -> FlowChanges {
        let round = self.round;
        self.put(
            key,
            Members {
                flows: set.flows.into_iter().map(|flow| Arc::new(stamped(flow, round))).collect(),
                groups: set.groups.into_iter().map(Arc::new).collect(),
                meters: set.meters.into_iter().map(Arc::new).collect(),
            },
        )
    }

    /// Replaces a set by what one was, and returns what changes.
    pub(crate) fn put(&mut self, key: &SetKey, members: Members) -> FlowChanges {
        FlowChanges {
            flows: self.flows.set(key, members.flows),
            groups: self.groups.set(key, members.groups),
            meters: self.meters.set(key, members.meters),
        }
    }

    /// What a set holds, not copied.
    pub(crate) fn members(&self, key: &SetKey) -> Members {
        Members {
            flows: self.flows.get(key).cloned().collect(),
            groups: self.groups.get(key).cloned().collect(),
            meters: self.meters.get(key).cloned().collect(),
        }
    }

    /// Removes a set, and returns what changes.
    pub fn remove(&mut self, key: &SetKey) -> FlowChanges {
        self.set(key, FlowSet::default())
    }

    /// What a set holds.
    pub fn get(&self, key: &SetKey) -> FlowSet {
        FlowSet {
            flows: self.flows.get(key).map(|flow| Flow::clone(flow)).collect(),
            groups: self.groups.get(key).map(|group| Group::clone(group)).collect(),
            meters: self.meters.get(key).map(|meter| Meter::clone(meter)).collect(),
        }
    }

    /// All flows, in the order of table, priority and match.
    pub fn flows(&self) -> impl DoubleEndedIterator<Item = &Arc<Flow>> {
        self.flows.all()
    }

    /// All groups, in the order of their numbers.
    pub fn groups(&self) -> impl Iterator<Item = &Arc<Group>> {
        self.groups.all()
    }

    /// All meters, in the order of their numbers.
    pub fn meters(&self) -> impl Iterator<Item = &Arc<Meter>> {
        self.meters.all()
    }

    /// The tables that flows learn into: the switch itself makes flows there, and removes them by their timeouts.
    pub fn learned_tables(&self) -> BTreeSet<TableId> {
        let actions = self.flows().flat_map(|flow| &flow.actions);
        let tables = actions.filter_map(|action| match action {
            Action::Learn(learn) => Some(learn.table),
            _ => None,
        });
        tables.collect()
    }
}

/// The flow, and what it learns, with the round in their cookies.
fn stamped(mut flow: Flow, round: Round) -> Flow {
    flow.cookie = round.stamp(flow.cookie);
    for action in &mut flow.actions {
        if let Action::Learn(learn) = action {
            learn.cookie = round.stamp(learn.cookie);
        }
    }
    flow
}
