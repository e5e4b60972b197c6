//! Carrying out plans over a channel.

use std::collections::{BTreeMap, BTreeSet};

use antrea_openflow::message::FlowFilter;
use antrea_openflow::{FlowMod, GroupMod, Match, Meter, MeterId, MeterMod, TableId};
use tracing::warn;

use super::plan::{self, Plan};
use crate::flow_store::FlowStore;
use crate::modification::Modification;
use crate::openflow::{BUNDLE_LIMIT, Channel, OpenFlowError};
use crate::round::Round;

/// Refused members that are left out of a replay before it is given up: a few may be broken, but when many are, then
/// the switch is.
const REFUSALS: usize = 100;

/// Carries out a plan; its bundle in as many as it takes.
pub(super) async fn carry_out(channel: &Channel, plan: Plan) -> Result<(), OpenFlowError> {
    channel.modify_meters(&plan.meters_before).await?;
    for members in plan.bundle.chunks(BUNDLE_LIMIT) {
        channel.bundle(members).await?;
    }
    channel.modify_meters(&plan.meters_after).await
}

/// Installs all that the store holds, and deletes flows of this round that it does not hold. Returns the number of
/// members sent. A member that the switch refuses does not keep the others out.
pub(super) async fn everything(
    channel: &Channel,
    store: &FlowStore,
    round: Round,
    tables: &[(TableId, String)],
) -> Result<usize, OpenFlowError> {
    channel.rename_tables(tables).await?;
    install_meters(channel, store).await?;
    let filter = FlowFilter::cookie(round.cookie(), Round::MASK);
    let learned = store.learned_tables();
    let present = channel.dump_flows(filter).await?.into_iter();
    let surplus = present.filter(|flow| store.is_surplus(flow.clone(), &learned)).collect();
    let mut members = plan::everything(store, surplus);
    let (mut sent, mut refusals) = (0, 0);
    loop {
        let mut bundle: Vec<Modification> = members.by_ref().take(BUNDLE_LIMIT).collect();
        if bundle.is_empty() {
            return Ok(sent);
        }
        sent += bundle.len();
        while let Err(error) = channel.bundle(&bundle).await {
            let position =
                error.position().filter(|position| *position < bundle.len() && refusals < REFUSALS);
            let Some(position) = position else { return Err(error) };
            refusals += 1;
            warn!(error = &error as &dyn std::error::Error, "Left out of what is installed");
            bundle.remove(position);
        }
    }
}

/// Adds meters that are missing and modifies those that differ.
async fn install_meters(channel: &Channel, store: &FlowStore) -> Result<(), OpenFlowError> {
    let present: BTreeMap<MeterId, Meter> =
        channel.dump_meters().await?.into_iter().map(|meter| (meter.id, meter)).collect();
    let missing = store.meters().filter_map(|wanted| match present.get(&wanted.id) {
        None => Some(MeterMod::Add(Meter::clone(wanted))),
        Some(meter) if meter != wanted.as_ref() => Some(MeterMod::Modify(Meter::clone(wanted))),
        Some(_) => None,
    });
    channel.modify_meters(&missing.collect::<Vec<_>>()).await
}

/// Deletes the flows of round `previous`, or of every other round than ours where that is not known.
pub(super) async fn delete_stale_flows(
    channel: &Channel,
    round: Round,
    previous: Option<Round>,
) -> Result<(), OpenFlowError> {
    let rounds = match previous {
        Some(previous) => BTreeSet::from([previous]),
        None => {
            let flows = channel.dump_flows(FlowFilter::table(TableId::ALL)).await?;
            flows.iter().map(|flow| Round::of(flow.cookie)).collect()
        }
    };
    let delete =
        |stale: Round| FlowMod::delete(TableId::ALL, Match::new()).with_cookie(stale.cookie(), Round::MASK);
    let stale = rounds.into_iter().filter(|stale| *stale != round);
    channel.bundle(&stale.map(|stale| Modification::Flow(delete(stale))).collect::<Vec<_>>()).await
}

/// Deletes groups and meters that the store does not hold.
pub(super) async fn delete_leftovers(channel: &Channel, store: &FlowStore) -> Result<(), OpenFlowError> {
    let wanted: BTreeSet<_> = store.groups().map(|group| group.id).collect();
    let groups = channel.dump_groups().await?.into_iter().map(|group| group.id);
    let unwanted =
        groups.filter(|id| !wanted.contains(id)).map(|id| Modification::Group(GroupMod::Delete(id)));
    let wanted: BTreeSet<_> = store.meters().map(|meter| meter.id).collect();
    let meters = channel.dump_meters().await?.into_iter().map(|meter| meter.id);
    let meters_after = meters.filter(|id| !wanted.contains(id)).map(MeterMod::Delete).collect();
    carry_out(channel, Plan { meters_before: Vec::new(), bundle: unwanted.collect(), meters_after }).await
}
