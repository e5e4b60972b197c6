//! The owner of all flows of a bridge, through restarts and refusals.

use std::time::Instant;

use antrea_openflow::{
    Action, Band, Bucket, BucketId, Cookie, Flow, FlowPriority, Group, GroupId, GroupKind, Match, Meter,
    MeterFlags, MeterId, TableId,
};
use antrea_ovs::openflow::Connection;
use antrea_ovs::ovsdb::OvsDb;
use antrea_ovs::testing::OvsProcess;
use antrea_ovs::{FlowEdit, FlowSet, Round, Switch};
use antrea_types::OfPort;

use crate::fixture::{BRIDGE, dump_flows, soon, start_with_bridge};

pub(crate) fn switch(ovs: &OvsProcess, round: u16) -> Switch {
    let (connection, _) = Connection::open(ovs.management_socket(BRIDGE));
    Switch::new(connection, Round(round), vec![(TableId(0), "PipelineRootClassifier".to_owned())])
}

pub(crate) async fn start(round: u16) -> Option<(OvsProcess, OvsDb, Switch)> {
    let (ovs, database) = start_with_bridge().await?;
    let switch = switch(&ovs, round);
    soon("the switch is there", switch.realized()).await.unwrap();
    Some((ovs, database, switch))
}

pub(crate) fn flow(port: u32) -> Flow {
    Flow::new(TableId(0), FlowPriority(200))
        .matching(Match::new().in_port(OfPort(port)))
        .cookie(Cookie(1 << 40))
}

pub(crate) fn pod(port: u32) -> FlowSet {
    vec![flow(port).action(Action::NORMAL)].into()
}

/// A flow that uses a group and a meter.
pub(crate) fn service() -> FlowSet {
    let bucket = Bucket::new(BucketId(0), vec![Action::resubmit(TableId(1))]).weight(100);
    FlowSet {
        flows: vec![flow(9).action(Action::Meter(MeterId(1))).action(Action::Group(GroupId(5)))],
        groups: vec![Group { id: GroupId(5), kind: GroupKind::Select, buckets: vec![bucket] }],
        meters: vec![Meter {
            id: MeterId(1),
            flags: MeterFlags::PKTPS,
            bands: vec![Band { rate: 100, burst: 0 }],
        }],
    }
}

#[tokio::test]
async fn sets_are_installed_changed_and_removed() {
    let Some((ovs, _database, switch)) = start(1).await else { return };
    switch.apply("pod/a", pod(1)).await.unwrap();
    switch.apply("pod/b", pod(2)).await.unwrap();
    switch.apply("pod/a", vec![flow(3)]).await.unwrap();
    let b = "cookie=0x1010000000000, priority=200,in_port=2 actions=NORMAL";
    assert_eq!(dump_flows(&ovs), [b, "cookie=0x1010000000000, priority=200,in_port=3 actions=drop"]);
    switch.remove("pod/a").await.unwrap();
    assert_eq!(dump_flows(&ovs), [b]);
}

#[tokio::test]
async fn groups_and_meters_come_before_and_go_after_the_flows_that_use_them() {
    let Some((ovs, _database, switch)) = start(1).await else { return };
    for _ in 0..2 {
        switch.apply("service/a", service()).await.unwrap();
    }
    assert_eq!(dump_flows(&ovs), ["cookie=0x1010000000000, priority=200,in_port=9 actions=meter:1,group:5"]);
    switch.remove("service/a").await.unwrap();
    assert_eq!(dump_flows(&ovs), Vec::<String>::new());
    assert!(!ovs.ofctl(["dump-groups", BRIDGE]).unwrap().contains("group_id"));
    assert!(!ovs.ofctl(["dump-meters", BRIDGE]).unwrap().contains("meter="));
}

#[tokio::test]
async fn groups_are_on_the_switch_as_they_were_asked_for() {
    let Some((ovs, _database, switch)) = start(1).await else { return };
    for (id, kind) in [(5, GroupKind::Select), (6, GroupKind::SelectByConnection), (7, GroupKind::All)] {
        let bucket = Bucket::new(BucketId(0), vec![Action::resubmit(TableId(1))]).weight(100);
        let buckets = vec![if kind == GroupKind::All { Bucket { weight: None, ..bucket } } else { bucket }];
        let groups = vec![Group { id: GroupId(id), kind, buckets }];
        switch.apply(format!("service/{id}"), FlowSet { groups, ..FlowSet::default() }).await.unwrap();
    }
    let text = ovs.ofctl(["dump-groups", BRIDGE]).unwrap();
    let by_connection =
        "group_id=6,type=select,selection_method=dp_hash,bucket=bucket_id:0,weight:100,actions=resubmit(,1)";
    assert!(text.contains(by_connection), "{text}");
    assert_eq!(switch.resync().await.unwrap(), 0);
}

