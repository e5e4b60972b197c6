//! What a switch lacks of all that is wanted, and what it has beyond that.

use std::collections::BTreeSet;

use antrea_openflow::{
    DecodeError, FlowMod, FlowPart, GroupId, GroupMod, Match, PackedFlow, PackedGroup, TableId, flow_parts,
    group_parts,
};

use super::marks::{Found, Marks};
use super::owed::Kept;
use super::wanted::Leftovers;
use crate::flow_store::FlowStore;
use crate::modification::Modification;
use crate::openflow::GroupSize;
use crate::round::Round;

/// Compares what is wanted with what is there, message by message as replies come.
#[derive(Debug)]
pub(super) struct Comparison<'a> {
    flows: Marks<'a, PackedFlow>,
    groups: Marks<'a, PackedGroup>,
    surplus: Surplus,
    round: Round,
    rounds: Rounds,
    stale: BTreeSet<(TableId, Round)>,
    kept: &'a Kept,
    kept_flows: usize,
    surplus_flows: Vec<PackedFlow>,
    surplus_groups: Vec<GroupId>,
    buffer: Vec<u8>,
}

/// Whether groups that cannot be read are known to have been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    OverThisConnection,
    Perhaps,
}

/// Whose flows are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounds {
    /// Those of the round.
    Ours,
    /// And those of round `stale`, or of every other one where that is not known, of which none shall be left but what is kept.
    All { stale: Option<Round> },
}

impl Rounds {
    fn have(self, other: Round) -> bool {
        match self {
            Self::Ours => false,
            Self::All { stale } => stale.is_none_or(|stale| stale == other),
        }
    }
}

/// What becomes of what nobody wants.
#[derive(Debug)]
enum Surplus {
    /// It stays: while not all has been asked for, it may be wanted yet.
    Kept,
    /// It goes, but for what the switch made in these tables.
    Deleted { learned: BTreeSet<TableId> },
}

impl<'a> Comparison<'a> {
    /// Of all that `store` holds but meters.
    pub(super) fn of(store: &'a FlowStore, leftovers: Leftovers, rounds: Rounds, kept: &'a Kept) -> Self {
        Self {
            round: store.round(),
            rounds,
            stale: BTreeSet::new(),
            kept,
            kept_flows: 0,
            flows: Marks::of(store.flows()),
            groups: Marks::of(store.groups()),
            surplus: match leftovers {
                Leftovers::Kept => Surplus::Kept,
                Leftovers::Deleted => Surplus::Deleted { learned: store.learned_tables() },
            },
            surplus_flows: Vec::new(),
            surplus_groups: Vec::new(),
            buffer: Vec::new(),
        }
    }

    /// Takes a message with groups that are there.
    ///
    /// # Errors
    /// If it breaks the format.
    pub(super) fn groups(&mut self, message: &[u8]) -> Result<(), DecodeError> {
        for part in group_parts(message) {
            let part = part?;
            let sent = part.as_sent(&mut self.buffer);
            let mut found = self.groups.find(sent.key(), sent.bytes());
            if found == Found::Different {
                let packed = part.packed(&mut self.buffer)?;
                found = self.groups.find(packed.key(), packed.bytes());
            }
            self.note_group(found, part.id);
        }
        Ok(())
    }

    /// Takes groups that are too large to be read. They are as they shall be if they have as many buckets, where the
    /// switch has had them from us over this connection.
    pub(super) fn large_groups(&mut self, groups: &[GroupSize], sent: Sent) {
        for group in groups {
            let found = self.groups.find_by(&group.id.0.to_be_bytes(), |wanted| {
                sent == Sent::OverThisConnection && wanted.bucket_count() == group.buckets
            });
            self.note_group(found, group.id);
        }
    }

    fn note_group(&mut self, found: Found, id: GroupId) {
        let surplus = found == Found::NotWanted && matches!(self.surplus, Surplus::Deleted { .. });
        if surplus && !self.kept.has_group(id) {
            self.surplus_groups.push(id);
        }
    }

