//! Open vSwitch refuses a part of policies: the controller is told so, and when it was put right.

use antrea_config::NewPods;

use super::agent::Agent;
use super::node::{A, B, Node, node};
use super::script::{added, admitting, all, modified, targets};

/// Has the table of the rules of ingress take so many flows and no more.
fn limit_flows(node: &Node, limit: usize) {
    let table = node.ingress_table();
    let limit = format!("flow_limit={limit}");
    let set = format!("flow_tables:{table}=@limited");
    let words = [
        "--",
        "--id=@limited",
        "create",
        "Flow_Table",
        &limit,
        "overflow_policy=refuse",
        "--",
        "set",
        "bridge",
        "br-int",
        &set,
    ];
    node.ovs.vsctl(words).unwrap();
}

fn unlimit_flows(node: &Node) {
    node.ovs.vsctl(["clear", "bridge", "br-int", "flow_tables"]).unwrap();
}

/// A Node whose Pods a and b are there and a admits 50 networks, b's the last of them, in a table that takes fewer.
async fn refused(test: &str) -> Option<(Node, Agent)> {
    let node = node(test).await?;
    let mut agent = node.start_agent(1, NewPods::Isolate).await;
    agent.hear(all([targets(&[A])])).await;
    agent.is_ready().await;
    for pod in [A, B] {
        agent.attach(pod).await.unwrap();
    }
    assert!(node.passes(B, A), "nobody is isolated yet");
    limit_flows(&node, 20);
    agent.hear([added(admitting("p", 1, &networks()))]).await;
    let why = agent.reports("p", 1, true).await;
    assert!(why.starts_with("the switch did not take flow"), "{why}");
    Some((node, agent))
}

fn networks() -> Vec<String> {
    (1..50).map(|number| format!("10.20.{number}.0/24")).chain([format!("{}/32", B.ip)]).collect()
}

#[tokio::test]
async fn what_was_refused_is_realized_with_the_next_change_that_the_switch_takes() {
    let test = "what_was_refused_is_realized_with_the_next_change_that_the_switch_takes";
    let Some((node, mut agent)) = refused(test).await else { return };
    agent.hear([modified(admitting("p", 2, &networks()[1..]))]).await;
    agent.reports("p", 2, true).await;
    unlimit_flows(&node);
    agent.hear([modified(admitting("p", 3, &networks()[2..]))]).await;
    assert_eq!(agent.reports("p", 3, false).await, "");
    assert!(node.passes(B, A));
    assert!(node.passes(A, B));
}

#[tokio::test]
async fn while_a_part_is_refused_nobody_is_let_in_that_the_policy_keeps_out() {
    let test = "while_a_part_is_refused_nobody_is_let_in_that_the_policy_keeps_out";
    let Some((node, mut agent)) = refused(test).await else { return };
    agent.hear([modified(admitting("p", 2, &networks()[..49]))]).await;
    agent.reports("p", 2, true).await;
    assert!(!node.passes(B, A));
}

#[tokio::test]
async fn what_was_refused_is_tried_again_by_itself_and_told_when_it_is_taken() {
    let test = "what_was_refused_is_tried_again_by_itself_and_told_when_it_is_taken";
    let Some((node, mut agent)) = refused(test).await else { return };
    unlimit_flows(&node);
    // Whoever waits to try again has waited.
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(31)).await;
    tokio::time::resume();
    assert_eq!(agent.reports("p", 1, false).await, "");
    assert!(node.passes(B, A));
}
