//! What a switch lacks of all that is wanted, and what it has beyond that.

use std::collections::{BTreeMap, HashMap};

use antrea_openflow::{Flow, FlowKey, FlowMod, Group, GroupId, GroupMod};

use super::plan::{delete, install};
use crate::flow_store::FlowStore;
use crate::modification::Modification;

/// The difference between what is wanted and what is there, but for meters.
#[derive(Debug, Default)]
pub(super) struct Difference<'a> {
    /// Missing or different.
    groups: Vec<&'a Group>,
    /// Missing or different; the table that packets enter comes last.
    flows: Vec<&'a Flow>,
    /// Not wanted.
    surplus_flows: Vec<Flow>,
    /// Not wanted.
    surplus_groups: Vec<GroupId>,
}

impl<'a> Difference<'a> {
    /// Compares `store` with the flows of its round and the groups that are there. Flows in tables that others learn
    /// into were made by the switch, and are not surplus.
    pub(super) fn of(store: &'a FlowStore, flows: &[Flow], groups: &[Group]) -> Self {
        let mut difference = Self::default();
        let mut present: HashMap<FlowKey<'_>, &Flow> = flows.iter().map(|flow| (flow.key(), flow)).collect();
        for wanted in store.flows().rev() {
            if present.remove(&wanted.key()) != Some(wanted.as_ref()) {
                difference.flows.push(wanted);
            }
        }
        let learned = store.learned_tables();
        let unwanted = present.into_values().filter(|flow| !learned.contains(&flow.table));
        difference.surplus_flows = unwanted.cloned().collect();
        difference.surplus_flows.sort_unstable();
        let mut present: BTreeMap<GroupId, &Group> = groups.iter().map(|group| (group.id, group)).collect();
        for wanted in store.groups() {
            if present.remove(&wanted.id) != Some(wanted.as_ref()) {
                difference.groups.push(wanted);
            }
        }
        difference.surplus_groups = present.into_keys().collect();
        difference
    }

    /// The same with nothing surplus: while not all has been asked for, what nobody wants may be wanted yet.
    pub(super) fn without_surplus(self) -> Self {
        Self { surplus_flows: Vec::new(), surplus_groups: Vec::new(), ..self }
    }

    /// What makes the switch what it shall be: nothing refers to what is not there yet or not any more.
    pub(super) fn members(self) -> impl Iterator<Item = Modification> + Send + use<'a> {
        let groups = self.groups.into_iter().flat_map(|group| install(group.clone()));
        let flows = self.flows.into_iter().map(|flow| Modification::Flow(FlowMod::add(flow.clone())));
        let gone = self.surplus_flows.into_iter().map(delete);
        let unused = self.surplus_groups.into_iter().map(|id| Modification::Group(GroupMod::Delete(id)));
        groups.chain(flows).chain(gone).chain(unused)
    }
}

#[cfg(test)]
mod tests {
    use antrea_openflow::{Action, Bucket, BucketId, Cookie, FlowPriority, GroupKind, Learn, Match, TableId};
    use antrea_types::OfPort;

    use super::*;
    use crate::flow_store::FlowSet;
    use crate::round::Round;

    fn flow(table: u8, port: u32) -> Flow {
        Flow::new(TableId(table), FlowPriority(200)).matching(Match::new().in_port(OfPort(port)))
    }

    fn there(flow: Flow) -> Flow {
        flow.cookie(Cookie(1 << 48))
    }

    fn group(id: u32, table: u8) -> Group {
        let bucket = Bucket::new(BucketId(0), vec![Action::resubmit(TableId(table))]);
        Group { id: GroupId(id), kind: GroupKind::All, buckets: vec![bucket] }
    }

    fn store() -> FlowStore {
        let mut store = FlowStore::new(Round(1));
        let groups = vec![group(7, 1), group(8, 1)];
        let flows = vec![flow(0, 1), flow(0, 2), flow(1, 3)];
        store.set(&"a".into(), FlowSet { flows, groups, meters: vec![] });
        store
    }

    fn text(difference: Difference<'_>) -> Vec<String> {
        difference.members().map(|member| member.to_string()).collect()
    }

    #[test]
    fn an_empty_switch_gets_groups_then_flows_and_the_table_that_packets_enter_last() {
        assert_eq!(
            text(Difference::of(&store(), &[], &[])),
            [
                "group 7",
                "group 8",
                "flow ADD table:1 priority=200,in_port=3 cookie:0x1000000000000 actions=drop",
                "flow ADD priority=200,in_port=2 cookie:0x1000000000000 actions=drop",
                "flow ADD priority=200,in_port=1 cookie:0x1000000000000 actions=drop",
            ]
        );
    }

    #[test]
    fn what_is_as_wanted_is_not_sent_and_what_is_not_wanted_goes_last() {
        let store = store();
        let flows = [
            there(flow(0, 9)),
            there(flow(1, 3)),
            there(flow(0, 1)),
            there(flow(0, 2)).action(Action::NORMAL),
        ];
        let difference = || Difference::of(&store, &flows, &[group(8, 1), group(7, 2), group(9, 1)]);
        let wanted = ["group 7", "flow ADD priority=200,in_port=2 cookie:0x1000000000000 actions=drop"];
        assert_eq!(text(difference().without_surplus()), wanted);
        let surplus = ["flow DEL_STRICT priority=200,in_port=9 actions=drop", "group 9"];
        assert_eq!(text(difference()), [wanted, surplus].concat());
    }

    #[test]
    fn what_the_switch_has_learned_is_not_surplus() {
        let mut store = FlowStore::new(Round(1));
        let learn = Learn { table: TableId(4), ..Learn::default() };
        store.set(&"a".into(), vec![flow(0, 1).action(learn)].into());
        let wanted: Vec<Flow> = store.flows().map(|flow| Flow::clone(flow)).collect();
        let difference = Difference::of(&store, &[wanted, vec![there(flow(4, 1))]].concat(), &[]);
        assert_eq!(text(difference), Vec::<String>::new());
    }
}
