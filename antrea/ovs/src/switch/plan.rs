//! From what changes in the store to what is sent to the switch.

use antrea_openflow::{GroupMod, Meter, MeterMod, PackedFlow};

use crate::flow_store::FlowChanges;
use crate::modification::{Modification, Size};
use crate::openflow::BUNDLE_LIMIT;
use crate::store::Change;

/// What is sent, in this order: nothing refers to what is not there yet or not any more. Meters cannot be members of
/// bundles (OVS: `OFPBFC_MSG_UNSUP`).
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) meters_before: Vec<MeterMod>,
    pub(crate) bundle: Vec<Modification>,
    pub(crate) meters_after: Vec<MeterMod>,
}

impl Plan {
    /// What brings changes to a switch that has all that was there before.
    pub(crate) fn of(changes: FlowChanges) -> Self {
        let mut plan = Self::default();
        for change in changes.meters {
            match change {
                Change::Add(new) => plan.meters_before.push(MeterMod::Add(Meter::clone(&new))),
                Change::Replace { new, .. } => plan.meters_before.push(MeterMod::Modify(Meter::clone(&new))),
                Change::Delete(old) => plan.meters_after.push(MeterMod::Delete(old.id)),
            }
        }
        let mut unused = Vec::new();
        for change in changes.groups {
            match change {
                Change::Add(new) | Change::Replace { new, .. } => {
                    plan.bundle.push(Modification::InstallGroup(new));
                }
                Change::Delete(old) => unused.push(GroupMod::Delete(old.id()).into()),
            }
        }
        let (gone, here): (Vec<_>, Vec<_>) =
            changes.flows.into_iter().partition(|change| matches!(change, Change::Delete(_)));
        // Where it takes several bundles, packets see what the first of them have done: the table that they enter
        // opens last and closes first, and what has priority is there before what it makes an exception to.
        plan.bundle.extend(here.iter().rev().chain(&gone).map(flow_mod));
        plan.bundle.extend(unused);
        plan
    }

    /// What brings changes of flows to such a switch in the order in which they come.
    pub(crate) fn in_order(changes: &[Change<PackedFlow>]) -> Self {
        Self { bundle: changes.iter().map(flow_mod).collect(), ..Self::default() }
    }

    /// Whether all of it happens or nothing.
    pub(crate) fn is_at_once(&self) -> bool {
        self.meters_before.is_empty()
            && self.meters_after.is_empty()
            && Size::of(&self.bundle).messages <= BUNDLE_LIMIT
    }
}

/// A flow that takes the place of another is added: OVS goes on with the counters of that one, and unlike a change of
/// actions it does not depend on what was there.
fn flow_mod(change: &Change<PackedFlow>) -> Modification {
    match change {
        Change::Add(new) | Change::Replace { new, .. } => Modification::AddFlow(new.clone()),
        Change::Delete(old) => Modification::DeleteFlow(old.clone()),
    }
}

#[cfg(test)]
mod tests {
    use antrea_openflow::{
        Action, Bucket, BucketId, Cookie, Flow, FlowPriority, Group, GroupId, GroupKind, Match, MeterFlags,
        MeterId, TableId,
    };
    use antrea_types::OfPort;

    use super::*;
    use crate::flow_store::{FlowSet, FlowStore};
    use crate::round::Round;

    fn flow(port: u32) -> Flow {
        let matching = Match::new().in_port(OfPort(port));
        Flow::new(TableId(1), FlowPriority(200)).matching(matching).cookie(Cookie(0x100_0000_0000))
    }

    fn text(plan: &Plan) -> Vec<String> {
        let meters = |text: &str, mods: &[MeterMod]| -> Vec<String> {
            mods.iter()
                .map(|meter| format!("{text} {meter:?}").split('(').next().unwrap_or_default().to_owned())
                .collect()
        };
        let bundle = plan.bundle.iter().map(ToString::to_string).collect();
        [meters("before:", &plan.meters_before), bundle, meters("after:", &plan.meters_after)].concat()
    }

    fn with_group() -> FlowSet {
        let bucket = Bucket::new(BucketId(0), vec![Action::resubmit(TableId(2))]);
        FlowSet {
            flows: vec![flow(1).action(Action::Group(GroupId(7)))],
            groups: vec![Group { id: GroupId(7), kind: GroupKind::All, buckets: vec![bucket] }],
            meters: vec![Meter { id: MeterId(256), flags: MeterFlags::PKTPS, bands: vec![] }],
        }
    }

    #[test]
    fn nothing_refers_to_what_is_not_there() {
        let mut store = FlowStore::new(Round(1));
        let plan = Plan::of(store.set(&"a".into(), with_group()));
        assert_eq!(
            text(&plan),
            [
                "before: Add",
                "group 7",
                "flow ADD table:1 priority=200,in_port=1 cookie:0x1010000000000 actions=group:7",
            ]
        );
        let plan = Plan::of(store.remove(&"a".into()));
        assert_eq!(
            text(&plan),
            ["flow DEL_STRICT table:1 priority=200,in_port=1 actions=drop", "group 7", "after: Delete"]
        );
    }

    #[test]
    fn what_takes_the_place_of_another_is_added() {
        let mut store = FlowStore::new(Round(1));
        let mut change = |flow: Flow| text(&Plan::of(store.set(&"a".into(), vec![flow].into())));
        change(flow(1));
        assert_eq!(
            change(flow(1).action(Action::NORMAL)),
            ["flow ADD table:1 priority=200,in_port=1 cookie:0x1010000000000 actions=NORMAL"]
        );
    }

    #[test]
    fn the_table_that_packets_enter_opens_last_and_closes_first() {
        let at = |table, priority| Flow::new(TableId(table), FlowPriority(priority));
        let mut store = FlowStore::new(Round(1));
        store.set(&"a".into(), vec![at(3, 1), at(3, 2)].into());
        let plan = Plan::of(store.set(&"a".into(), vec![at(0, 1), at(0, 2), at(2, 5), at(2, 9)].into()));
        assert_eq!(
            text(&plan),
            [
                "flow ADD table:2 priority=9 cookie:0x1000000000000 actions=drop",
                "flow ADD table:2 priority=5 cookie:0x1000000000000 actions=drop",
                "flow ADD priority=2 cookie:0x1000000000000 actions=drop",
                "flow ADD priority=1 cookie:0x1000000000000 actions=drop",
                "flow DEL_STRICT table:3 priority=1 actions=drop",
                "flow DEL_STRICT table:3 priority=2 actions=drop",
            ]
        );
    }
}
