//! What the owner of all flows does when the switch, or a part of what is wanted, is not as it should be.

use std::time::Duration;

use antrea_openflow::message::PacketOut;
use antrea_openflow::{Action, Flow, GroupId, Meter, MeterFlags, MeterId, TableId};
use antrea_ovs::openflow::Connection;
use antrea_ovs::testing::OvsProcess;
use antrea_ovs::{FlowSet, Round, Switch};
use antrea_types::OfPort;

use crate::fixture::{BRIDGE, dump_flows, soon, start_with_bridge};
use crate::switch::{flow, pod, service, start, switch};

const POD_1: &str = "cookie=0x1010000000000, priority=200,in_port=1 actions=NORMAL";

/// A flow that is refused while there is no group 99.
fn refused(port: u32) -> Flow {
    flow(port).action(Action::Group(GroupId(99)))
}

/// Kills ovs-vswitchd and waits until that is noticed.
async fn lose(ovs: &mut OvsProcess, switch: &Switch) {
    let mut channel = switch.connection().channel();
    ovs.kill_switch().unwrap();
    soon("the loss is noticed", channel.wait_for(Option::is_none)).await.unwrap();
}

#[tokio::test]
async fn flows_of_an_interrupted_round_stay_until_all_of_it_has_been_asked_for_again() {
    let Some((ovs, _database, first)) = start(1).await else { return };
    first.apply("pod/a", pod(1)).await.unwrap();
    first.apply("pod/b", pod(2)).await.unwrap();
    let before = dump_flows(&ovs);
    drop(first);
    let second = switch(&ovs, 1);
    soon("the new one is there", second.realized()).await.unwrap();
    assert_eq!(dump_flows(&ovs), before);
    second.apply("pod/a", pod(1)).await.unwrap();
    assert_eq!(dump_flows(&ovs), before);
    second.delete_stale(None).await.unwrap();
    assert_eq!(dump_flows(&ovs), [POD_1]);
}

#[tokio::test]
async fn a_meter_of_an_earlier_agent_becomes_what_is_wanted() {
    let Some((ovs, _database, first)) = start(1).await else { return };
    first.apply("service/a", service()).await.unwrap();
    drop(first);
    let second = switch(&ovs, 2);
    soon("the new one is there", second.realized()).await.unwrap();
    let mut wanted = service();
    wanted.meters[0].bands[0].rate = 200;
    second.apply("service/a", wanted).await.unwrap();
    let meters = ovs.ofctl(["dump-meters", BRIDGE]).unwrap();
    assert!(meters.contains("rate=200") && !meters.contains("rate=100"), "{meters}");
}

#[tokio::test]
async fn whoever_asked_while_the_switch_was_away_hears_of_a_refusal() {
    let Some((mut ovs, _database, switch)) = start(1).await else { return };
    lose(&mut ovs, &switch).await;
    let set = vec![refused(3), flow(1).action(Action::NORMAL)];
    let (outcome, restart) =
        tokio::join!(soon("the switch answers", switch.apply("pod/a", set.clone())), async {
            ovs.start_switch()
        });
    restart.unwrap();
    let error = outcome.unwrap_err();
    assert!(error.to_string().contains("in_port=3"), "{error}");
    assert_eq!(dump_flows(&ovs), [POD_1]);
    assert!(!switch.has("pod/a").await && !switch.has("pod/b").await);
    let error = switch.apply("pod/a", set.clone()).await.unwrap_err();
    assert!(error.to_string().contains("in_port=3"), "it is tried again: {error}");
    ovs.ofctl(["add-group", BRIDGE, "group_id=99,type=all"]).unwrap();
    switch.apply("pod/a", set).await.unwrap();
    assert!(switch.has("pod/a").await);
    assert_eq!(dump_flows(&ovs).len(), 2);
}

#[tokio::test]
async fn a_flow_that_changes_is_there_though_the_switch_had_lost_it() {
    let Some((ovs, _database, switch)) = start(1).await else { return };
    switch.apply("pod/a", vec![flow(1)]).await.unwrap();
    ovs.ofctl(["del-flows", BRIDGE]).unwrap();
    switch.apply("pod/a", pod(1)).await.unwrap();
    assert_eq!(dump_flows(&ovs), [POD_1]);
}