#[tokio::test]
async fn a_refused_set_is_what_it_was_before() {
    let Some((ovs, _database, switch)) = start(1).await else { return };
    switch.apply("pod/a", pod(1)).await.unwrap();
    let before = dump_flows(&ovs);
    let invalid = vec![flow(2), flow(3).action(Action::Group(GroupId(99)))];
    let error = switch.apply("pod/a", invalid).await.unwrap_err();
    assert!(error.to_string().contains("in_port=3"), "{error}");
    assert_eq!(dump_flows(&ovs), before);
    assert_eq!(switch.get("pod/a").await.flows.len(), 1);
}

#[tokio::test]
async fn single_flows_of_a_set_are_changed() {
    let Some((ovs, _database, switch)) = start(1).await else { return };
    let put = |port| FlowEdit::Put(flow(port).action(Action::NORMAL));
    switch.edit("policies", vec![put(1), put(2)]).done().await.unwrap();
    let edits = vec![FlowEdit::Remove(flow(2)), FlowEdit::Put(flow(1)), put(3), FlowEdit::Remove(flow(9))];
    switch.edit("policies", edits).done().await.unwrap();
    let first = "cookie=0x1010000000000, priority=200,in_port=1 actions=drop";
    let third = "cookie=0x1010000000000, priority=200,in_port=3 actions=NORMAL";
    assert_eq!(dump_flows(&ovs), [first, third]);
    assert_eq!(switch.resync().await.unwrap(), 0);
}

#[tokio::test]
async fn of_edits_all_but_the_refused_flow_is_there() {
    let Some((ovs, _database, switch)) = start(1).await else { return };
    let put = |port| FlowEdit::Put(flow(port));
    let refused = FlowEdit::Put(flow(3).action(Action::Group(GroupId(99))));
    switch.edit("policies", vec![put(1), put(2)]).done().await.unwrap();
    let edits = vec![FlowEdit::Remove(flow(2)), refused, put(4), FlowEdit::Remove(flow(1)), put(1)];
    let error = switch.edit("policies", edits).done().await.unwrap_err();
    assert!(error.to_string().contains("in_port=3"), "{error}");
    let of_port = |port| format!("cookie=0x1010000000000, priority=200,in_port={port} actions=drop");
    assert_eq!(dump_flows(&ovs), [1, 4].map(of_port));
    assert!(!switch.has("policies").await);
    switch.edit("policies", vec![FlowEdit::Remove(flow(3))]).done().await.unwrap();
    assert!(switch.has("policies").await);
}

#[tokio::test]
async fn edits_that_take_several_bundles_are_made_in_their_order() {
    let Some((ovs, _database, switch)) = start(1).await else { return };
    let edits = (1..=20_001).map(|port| FlowEdit::Put(flow(port))).collect();
    switch.edit("policies", edits).done().await.unwrap();
    let edits = (1..=20_000).map(|port| FlowEdit::Remove(flow(port))).collect();
    switch.edit("policies", edits).done().await.unwrap();
    assert_eq!(dump_flows(&ovs), ["cookie=0x1010000000000, priority=200,in_port=20001 actions=drop"]);
}

#[tokio::test]
async fn of_sets_that_come_at_once_only_the_refused_one_is_left_out() {
    let Some((ovs, _database, switch)) = start(1).await else { return };
    switch.apply("pod/7", pod(7)).await.unwrap();
    let set = |port: u32| match port {
        7 => vec![flow(70), flow(71).action(Action::Group(GroupId(99)))].into(),
        port => pod(port),
    };
    let applied = (1..=60).map(|port| switch.apply(format!("pod/{port}"), set(port)));
    let outcomes = futures::future::join_all(applied).await;
    for (port, outcome) in (1..=60).zip(outcomes) {
        assert_eq!(outcome.is_ok(), port != 7, "{port}: {outcome:?}");
    }
    assert_eq!(dump_flows(&ovs).len(), 60);
    assert_eq!(switch.get("pod/7").await.flows.len(), 1, "it is what it was");
}

