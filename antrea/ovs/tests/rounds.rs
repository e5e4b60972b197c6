//! What becomes of the flows of an earlier agent where the switch refuses some of those that are to take their place.

use antrea_openflow::{Action, GroupId};
use antrea_ovs::testing::OvsProcess;
use antrea_ovs::{FlowEdit, FlowSet, Switch};

use crate::fixture::{dump_flows, soon};
use crate::switch::{flow, pod, start, switch};

/// The ports whose flows are there, with the round of each.
fn rounds(ovs: &OvsProcess) -> Vec<(u32, u16)> {
    let read = |line: String| {
        let cookie = line.strip_prefix("cookie=0x").unwrap().split(',').next().unwrap().to_owned();
        let port = line.split("in_port=").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        (port, u16::try_from(u64::from_str_radix(&cookie, 16).unwrap() >> 48).unwrap())
    };
    let mut rounds: Vec<_> = dump_flows(ovs).into_iter().map(read).collect();
    rounds.sort_unstable();
    rounds
}

/// A flow that uses a group.
fn service() -> FlowSet {
    let flows = vec![flow(9).action(Action::Group(GroupId(5)))];
    FlowSet { flows, meters: Vec::new(), ..crate::switch::service() }
}

/// What was left by an agent that had flows of the ports 1 to 5, and a Service.
async fn left_by_an_earlier_agent(first: Switch) {
    for port in 1..=5 {
        first.apply(format!("pod/{port}"), pod(port)).await.unwrap();
    }
    first.apply("service/a", service()).await.unwrap();
}

/// Flows of two ports, one of them as it cannot be.
fn refused(port: u32) -> FlowSet {
    vec![flow(port), flow(port + 100).action(Action::Group(GroupId(99)))].into()
}

#[tokio::test]
async fn a_set_that_is_refused_keeps_the_flows_in_its_place_and_no_others() {
    let Some((ovs, _database, first)) = start(1).await else { return };
    left_by_an_earlier_agent(first).await;
    let second = switch(&ovs, 2);
    soon("the new one is there", second.apply("pod/1", pod(1))).await.unwrap();
    second.apply("pod/2", refused(2)).await.unwrap_err();
    let mut service = service();
    service.flows.push(flow(109).action(Action::Group(GroupId(99))));
    second.apply("service/a", service.clone()).await.unwrap_err();
    let at_once = [second.ask("pod/3", refused(3)), second.ask("pod/4", pod(4))];
    let [three, four] = at_once.map(antrea_ovs::Asked::done);
    three.await.unwrap_err();
    four.await.unwrap();
    assert_eq!(second.delete_stale(None).await.unwrap(), 3);
    assert_eq!(rounds(&ovs), [(1, 2), (2, 1), (3, 1), (4, 2), (9, 1)]);
    second.resync().await.unwrap();
    assert_eq!(rounds(&ovs).len(), 5, "nor do groups that these need go later");

    // One is taken at last, one is given up.
    second.apply("pod/2", pod(2)).await.unwrap();
    second.remove("pod/3").await.unwrap();
    assert_eq!(rounds(&ovs), [(1, 2), (2, 2), (4, 2), (9, 1)]);
    service.flows.pop();
    second.apply("service/a", service).await.unwrap();
    assert_eq!(second.delete_stale(None).await.unwrap(), 0);
    assert_eq!(rounds(&ovs), [(1, 2), (2, 2), (4, 2), (9, 2)]);
}

#[tokio::test]
async fn what_was_left_out_of_a_set_keeps_the_flows_in_its_place() {
    let Some((ovs, _database, first)) = start(1).await else { return };
    left_by_an_earlier_agent(first).await;
    let second = switch(&ovs, 2);
    let refused = FlowEdit::Put(flow(2).action(Action::Group(GroupId(99))));
    let edits = vec![FlowEdit::Put(flow(1)), refused];
    soon("the new one is there", second.edit("policies", edits).done()).await.unwrap_err();
    assert_eq!(second.delete_stale(None).await.unwrap(), 1);
    assert_eq!(rounds(&ovs), [(1, 2), (2, 1)]);
}

#[tokio::test]
async fn a_set_that_is_claimed_keeps_the_flows_in_its_place_until_somebody_asks_for_it() {
    let Some((ovs, _database, first)) = start(1).await else { return };
    left_by_an_earlier_agent(first).await;
    let second = switch(&ovs, 2);
    soon("the new one is there", second.realized()).await.unwrap();
    let keys = || ["pod/1", "pod/2", "pod/3"].map(antrea_ovs::SetKey::from);
    assert_eq!(second.unasked(keys()).await, keys());
    second.apply("pod/1", pod(1)).await.unwrap();
    second.apply("pod/2", refused(2)).await.unwrap_err();
    assert_eq!(second.unasked(keys()).await, keys()[2..]);
    let claimed = |port: u32| (format!("pod/{port}").into(), pod(port));
    second.claim([claimed(1), claimed(3), claimed(4)]).await;
    second.claim([claimed(1), claimed(3)]).await;
    assert_eq!(second.unasked(keys()).await, []);
    assert_eq!(second.delete_stale(None).await.unwrap(), 2);
    assert_eq!(rounds(&ovs), [(1, 2), (2, 1), (3, 1)]);
    second.remove("pod/3").await.unwrap();
    second.apply("pod/2", pod(22)).await.unwrap();
    assert_eq!(rounds(&ovs), [(1, 2), (22, 2)]);
}
