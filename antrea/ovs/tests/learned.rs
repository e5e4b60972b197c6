//! What the switch has learned outlives agents, and so do groups that the next agent asks for again.

use antrea_openflow::message::{FlowFilter, PacketOut};
use antrea_openflow::{
    Action, Bucket, BucketId, Cookie, Field, Flow, FlowPriority, Group, GroupId, GroupKind, Learn,
    LearnFlags, LearnSpec, TableId,
};
use antrea_ovs::testing::OvsProcess;
use antrea_ovs::{FlowSet, Switch};
use antrea_types::OfPort;

use crate::fixture::{BRIDGE, dump_flows, soon};
use crate::switch::{flow, pod, start, switch};

const LEARNED: TableId = TableId(7);
/// A category and the number of a group, and no round.
const COOKIE: Cookie = Cookie(3 << 40 | 5);

/// A set with a flow that learns, and with one in the table that it learns into.
fn affinity(timeout: u16) -> FlowSet {
    let learn = Learn {
        table: LEARNED,
        priority: FlowPriority(200),
        cookie: COOKIE,
        hard_timeout: timeout,
        flags: LearnFlags::DELETE_LEARNED,
        specs: vec![LearnSpec::same(Field::EthSrc)],
        ..Learn::default()
    };
    let otherwise = Flow::new(LEARNED, FlowPriority(0)).cookie(Cookie(1 << 40));
    vec![flow(1).cookie(COOKIE).action(learn), otherwise].into()
}

/// Sends a packet that is learned from.
async fn client(switch: &Switch) {
    let packet = [[0xff; 6].as_slice(), &[2, 0, 0, 0, 0, 1], &[0x88, 0xb5], &[7; 50]].concat();
    let out = PacketOut::new(OfPort(1), packet).action(Action::resubmit(TableId(0)));
    switch.connection().current().unwrap().packet_out(out).await.unwrap();
}

fn learned(ovs: &OvsProcess) -> Vec<String> {
    let flows = dump_flows(ovs);
    flows.into_iter().filter(|flow| flow.starts_with("cookie=0x30000000005,")).collect()
}

const ENTRY: &str =
    "cookie=0x30000000005, table=7, hard_timeout=300, priority=200,dl_src=02:00:00:00:00:01 actions=drop";

#[tokio::test]
async fn what_was_learned_outlives_the_agent_and_goes_with_the_set() {
    let Some((ovs, _database, first)) = start(1).await else { return };
    first.apply("service/a", affinity(300)).await.unwrap();
    first.apply("pod/a", pod(2)).await.unwrap();
    first.delete_stale(None).await.unwrap();
    client(&first).await;
    assert_eq!(learned(&ovs), [ENTRY]);
    first.resync().await.unwrap();
    assert_eq!(learned(&ovs), [ENTRY], "it is not surplus");
    drop(first);
    let second = switch(&ovs, 2);
    second.apply("service/a", affinity(300)).await.unwrap();
    second.delete_stale(None).await.unwrap();
    assert_eq!(learned(&ovs), [ENTRY]);
    assert_eq!(dump_flows(&ovs).len(), 3, "what nobody asked for again went: {:?}", dump_flows(&ovs));
    assert_eq!(second.resync().await.unwrap(), 0);
    second.remove("service/a").await.unwrap();
    assert_eq!(dump_flows(&ovs), Vec::<String>::new());
}

#[tokio::test]
async fn what_was_learned_goes_when_nobody_asks_for_its_set_again() {
    let Some((ovs, _database, first)) = start(1).await else { return };
    first.apply("service/a", affinity(300)).await.unwrap();
    client(&first).await;
    assert_eq!(learned(&ovs), [ENTRY]);
    drop(first);
    let second = switch(&ovs, 2);
    second.apply("pod/a", pod(2)).await.unwrap();
    second.delete_stale(None).await.unwrap();
    assert_eq!(dump_flows(&ovs), ["cookie=0x2010000000000, priority=200,in_port=2 actions=NORMAL"]);
}