#[tokio::test]
async fn of_sets_that_take_several_bundles_only_the_refused_ones_are_left_out() {
    const FLOWS: u32 = 10;
    let Some((ovs, _database, switch)) = start(1).await else { return };
    let broken = [7, 1400, 1401];
    let set = |number: u32| {
        let flows = (0..FLOWS).map(|index| flow(number * FLOWS + index));
        let refused = flow(100_000 + number).action(Action::Group(GroupId(99)));
        flows.chain(broken.contains(&number).then_some(refused)).collect::<Vec<_>>()
    };
    let asked: Vec<_> =
        (0..2000).map(|number| switch.ask(format!("service/{number}"), set(number))).collect();
    for (number, asked) in (0..).zip(asked) {
        assert_eq!(asked.done().await.is_err(), broken.contains(&number), "{number}");
    }
    let keys = || (0..2000).map(|number| format!("service/{number}").into());
    let missing = broken.map(|number| format!("service/{number}").into());
    assert_eq!(switch.missing(keys()).await, missing);
    let totals = ovs.ofctl(["dump-aggregate", BRIDGE]).unwrap();
    assert!(totals.contains("flow_count=19970"), "{totals}");
    assert_eq!(switch.resync().await.unwrap(), 0);
}

#[tokio::test]
async fn of_changes_of_one_set_that_come_at_once_the_last_counts() {
    let Some((ovs, _database, switch)) = start(1).await else { return };
    let sets = [pod(1), pod(2), FlowSet::default(), pod(3)];
    futures::future::try_join_all(sets.map(|set| switch.apply("pod/a", set))).await.unwrap();
    assert_eq!(dump_flows(&ovs), ["cookie=0x1010000000000, priority=200,in_port=3 actions=NORMAL"]);
}

#[tokio::test]
async fn everything_comes_back_after_the_switch_was_killed() {
    let Some((mut ovs, _database, switch)) = start(1).await else { return };
    switch.apply("pod/a", pod(1)).await.unwrap();
    switch.apply("service/a", service()).await.unwrap();
    let before = dump_flows(&ovs);
    assert!(switch.is_realized());
    let mut channel = switch.connection().channel();
    ovs.kill_switch().unwrap();
    soon("the loss is noticed", channel.wait_for(Option::is_none)).await.unwrap();
    assert!(!switch.is_realized());
    // Asked for while the switch is away: it waits until the switch has it.
    let (change, restart) =
        tokio::join!(soon("the change is installed", switch.remove("pod/a")), async { ovs.start_switch() });
    change.unwrap();
    restart.unwrap();
    assert_eq!(dump_flows(&ovs), before[1..]);
    assert!(switch.is_realized());
    let named = ovs.ofctl(["--names", "--no-stats", "dump-flows", BRIDGE]).unwrap();
    assert!(named.contains("table=PipelineRootClassifier"), "tables have their names again: {named}");
}

#[tokio::test]
async fn what_nobody_wants_goes_once_all_of_the_round_has_been_asked_for() {
    let Some((ovs, database, switch)) = start(1).await else { return };
    switch.apply("pod/a", pod(1)).await.unwrap();
    switch.delete_stale(None).await.unwrap();
    // A flow of ours that nobody wants any more, and one of somebody else.
    ovs.ofctl(["add-flow", BRIDGE, "cookie=0x1010000000000,priority=200,in_port=7,actions=NORMAL"]).unwrap();
    ovs.ofctl(["add-flow", BRIDGE, "cookie=0x2,priority=200,in_port=8,actions=NORMAL"]).unwrap();
    switch.resync().await.unwrap();
    let wanted = [
        "cookie=0x1010000000000, priority=200,in_port=1 actions=NORMAL",
        "cookie=0x2, priority=200,in_port=8 actions=NORMAL",
    ];
    assert_eq!(dump_flows(&ovs), wanted);
    drop(database);
}

#[tokio::test]
async fn flows_of_earlier_rounds_are_deleted_when_told() {
    let Some((ovs, _database, first)) = start(65535).await else { return };
    first.apply("pod/a", pod(1)).await.unwrap();
    first.apply("pod/b", pod(2)).await.unwrap();
    first.apply("service/a", service()).await.unwrap();
    drop(first);
    let second = switch(&ovs, 0);
    soon("the new one is there", second.apply("pod/a", pod(1))).await.unwrap();
    assert_eq!(dump_flows(&ovs).len(), 3, "nothing goes before it is time");
    second.delete_stale(Some(Round(65535))).await.unwrap();
    let kept = ["cookie=0x10000000000, priority=200,in_port=1 actions=NORMAL"];
    assert_eq!(dump_flows(&ovs), kept);
    assert!(!ovs.ofctl(["dump-groups", BRIDGE]).unwrap().contains("group_id"));
    ovs.ofctl(["add-flow", BRIDGE, "cookie=0x7010000000000,priority=200,in_port=7,actions=NORMAL"]).unwrap();
    second.delete_stale(None).await.unwrap();
    assert_eq!(dump_flows(&ovs), kept, "where the previous round is not known, all others go");
}

