//! Sets that somebody wants and the switch does not have, since it refused them or nobody could ask for them yet: what an
//! earlier agent has installed in their place stays until they come, and keeps nothing else.

use std::collections::{BTreeMap, BTreeSet};

use antrea_openflow::{GroupId, PackedFlow, TableId};

use super::left_out::{Identity, LeftOut};
use crate::flow_store::Members;
use crate::store::SetKey;

/// The sets.
#[derive(Debug, Default)]
pub(super) struct Owed {
    refused: BTreeMap<SetKey, Members>,
    claimed: BTreeMap<SetKey, Members>,
}

impl Owed {
    /// The switch has refused a set, and has nothing that was asked for under its name before.
    pub(super) fn refuse(&mut self, key: SetKey, members: Members) {
        self.refused.insert(key, members);
    }

    /// These sets, and no others but the refused ones, are somebody's who could not ask for them yet.
    pub(super) fn claim(&mut self, sets: BTreeMap<SetKey, Members>) {
        self.claimed = sets;
    }

    /// Somebody asks for the set once more, or gives it up. Returns what was owed.
    pub(super) fn take(&mut self, key: &SetKey) -> Members {
        let claimed = self.claimed.remove(key);
        self.refused.remove(key).or(claimed).unwrap_or_default()
    }

    pub(super) fn has(&self, key: &SetKey) -> bool {
        self.refused.contains_key(key) || self.claimed.contains_key(key)
    }

    /// What stays for want of these sets, and of what was left out of others.
    pub(super) fn kept(&self, left_out: &LeftOut) -> Kept {
        let mut kept = Kept::default();
        for members in self.refused.values().chain(self.claimed.values()) {
            members.flows.iter().for_each(|flow| kept.keep_flow(flow.key()));
            kept.groups.extend(members.groups.iter().map(|group| group.id()));
        }
        for identity in left_out.identities() {
            match identity {
                Identity::Flow(key) => kept.keep_flow(key),
                Identity::Group(id) => _ = kept.groups.insert(*id),
                Identity::Meter(_) => {}
            }
        }
        kept
    }
}

/// What stays though it is of an earlier round, or nobody's.
#[derive(Debug, Default)]
pub(super) struct Kept {
    tables: BTreeSet<TableId>,
    flows: BTreeSet<Box<[u8]>>,
    groups: BTreeSet<GroupId>,
}

impl Kept {
    fn keep_flow(&mut self, key: &[u8]) {
        self.tables.extend(key.first().copied().map(TableId));
        self.flows.insert(key.into());
    }

    /// Whether a table has flows that stay.
    pub(super) fn concerns(&self, table: TableId) -> bool {
        self.tables.contains(&table)
    }

    pub(super) fn has_flow(&self, flow: &PackedFlow) -> bool {
        self.flows.contains(flow.key())
    }

    pub(super) fn has_group(&self, id: GroupId) -> bool {
        self.groups.contains(&id)
    }
}
