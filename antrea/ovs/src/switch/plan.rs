//! From what changes in the store to what is sent to the switch.

use std::sync::Arc;

use antrea_openflow::{Flow, FlowMod, Group, GroupMod, MeterMod};

use crate::flow_store::{FlowChanges, FlowStore};
use crate::modification::Modification;
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
                Change::Add(new) => plan.meters_before.push(MeterMod::Add(owned(new))),
                Change::Replace { new, .. } => plan.meters_before.push(MeterMod::Modify(owned(new))),
                Change::Delete(old) => plan.meters_after.push(MeterMod::Delete(old.id)),
            }
        }
        let mut unused = Vec::new();
        for change in changes.groups {
            match change {
                Change::Add(new) | Change::Replace { new, .. } => plan.bundle.extend(install(owned(new))),
                Change::Delete(old) => unused.push(Modification::Group(GroupMod::Delete(old.id))),
            }
        }
        plan.bundle.extend(changes.flows.into_iter().map(|change| Modification::Flow(flow_mod(change))));
        plan.bundle.extend(unused);
        plan
    }
}

/// What brings all groups and flows to a switch, whatever it has, and takes `surplus` away.
pub(crate) fn everything<'a>(
    store: &'a FlowStore,
    surplus: Vec<Flow>,
) -> impl Iterator<Item = Modification> + Send + 'a {
    let groups = store.groups().flat_map(|group| install(Group::clone(group)));
    let flows = store.flows().map(|flow| Modification::Flow(FlowMod::add(Flow::clone(flow))));
    groups.chain(flows).chain(surplus.into_iter().map(|flow| Modification::Flow(delete(flow))))
}

fn install(group: Group) -> impl Iterator<Item = Modification> {
    GroupMod::install(group).into_iter().map(Modification::Group)
}

/// Where only actions differ, the flow is modified: it keeps its counters and its age.
fn flow_mod(change: Change<Flow>) -> FlowMod {
    match change {
        Change::Add(new) => FlowMod::add(owned(new)),
        Change::Replace { old, new } if differ_in_actions_only(&old, &new) => {
            FlowMod::modify_strict(owned(new))
        }
        Change::Replace { new, .. } => FlowMod::add(owned(new)),
        Change::Delete(old) => delete(owned(old)),
    }
}

fn differ_in_actions_only(old: &Flow, new: &Flow) -> bool {
    let rest = |flow: &Flow| (flow.cookie, flow.idle_timeout, flow.hard_timeout, flow.importance, flow.flags);
    rest(old) == rest(new)
}

fn delete(flow: Flow) -> FlowMod {
    FlowMod::delete_strict(flow.table, flow.priority, flow.matching)
}

fn owned<T: Clone>(shared: Arc<T>) -> T {
    Arc::unwrap_or_clone(shared)
}

#[cfg(test)]
mod tests {
    use antrea_openflow::{
        Action, Bucket, BucketId, Cookie, FlowPriority, GroupId, GroupKind, Match, Meter, MeterFlags,
        MeterId, TableId,
    };
    use antrea_types::OfPort;

    use super::*;
    use crate::flow_store::FlowSet;
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
    fn a_flow_is_modified_where_only_its_actions_differ() {
        let mut store = FlowStore::new(Round(1));
        let mut change = |flow: Flow| text(&Plan::of(store.set(&"a".into(), vec![flow].into())));
        change(flow(1));
        assert_eq!(
            change(flow(1).action(Action::NORMAL)),
            ["flow MOD_STRICT table:1 priority=200,in_port=1 actions=NORMAL"]
        );
        let other_cookie = flow(1).action(Action::NORMAL).cookie(Cookie(0x200_0000_0000));
        assert_eq!(
            change(other_cookie),
            ["flow ADD table:1 priority=200,in_port=1 cookie:0x1020000000000 actions=NORMAL"]
        );
    }

    #[test]
    fn everything_is_groups_then_flows_then_what_is_surplus() {
        let mut store = FlowStore::new(Round(1));
        store.set(&"a".into(), with_group());
        let all: Vec<_> =
            everything(&store, vec![flow(9)]).map(|modification| modification.to_string()).collect();
        assert_eq!(
            all,
            [
                "group 7",
                "flow ADD table:1 priority=200,in_port=1 cookie:0x1010000000000 actions=group:7",
                "flow DEL_STRICT table:1 priority=200,in_port=9 actions=drop",
            ]
        );
    }
}
