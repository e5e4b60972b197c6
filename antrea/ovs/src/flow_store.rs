//! All flows, groups and meters that a bridge shall have, in named sets.

use std::collections::BTreeSet;
use std::sync::Arc;

use antrea_openflow::{Flow, Group, Meter, MeterId, PackedFlow, PackedGroup, TableId};

use crate::round::Round;
use crate::store::{Change, Edit, Object, SetKey, Store};

impl Object for PackedFlow {
    type Identity = [u8];

    fn identity(&self) -> &[u8] {
        self.key()
    }
}

impl Object for PackedGroup {
    type Identity = [u8];

    fn identity(&self) -> &[u8] {
        self.key()
    }
}

impl Object for Arc<Meter> {
    type Identity = MeterId;

    fn identity(&self) -> &MeterId {
        &self.id
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

/// A change of one flow of a set. Its cookie has no round; the store puts it in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowEdit {
    /// The set has this flow, in the place of any other of its table, priority and match.
    Put(Flow),
    /// The set has none of this flow's table, priority and match.
    Remove(Flow),
}

/// What replacing a set changes on the bridge, in the order of identities.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FlowChanges {
    /// Changes of flows.
    pub flows: Vec<Change<PackedFlow>>,
    /// Changes of groups.
    pub groups: Vec<Change<PackedGroup>>,
    /// Changes of meters.
    pub meters: Vec<Change<Arc<Meter>>>,
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
    pub(crate) flows: Vec<PackedFlow>,
    pub(crate) groups: Vec<PackedGroup>,
    pub(crate) meters: Vec<Arc<Meter>>,
}

impl Members {
    /// Packs a set; its flows get the round. What flows learn does not: it outlives the round, since its cookie stays.
    pub(crate) fn pack(set: FlowSet, round: Round) -> Self {
        let mut buffer = Vec::new();
        // Not collected: that would keep the room of the values.
        let mut flows = Vec::with_capacity(set.flows.len());
        for mut flow in set.flows {
            flow.cookie = round.stamp(flow.cookie);
            flows.push(PackedFlow::new(&flow, &mut buffer));
        }
        let mut groups = Vec::with_capacity(set.groups.len());
        for group in set.groups {
            groups.push(PackedGroup::new(&group, &mut buffer));
        }
        Self { flows, groups, meters: set.meters.into_iter().map(Arc::new).collect() }
    }
}

/// Edits as the store takes them.
pub(crate) fn pack_edits(edits: Vec<FlowEdit>, round: Round) -> Vec<Edit<PackedFlow>> {
    let mut buffer = Vec::new();
    let mut pack = |mut flow: Flow| {
        flow.cookie = round.stamp(flow.cookie);
        PackedFlow::new(&flow, &mut buffer)
    };
    let pack = |edit| match edit {
        FlowEdit::Put(flow) => Edit::Put(pack(flow)),
        FlowEdit::Remove(flow) => Edit::Remove(pack(flow)),
    };
    edits.into_iter().map(pack).collect()
}

/// The sets. A flow (by table, priority and match) that several sets hold is there as long as one of them has it.
#[derive(Debug)]
pub struct FlowStore {
    round: Round,
    flows: Store<PackedFlow>,
    groups: Store<PackedGroup>,
    meters: Store<Arc<Meter>>,
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
        self.put(key, Members::pack(set, self.round))
    }

    /// Replaces a set that is packed, and returns what changes.
    pub(crate) fn put(&mut self, key: &SetKey, members: Members) -> FlowChanges {
        FlowChanges {
            flows: self.flows.set(key, members.flows),
            groups: self.groups.set(key, members.groups),
            meters: self.meters.set(key, members.meters),
        }
    }

    /// Changes flows of a set one after the other, and returns what changes, in that order.
    pub(crate) fn edit(&mut self, key: &SetKey, edits: Vec<Edit<PackedFlow>>) -> Vec<Change<PackedFlow>> {
        self.flows.edit(key, edits)
    }

    /// Whether a change deleted a flow, and none of later ones put it back.
    pub(crate) fn lacks(&self, change: &Change<PackedFlow>) -> bool {
        matches!(change, Change::Delete(old) if !self.flows.has(old))
    }

    /// What a set holds, not copied.
    pub(crate) fn members(&self, key: &SetKey) -> Members {
        Members {
            flows: self.flows.get(key).to_vec(),
            groups: self.groups.get(key).to_vec(),
            meters: self.meters.get(key).to_vec(),
        }
    }

    /// Whether a set holds anything.
    pub(crate) fn has(&self, key: &SetKey) -> bool {
        !(self.flows.get(key).is_empty()
            && self.groups.get(key).is_empty()
            && self.meters.get(key).is_empty())
    }

    /// Removes a set, and returns what changes.
    pub fn remove(&mut self, key: &SetKey) -> FlowChanges {
        self.set(key, FlowSet::default())
    }

    /// What a set holds, but for what is longer than OpenFlow can say.
    pub fn get(&self, key: &SetKey) -> FlowSet {
        FlowSet {
            flows: self.flows.get(key).iter().filter_map(|flow| flow.unpack().ok()).collect(),
            groups: self.groups.get(key).iter().filter_map(|group| group.unpack().ok()).collect(),
            meters: self.meters.get(key).iter().map(|meter| Meter::clone(meter)).collect(),
        }
    }

    /// All flows, in the order of table, priority and match.
    pub fn flows(&self) -> impl DoubleEndedIterator<Item = &PackedFlow> {
        self.flows.all()
    }

    /// All groups, in the order of their numbers.
    pub fn groups(&self) -> impl Iterator<Item = &PackedGroup> {
        self.groups.all()
    }

    /// All meters, in the order of their numbers.
    pub fn meters(&self) -> impl Iterator<Item = &Arc<Meter>> {
        self.meters.all()
    }

    /// The tables that flows learn into: the switch itself makes flows there, and removes them by their timeouts.
    pub fn learned_tables(&self) -> BTreeSet<TableId> {
        self.flows().flat_map(PackedFlow::learned_tables).collect()
    }
}
