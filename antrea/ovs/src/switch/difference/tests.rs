//! Comparisons with switches that have something else.

use antrea_openflow::message::{FlowEntry, FlowStatistics, More, MultipartReply, ReplyBody};
use antrea_openflow::{
    Action, Bucket, BucketId, Cookie, Flow, FlowPriority, Group, GroupKind, Learn, Match, Message, Xid,
};
use antrea_types::OfPort;

use super::*;
use crate::flow_store::{FlowSet, Members};
use crate::switch::left_out::LeftOut;
use crate::switch::owed::Owed;

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

fn reply(body: ReplyBody) -> Vec<u8> {
    let mut out = Vec::new();
    Message::MultipartReply(MultipartReply { more: More::Last, body }).encode(Xid(1), &mut out).unwrap();
    out
}

/// What a switch with these flows and groups gets; each comes in a message of its own.
fn text(store: &FlowStore, leftovers: Leftovers, flows: &[Flow], groups: &[Group]) -> Vec<String> {
    text_but(&Kept::default(), store, leftovers, flows, groups).0
}

/// The same where something is kept; and how many flows are.
fn text_but(
    kept: &Kept,
    store: &FlowStore,
    leftovers: Leftovers,
    flows: &[Flow],
    groups: &[Group],
) -> (Vec<String>, usize) {
    let mut comparison = Comparison::of(store, leftovers, Rounds::All { stale: None }, kept);
    for group in groups {
        comparison.groups(&reply(ReplyBody::Groups(vec![group.clone()]))).unwrap();
    }
    for flow in flows {
        let entry = FlowEntry { flow: flow.clone(), statistics: FlowStatistics::default() };
        comparison.flows(&reply(ReplyBody::Flows(vec![entry]))).unwrap();
    }
    let kept = comparison.kept_flows();
    (comparison.difference().members().map(|member| member.to_string()).collect(), kept)
}

#[test]
fn an_empty_switch_gets_groups_then_flows_and_the_table_that_packets_enter_last() {
    assert_eq!(
        text(&store(), Leftovers::Deleted, &[], &[]),
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
    let flows =
        [there(flow(0, 9)), there(flow(1, 3)), there(flow(0, 1)), there(flow(0, 2)).action(Action::NORMAL)];
    let text = |leftovers| text(&store(), leftovers, &flows, &[group(8, 1), group(7, 2), group(9, 1)]);
    let wanted = ["group 7", "flow ADD priority=200,in_port=2 cookie:0x1000000000000 actions=drop"];
    assert_eq!(text(Leftovers::Kept), wanted);
    let surplus = ["flow DEL_STRICT priority=200,in_port=9 actions=drop", "group 9"];
    assert_eq!(text(Leftovers::Deleted), [wanted, surplus].concat());
}

#[test]
fn what_the_switch_has_learned_is_not_surplus() {
    let mut store = FlowStore::new(Round(1));
    let learn = Learn { table: TableId(4), cookie: Cookie(7), ..Learn::default() };
    let set = vec![flow(0, 1).action(learn)];
    store.set(&"a".into(), set.into());
    let wanted: Vec<Flow> = store.flows().map(|flow| flow.unpack().unwrap()).collect();
    let learned = flow(4, 1).cookie(Cookie(7));
    let others = [there(flow(4, 2)), flow(5, 1).cookie(Cookie(7))];
    assert_eq!(
        text(&store, Leftovers::Deleted, &[wanted, vec![learned], others.to_vec()].concat(), &[]),
        [
            "flow DEL_STRICT table:4 priority=200,in_port=2 actions=drop",
            "flow DEL table:5 cookie:0x0/0xffff000000000000 actions=drop",
        ],
        "what it has not learned is"
    );
}

#[test]
fn flows_of_other_rounds_go_from_each_table_at_once() {
    let wanted: Vec<Flow> = store().flows().map(|flow| flow.unpack().unwrap()).collect();
    let others = [2, 2, 3].map(|round| flow(1, 9).cookie(Cookie(round << 48)));
    let flows = [wanted, others.to_vec()].concat();
    assert_eq!(
        text(&store(), Leftovers::Deleted, &flows, &[group(7, 1), group(8, 1)]),
        [
            "flow DEL table:1 cookie:0x2000000000000/0xffff000000000000 actions=drop",
            "flow DEL table:1 cookie:0x3000000000000/0xffff000000000000 actions=drop",
        ]
    );
}

#[test]
fn of_flows_of_other_rounds_those_of_sets_that_are_owed_stay_and_no_others() {
    let mut owed = Owed::default();
    let set = FlowSet { flows: vec![flow(1, 8), flow(2, 8)], groups: vec![group(9, 1)], meters: vec![] };
    owed.refuse("b".into(), Members::pack(set, Round(1)));
    let of_other = |table, port| flow(table, port).cookie(Cookie(2 << 48));
    // One whose place is taken, two that nobody wants, one that is owed, and one of a table where nothing is.
    let flows = [of_other(1, 3), of_other(1, 9), of_other(1, 8), of_other(2, 7), of_other(3, 8)];
    let groups = [group(7, 1), group(8, 1), group(9, 1), group(10, 1)];
    let kept = owed.kept(&LeftOut::default());
    let expected = [
        "flow ADD table:1 priority=200,in_port=3 cookie:0x1000000000000 actions=drop",
        "flow ADD priority=200,in_port=2 cookie:0x1000000000000 actions=drop",
        "flow ADD priority=200,in_port=1 cookie:0x1000000000000 actions=drop",
        "flow DEL_STRICT table:1 priority=200,in_port=9 actions=drop",
        "flow DEL_STRICT table:2 priority=200,in_port=7 actions=drop",
        "flow DEL table:3 cookie:0x2000000000000/0xffff000000000000 actions=drop",
        "group 10",
    ];
    let (text, count) = text_but(&kept, &store(), Leftovers::Deleted, &flows, &groups);
    assert_eq!((text, count), (expected.map(str::to_owned).to_vec(), 1));
}