    /// Takes a message with flows that are there.
    ///
    /// # Errors
    /// If it breaks the format.
    pub(super) fn flows(&mut self, message: &[u8]) -> Result<(), DecodeError> {
        for part in flow_parts(message) {
            let part = part?;
            let round = Round::of(part.cookie());
            if round != self.round {
                if self.rounds.have(round) && self.surplus.has(&part) {
                    self.note_stale(&part, round);
                }
                continue;
            }
            let sent = part.as_sent(&mut self.buffer);
            if self.flows.find(sent.key(), sent.bytes()) == Found::Same {
                continue;
            }
            // OVS has an order of its own for the fields of a match.
            let packed = part.packed(&mut self.buffer)?;
            let found = self.flows.find(packed.key(), packed.bytes());
            if found == Found::NotWanted && self.surplus.has(&part) {
                self.surplus_flows.push(packed.to_owned());
            }
        }
        Ok(())
    }

    /// A flow of an earlier round goes with all of its table, unless some of these stay; what is wanted in its place takes it
    /// by itself.
    fn note_stale(&mut self, part: &FlowPart<'_>, round: Round) {
        if !self.kept.concerns(part.table()) {
            self.stale.insert((part.table(), round));
            return;
        }
        let sent = part.as_sent(&mut self.buffer).to_owned();
        // What cannot be read is none of ours.
        let flow = part.packed(&mut self.buffer).map_or(sent, |packed| packed.to_owned());
        if self.kept.has_flow(&flow) {
            self.kept_flows += 1;
        } else if self.flows.find(flow.key(), flow.bytes()) == Found::NotWanted {
            self.surplus_flows.push(flow);
        }
    }

    /// How many flows of earlier rounds stay.
    pub(super) const fn kept_flows(&self) -> usize {
        self.kept_flows
    }

    /// What is left when all has been seen.
    pub(super) fn difference(mut self) -> Difference<'a> {
        self.surplus_flows.sort_unstable_by(|one, other| one.key().cmp(other.key()));
        self.surplus_groups.sort_unstable();
        Difference {
            groups: self.groups.missing().collect(),
            flows: self.flows.missing().rev().collect(),
            stale: self.stale,
            surplus_flows: self.surplus_flows,
            surplus_groups: self.surplus_groups,
        }
    }
}

impl Surplus {
    /// Whether a flow that nobody wants has to go.
    fn has(&self, flow: &FlowPart<'_>) -> bool {
        match self {
            Self::Kept => false,
            Self::Deleted { learned } => {
                Round::of(flow.cookie()) != Round::LEARNED || !learned.contains(&flow.table())
            }
        }
    }
}

/// The difference between what is wanted and what is there, but for meters.
#[derive(Debug)]
pub(super) struct Difference<'a> {
    /// Missing or different.
    groups: Vec<&'a PackedGroup>,
    /// Missing or different; the table that packets enter comes last.
    flows: Vec<&'a PackedFlow>,
    /// Where flows of other rounds are to go.
    stale: BTreeSet<(TableId, Round)>,
    /// Not wanted.
    surplus_flows: Vec<PackedFlow>,
    /// Not wanted.
    surplus_groups: Vec<GroupId>,
}

impl<'a> Difference<'a> {
    /// What makes the switch what it shall be: nothing refers to what is not there yet or not any more.
    pub(super) fn members(self) -> impl Iterator<Item = Modification> + Send + use<'a> {
        let groups = self.groups.into_iter().map(|group| Modification::InstallGroup(group.clone()));
        let flows = self.flows.into_iter().map(|flow| Modification::AddFlow(flow.clone()));
        let gone = self.surplus_flows.into_iter().map(Modification::DeleteFlow);
        let stale = self.stale.into_iter().map(|(table, round)| {
            FlowMod::delete(table, Match::new()).with_cookie(round.cookie(), Round::MASK).into()
        });
        let unused = self.surplus_groups.into_iter().map(|id| GroupMod::Delete(id).into());
        groups.chain(flows).chain(gone).chain(stale).chain(unused)
    }
}

#[cfg(test)]
mod tests;
