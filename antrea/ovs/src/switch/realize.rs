//! Carrying out plans over a channel, and bringing everything to a switch whatever it has.

use std::collections::{BTreeMap, BTreeSet};

use antrea_openflow::message::FlowFilter;
use antrea_openflow::{Band, Meter, MeterFlags, MeterId, MeterMod, TableId};

use super::difference::{Comparison, Difference, Rounds, Sent};
use super::left_out::{Identity, LeftOut};
use super::owed::Kept;
use super::plan::Plan;
use super::wanted::Leftovers;
use crate::flow_store::FlowStore;
use crate::modification::{Modification, next_bundle};
use crate::openflow::{Channel, OpenFlowError};
use crate::round::Round;

/// Members of a bundle in which refused ones are looked for, so that trying again costs little.
const PART: usize = 500;

/// Refused members that are left out of a part one by one: a few may be broken, but where many are, all may be.
const REFUSALS: usize = 100;

/// Carries out a plan; its bundle in as many as it takes.
pub(super) async fn carry_out(channel: &Channel, plan: Plan) -> Result<(), OpenFlowError> {
    for change in &plan.meters_before {
        install_meter(channel, change).await?;
    }
    let mut members = plan.bundle.into_iter().peekable();
    while members.peek().is_some() {
        channel.bundle(&next_bundle(&mut members)).await?;
    }
    channel.modify_meters(&plan.meters_after).await
}

/// A meter that is new to us may be there since an earlier agent: then it becomes what is wanted.
async fn install_meter(channel: &Channel, change: &MeterMod) -> Result<(), OpenFlowError> {
    match (channel.modify_meters(std::slice::from_ref(change)).await, change) {
        (Err(error), MeterMod::Add(meter)) if error.position().is_some() => {
            channel.modify_meters(&[MeterMod::Modify(meter.clone())]).await
        }
        (outcome, _) => outcome,
    }
}

/// Everything is on the switch, but for what it refused.
pub(super) struct Realized {
    /// What it took: changes of flows, groups and meters.
    pub(super) changes: usize,
    pub(super) left_out: LeftOut,
    /// How many flows of earlier rounds stay.
    pub(super) kept_flows: usize,
}

/// Brings to the switch what it lacks of the store, and what differs; deletes groups, meters and flows of this round
/// that the store does not hold, unless leftovers are kept, and flows of other `rounds`, but for what is `kept`. What the switch
/// refuses keeps nothing else out. `known` is what was refused the last time, `sent` what is known of groups that cannot be read.
pub(super) async fn everything(
    channel: &Channel,
    store: &FlowStore,
    leftovers: Leftovers,
    known: &LeftOut,
    sent: Sent,
    rounds: Rounds,
    kept: &Kept,
) -> Result<Realized, OpenFlowError> {
    let realized = Realized { changes: 0, left_out: LeftOut::default(), kept_flows: 0 };
    let mut installation = Installation { channel, known, realized };
    let meters = channel.dump_meters().await?;
    installation.meters(store, &meters).await?;
    let mut comparison = Comparison::of(store, leftovers, rounds, kept);
    let large = channel.read_groups(|message| comparison.groups(message)).await?;
    comparison.large_groups(&large, sent);
    let filter = match rounds {
        Rounds::Ours => FlowFilter::cookie(store.round().cookie(), Round::MASK),
        Rounds::All { .. } => FlowFilter::table(TableId::ALL),
    };
    channel.read_flows(filter, |message| comparison.flows(message)).await?;
    installation.realized.kept_flows = comparison.kept_flows();
    installation.members(comparison.difference()).await?;
    if leftovers == Leftovers::Deleted {
        installation.delete_meters(store, &meters).await?;
    }
    Ok(installation.realized)
}

/// What it takes to bring everything to a switch.
struct Installation<'a> {
    channel: &'a Channel,
    known: &'a LeftOut,
    realized: Realized,
}

impl Installation<'_> {
    /// Adds meters that are missing and modifies those that differ, one by one: of several, only the first that is
    /// refused would be known.
    async fn meters(&mut self, store: &FlowStore, present: &[Meter]) -> Result<(), OpenFlowError> {
        let present: BTreeMap<MeterId, &Meter> = present.iter().map(|meter| (meter.id, meter)).collect();
        for wanted in store.meters() {
            let change = match present.get(&wanted.id) {
                None => MeterMod::Add(Meter::clone(wanted)),
                Some(meter) if !alike(meter, wanted) => MeterMod::Modify(Meter::clone(wanted)),
                Some(_) => continue,
            };
            match self.channel.modify_meters(&[change]).await {
                Ok(()) => self.realized.changes += 1,
                Err(error) if error.position().is_some() => {
                    self.leave_out(Identity::Meter(wanted.id), &error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// In as many bundles as it takes.
    async fn members(&mut self, difference: Difference<'_>) -> Result<(), OpenFlowError> {
        let mut members = difference.members().peekable();
        loop {
            let bundle = next_bundle(&mut members);
            if bundle.is_empty() {
                return Ok(());
            }
            match self.channel.bundle(&bundle).await {
                Ok(()) => self.realized.changes += bundle.len(),
                Err(error) if error.position().is_none() => return Err(error),
                Err(_) => {
                    for part in bundle.chunks(PART) {
                        self.without_refused(part.to_vec()).await?;
                    }
                }
            }
        }
    }

    /// A part of a bundle without the members that are refused.
    async fn without_refused(&mut self, mut part: Vec<Modification>) -> Result<(), OpenFlowError> {
        let mut refusals = 0;
        loop {
            let Err(error) = self.channel.bundle(&part).await else {
                self.realized.changes += part.len();
                return Ok(());
            };
            let position = error.position().filter(|position| *position < part.len());
            let Some(position) = position else { return Err(error) };
            if refusals == REFUSALS {
                self.realized.left_out.note_all(&part, &error);
                return Ok(());
            }
            refusals += 1;
            let member = part.remove(position);
            self.leave_out(Identity::from(&member), &error);
        }
    }

    fn leave_out(&mut self, member: Identity, error: &OpenFlowError) {
        self.realized.left_out.note(member, error, self.known);
    }

    async fn delete_meters(&mut self, store: &FlowStore, present: &[Meter]) -> Result<(), OpenFlowError> {
        let wanted: BTreeSet<_> = store.meters().map(|meter| meter.id).collect();
        let surplus = present.iter().map(|meter| meter.id).filter(|id| !wanted.contains(id));
        let surplus: Vec<_> = surplus.map(MeterMod::Delete).collect();
        self.channel.modify_meters(&surplus).await?;
        self.realized.changes += surplus.len();
        Ok(())
    }
}

/// Whether meters limit alike. OVS fills in bursts that do not count.
fn alike(present: &Meter, wanted: &Meter) -> bool {
    let bursts_count = wanted.flags.has(MeterFlags::BURST);
    let limit = |band: &Band| (band.rate, bursts_count.then_some(band.burst));
    present.flags == wanted.flags && present.bands.iter().map(limit).eq(wanted.bands.iter().map(limit))
}