#[tokio::test]
async fn groups_that_nobody_asked_for_go_once_all_of_the_round_has_been_asked_for() {
    let Some((ovs, _database, switch)) = start(1).await else { return };
    let groups = || ovs.ofctl(["dump-groups", BRIDGE]).unwrap().matches("group_id=").count();
    switch.apply("service/a", service()).await.unwrap();
    ovs.ofctl(["add-group", BRIDGE, "group_id=99,type=all"]).unwrap();
    switch.resync().await.unwrap();
    assert_eq!(groups(), 2, "flows of an earlier round may use it");
    switch.delete_stale(None).await.unwrap();
    assert_eq!(groups(), 1);
    ovs.ofctl(["add-group", BRIDGE, "group_id=99,type=all"]).unwrap();
    switch.resync().await.unwrap();
    assert_eq!(groups(), 1);
}

#[tokio::test]
async fn what_the_switch_refuses_does_not_keep_the_rest_out_of_a_replay() {
    let Some((ovs, _database, switch)) = start(1).await else { return };
    switch.apply("pod/a", pod(1)).await.unwrap();
    ovs.ofctl(["-O", "OpenFlow15", "add-group", BRIDGE, "group_id=99,type=all"]).unwrap();
    switch.apply("theirs", vec![flow(2).action(Action::Group(GroupId(99)))]).await.unwrap();
    // The group goes, and with it the flow; a flow that refers to it is refused from now on.
    ovs.ofctl(["del-groups", BRIDGE, "group_id=99"]).unwrap();
    ovs.ofctl(["del-flows", BRIDGE]).unwrap();
    switch.resync().await.unwrap();
    assert_eq!(dump_flows(&ovs), ["cookie=0x1010000000000, priority=200,in_port=1 actions=NORMAL"]);
}

/// Times are printed, not asserted: they depend on the machine.
#[tokio::test]
async fn a_hundred_thousand_flows_come_back() {
    const FLOWS: u32 = 100_000;
    let Some((mut ovs, _database, switch)) = start(1).await else { return };
    let address = |number: u32| std::net::IpAddr::V4(std::net::Ipv4Addr::from_bits(0x0a00_0000 + number));
    let flows = (0..FLOWS).map(|number| {
        let matching = Match::new().ip(antrea_types::IpFamily::V4).ip_dst(address(number));
        Flow::new(TableId(2), FlowPriority(200))
            .matching(matching)
            .action(Action::Output(OfPort(1)))
            .goto(TableId(3))
    });
    let start = Instant::now();
    switch.apply("many", flows.collect::<Vec<_>>()).await.unwrap();
    println!("{FLOWS} flows installed in {} s", start.elapsed().as_secs_f64());
    let start = Instant::now();
    switch.resync().await.unwrap();
    let seconds = start.elapsed().as_secs_f64();
    println!("{FLOWS} flows compared and replayed over a connection that stayed in {seconds} s");
    let mut channel = switch.connection().channel();
    ovs.kill_switch().unwrap();
    soon("the loss is noticed", channel.wait_for(Option::is_none)).await.unwrap();
    ovs.start_switch().unwrap();
    let start = Instant::now();
    soon("everything is back", switch.realized()).await.unwrap();
    println!("{FLOWS} flows back {} s after the switch is", start.elapsed().as_secs_f64());
    let totals = ovs.ofctl(["dump-aggregate", BRIDGE]).unwrap();
    assert!(totals.contains(&format!("flow_count={FLOWS}")), "{totals}");
}

/// The same.
#[tokio::test]
async fn the_time_to_install_a_pod_is_printed() {
    let Some((_ovs, _database, switch)) = start(1).await else { return };
    let mut times = Vec::new();
    for number in 1..=50 {
        let start = Instant::now();
        switch.apply(format!("pod/{number}"), pod(number)).await.unwrap();
        times.push(start.elapsed());
    }
    times.sort();
    println!("a set of one flow, 50 times one after the other: p50 {:?}, p99 {:?}", times[25], times[49]);
    let start = Instant::now();
    let applied = (51..=110).map(|number| switch.apply(format!("pod/{number}"), pod(number)));
    futures::future::try_join_all(applied).await.unwrap();
    println!("60 such sets at once: {:?}", start.elapsed());
}
