//! What a bridge shall have, and what of it the switch did not take.

use antrea_openflow::PackedFlow;
use tracing::warn;

use super::difference::{Rounds, Sent};
use super::left_out::LeftOut;
use super::owed::Owed;
use super::plan::Plan;
use super::realize;
use super::together::Wish;
use crate::flow_store::{FlowChanges, FlowStore, Members};
use crate::openflow::{Channel, OpenFlowError};
use crate::round::Round;
use crate::store::{Change, Edit, SetKey};

/// Groups and meters, which carry no round, and flows of this round, that nobody asked for. Until all of this round
/// has been asked for, flows of earlier rounds may use the former, and the latter may have been installed by an earlier
/// start of the same round and be asked for yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leftovers {
    Kept,
    Deleted,
}

#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) store: FlowStore,
    pub(super) leftovers: Leftovers,
    left_out: LeftOut,
    pub(super) owed: Owed,
    /// How many flows of earlier rounds stayed when these were deleted last.
    pub(super) kept_flows: usize,
    /// The generation of the last connection over which everything was installed; 0 before the first.
    sent_over: u64,
}

impl Wanted {
    pub(super) fn new(round: Round) -> Self {
        Self {
            store: FlowStore::new(round),
            leftovers: Leftovers::Kept,
            left_out: LeftOut::default(),
            owed: Owed::default(),
            kept_flows: 0,
            sent_over: 0,
        }
    }

    /// Changes a set, to be installed with everything.
    pub(super) fn remember(&mut self, key: &SetKey, wish: Wish) {
        drop(self.owed.take(key));
        match wish {
            Wish::Replace(members) => drop(self.store.put(key, members)),
            Wish::Edit(edits) => drop(self.store.edit(key, edits)),
        }
    }

    /// Edits a set on a switch that has all that was wanted before. What it refuses stays wanted, and nothing else is kept out
    /// by it.
    pub(super) async fn edit(
        &mut self,
        channel: &Channel,
        key: &SetKey,
        edits: Vec<Edit<PackedFlow>>,
    ) -> Result<(), OpenFlowError> {
        let uncertain = self.refusal(key).is_err();
        let changes = self.store.edit(key, edits);
        if !uncertain {
            match realize::carry_out(channel, Plan::in_order(&changes)).await {
                Err(error) if !matches!(error, OpenFlowError::ConnectionLost) => {}
                outcome => return outcome,
            }
        }
        let gone = changes.into_iter().filter(|change| self.store.lacks(change)).collect();
        self.settle(channel, FlowChanges { flows: gone, ..FlowChanges::default() }).await?;
        self.refusal(key)
    }

    /// Replaces a set on a switch that has all that was wanted before. An error that is not the loss of the connection
    /// leaves the set what it was, unless a member of it had been left out.
    pub(super) async fn change(
        &mut self,
        channel: &Channel,
        key: &SetKey,
        members: Members,
    ) -> Result<(), OpenFlowError> {
        let before = self.store.members(key);
        let uncertain = self.left_out.why(&before).is_some();
        let owed = self.owed.take(key);
        let mut changes = self.store.put(key, members);
        // What stayed for want of this set, and it does not have.
        let former = owed.flows.into_iter().map(Change::Delete);
        changes.flows.extend(former.filter(|change| self.store.lacks(change)));
        if uncertain || self.refusal(key).is_err() {
            // What the switch has of it is not known.
            self.settle(channel, changes.deletions()).await?;
            return self.refusal(key);
        }
        if changes.is_empty() {
            return Ok(());
        }
        self.carry_out(channel, key, changes, before).await
    }

    /// Carries out changes of a set, and takes them back if the switch refuses them.
    async fn carry_out(
        &mut self,
        channel: &Channel,
        key: &SetKey,
        changes: FlowChanges,
        before: Members,
    ) -> Result<(), OpenFlowError> {
        let plan = Plan::of(changes);
        let at_once = plan.is_at_once();
        let Err(error) = realize::carry_out(channel, plan).await else { return Ok(()) };
        if matches!(error, OpenFlowError::ConnectionLost) {
            return Err(error);
        }
        let back = self.take_back(key, before);
        if !at_once && let Err(error) = self.settle(channel, back.deletions()).await {
            warn!(%key, error = &error as &dyn std::error::Error, "Cannot take back a refused change");
        }
        Err(error)
    }

    /// Makes a set what it was before it was refused. Where it was nothing, what an earlier agent has in its place stays.
    pub(super) fn take_back(&mut self, key: &SetKey, before: Members) -> FlowChanges {
        let refused = self.store.members(key);
        let changes = self.store.put(key, before);
        if !self.store.has(key) {
            self.owed.refuse(key.clone(), refused);
        }
        changes
    }

    /// Brings everything to the switch, whatever it has, then does `deletions`. Returns how much that changed.
    pub(super) async fn settle(
        &mut self,
        channel: &Channel,
        deletions: FlowChanges,
    ) -> Result<usize, OpenFlowError> {
        let changes = self.settle_rounds(channel, Rounds::Ours).await?;
        realize::carry_out(channel, Plan::of(deletions)).await?;
        Ok(changes)
    }

    /// Brings everything to the switch, whatever it has of these rounds. Returns how much that changed.
    pub(super) async fn settle_rounds(
        &mut self,
        channel: &Channel,
        rounds: Rounds,
    ) -> Result<usize, OpenFlowError> {
        let generation = channel.generation();
        let sent = if self.sent_over == generation { Sent::OverThisConnection } else { Sent::Perhaps };
        let kept = self.owed.kept(&self.left_out);
        let (store, known) = (&self.store, &self.left_out);
        let realized =
            realize::everything(channel, store, self.leftovers, known, sent, rounds, &kept).await?;
        self.left_out = realized.left_out;
        if rounds != Rounds::Ours {
            self.kept_flows = realized.kept_flows;
        }
        self.sent_over = generation;
        Ok(realized.changes)
    }

    /// Why the switch lacks a member of a set.
    ///
    /// # Errors
    /// That is the error.
    pub(super) fn refusal(&self, key: &SetKey) -> Result<(), OpenFlowError> {
        if self.left_out.is_empty() {
            return Ok(());
        }
        match self.left_out.why(&self.store.members(key)) {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Whether there is such a set, and nothing of it was left out.
    pub(super) fn has(&self, key: &SetKey) -> bool {
        self.store.has(key) && self.refusal(key).is_ok()
    }
}