#[tokio::test]
async fn a_flow_that_changes_goes_on_counting() {
    let Some((ovs, _database, switch)) = start(1).await else { return };
    switch.apply("pod/a", pod(1)).await.unwrap();
    let packet = [[0xff; 6].as_slice(), &[2, 0, 0, 0, 0, 1], &[0x88, 0xb5], &[7; 50]].concat();
    let out = PacketOut::new(OfPort(1), packet).action(Action::resubmit(TableId(0)));
    switch.connection().current().unwrap().packet_out(out).await.unwrap();
    switch.apply("pod/a", vec![flow(1)]).await.unwrap();
    let text = ovs.ofctl(["dump-flows", BRIDGE]).unwrap();
    assert!(text.contains("n_packets=1") && text.contains("actions=drop"), "{text}");
}

#[tokio::test]
async fn what_is_broken_keeps_nothing_else_out() {
    let Some((mut ovs, _database, switch)) = start(1).await else { return };
    lose(&mut ovs, &switch).await;
    let meter = Meter { id: MeterId(0x7fff_0000), flags: MeterFlags::PKTPS, bands: vec![] };
    let long = flow(4).actions((0..9000).map(|port| Action::Output(OfPort(port))));
    // More than are left out one by one.
    let many = (1..=500).map(|port| Flow { table: TableId(9), ..refused(port) });
    let sets = [
        ("meter", FlowSet { meters: vec![meter], ..FlowSet::default() }),
        ("long", vec![long].into()),
        ("many", many.collect::<Vec<_>>().into()),
    ];
    let tasks = sets.map(|(key, set)| {
        let switch = switch.clone();
        tokio::spawn(async move { switch.apply(key, set).await })
    });
    let (good, restart) =
        tokio::join!(soon("the switch answers", switch.apply("pod/a", pod(1))), async { ovs.start_switch() });
    restart.unwrap();
    good.unwrap();
    for task in tasks {
        soon("the others hear of it", task).await.unwrap().unwrap_err();
    }
    assert_eq!(dump_flows(&ovs), [POD_1]);
}

#[tokio::test]
async fn what_was_lost_or_changed_behind_our_back_comes_back() {
    let Some((ovs, _database)) = start_with_bridge().await else { return };
    let (connection, _) = Connection::open(ovs.management_socket(BRIDGE));
    let switch = Switch::checked_every(Duration::from_millis(100), connection, Round(1), Vec::new());
    switch.apply("pod/a", pod(1)).await.unwrap();
    switch.apply("service/a", service()).await.unwrap();
    let everything =
        || (dump_flows(&ovs), ovs.ofctl(["dump-groups", BRIDGE]).unwrap().matches("group_id").count());
    let before = everything();
    let channel = switch.connection().current().unwrap();
    let damages: [&[&str]; 4] = [
        &["del-flows", BRIDGE],
        &["mod-flows", BRIDGE, "in_port=1,actions=drop"],
        &["del-groups", BRIDGE],
        &["del-meters", BRIDGE],
    ];
    for damage in damages {
        ovs.ofctl(damage).unwrap();
        assert_ne!(everything(), before);
        soon("all is as before", async {
            while everything() != before {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
    }
    // The connection stays, and OVS deletes all flows, and adds one of its own.
    ovs.vsctl(["set-fail-mode", BRIDGE, "standalone"]).unwrap();
    soon("our flows are as before", async {
        while !before.0.iter().all(|flow| dump_flows(&ovs).contains(flow)) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    assert_eq!(switch.connection().current().unwrap().generation(), channel.generation());
}

#[tokio::test]
async fn what_is_there_is_not_sent_again() {
    let Some((ovs, _database, switch)) = start(1).await else { return };
    switch.apply("pod/a", pod(1)).await.unwrap();
    switch.apply("pod/b", pod(2)).await.unwrap();
    switch.apply("service/a", service()).await.unwrap();
    assert_eq!(switch.resync().await.unwrap(), 0);
    ovs.ofctl(["del-flows", BRIDGE, "in_port=1"]).unwrap();
    assert_eq!(switch.resync().await.unwrap(), 1);
    assert_eq!(dump_flows(&ovs).len(), 3);
}

#[tokio::test]
async fn deleting_what_is_stale_outlasts_a_restart_of_the_switch() {
    let Some((mut ovs, _database, switch)) = start(1).await else { return };
    switch.apply("pod/a", pod(1)).await.unwrap();
    // Nobody has noticed yet.
    ovs.kill_switch().unwrap();
    let (outcome, restart) =
        tokio::join!(soon("the switch is back", switch.delete_stale(None)), async { ovs.start_switch() });
    restart.unwrap();
    outcome.unwrap();
    assert_eq!(dump_flows(&ovs), [POD_1]);
}