fn group(buckets: u32, table: u8) -> Group {
    let actions = |id: u32| {
        let set = |field: Field, value: u32| {
            let (value, mask) = (value.into(), field.full_mask());
            Action::SetField(antrea_openflow::SetField { field, value, mask })
        };
        vec![
            set(Field::Reg3, id),
            set(Field::Reg5, 1),
            set(Field::Xxreg3, id),
            Action::resubmit(TableId(table)),
        ]
    };
    let bucket = |id| Bucket::new(BucketId(id), actions(id)).weight(100);
    Group { id: GroupId(5), kind: GroupKind::Select, buckets: (0..buckets).map(bucket).collect() }
}

fn service(buckets: u32, table: u8) -> FlowSet {
    FlowSet {
        flows: vec![flow(9).action(Action::Group(GroupId(5)))],
        groups: vec![group(buckets, table)],
        meters: Vec::new(),
    }
}

#[tokio::test]
async fn groups_of_an_earlier_agent_can_be_read_and_are_kept_when_asked_for_again() {
    let Some((ovs, _database, first)) = start(1).await else { return };
    first.apply("service/a", service(10, 1)).await.unwrap();
    drop(first);
    let second = switch(&ovs, 2);
    soon("the switch is there", second.realized()).await.unwrap();
    let channel = second.connection().current().unwrap();
    assert_eq!(channel.group_ids().await.unwrap(), [GroupId(5)].into());
    let flows = channel.dump_flows(FlowFilter::table(TableId(0))).await.unwrap();
    assert_eq!(flows.len(), 1, "flows of the earlier agent are there to be read");
    let before = ovs.ofctl(["dump-group-stats", BRIDGE]).unwrap();
    assert!(before.contains("bucket9"), "{before}");
    second.apply("service/a", service(10, 1)).await.unwrap();
    second.delete_stale(None).await.unwrap();
    assert_eq!(second.resync().await.unwrap(), 0);
    assert_eq!(channel.dump_groups().await.unwrap(), [group(10, 1)]);
}

/// Open vSwitch cannot describe such a group, and the connection would be lost when it tries.
#[tokio::test]
async fn groups_of_a_thousand_buckets_are_compared_by_their_number() {
    let Some((ovs, _database, first)) = start(1).await else { return };
    let other = Group { id: GroupId(6), ..group(3, 1) };
    first.apply("service/a", service(1000, 1)).await.unwrap();
    first.apply("service/b", FlowSet { groups: vec![other.clone()], ..FlowSet::default() }).await.unwrap();
    assert_eq!(first.resync().await.unwrap(), 0);
    ovs.ofctl(["mod-group", BRIDGE, "group_id=5,type=select,bucket=actions=drop"]).unwrap();
    ovs.ofctl(["del-groups", BRIDGE, "group_id=6"]).unwrap();
    assert_eq!(first.resync().await.unwrap(), 2);
    let buckets = || ovs.ofctl(["dump-group-stats", BRIDGE]).unwrap().matches("bucket").count();
    assert_eq!(buckets(), 1003);
    drop(first);
    // Its buckets are others: what is there of an earlier agent is not trusted.
    let second = switch(&ovs, 2);
    second.apply("service/a", service(1000, 2)).await.unwrap();
    second.delete_stale(None).await.unwrap();
    assert_eq!(second.resync().await.unwrap(), 0);
    let channel = second.connection().current().unwrap();
    assert_eq!(channel.generation(), 1);
    assert_eq!((buckets(), channel.group_ids().await.unwrap()), (1000, [GroupId(5)].into()));
}

/// Whoever asks meanwhile sees the group as it was or as it is.
#[tokio::test]
async fn a_group_in_several_messages_changes_at_once() {
    let Some((ovs, _database, first)) = start(1).await else { return };
    first.apply("service/a", service(1000, 1)).await.unwrap();
    let change = async {
        for number in 0..40_u8 {
            first.apply("service/a", service(1000 + u32::from(number % 2), number % 4)).await.unwrap();
        }
    };
    let (connection, _) = antrea_ovs::openflow::Connection::open(ovs.management_socket(BRIDGE));
    let channel = soon("the switch answers", connection.connected()).await.unwrap();
    let mut seen = std::collections::BTreeSet::new();
    let observe = async {
        loop {
            seen.extend(channel.group_sizes().await.unwrap().into_iter().map(|group| group.buckets));
        }
    };
    tokio::select! {
        () = change => {}
        () = observe => {}
    }
    assert_eq!(seen, [1000, 1001].into());
}
