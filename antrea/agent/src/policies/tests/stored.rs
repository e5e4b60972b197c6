//! Agents that start while the controller is away: what an earlier one stored, could not store, or had no time to store.

use std::fs;
use std::path::Path;

use antrea_config::NewPods;

use super::agent::Agent;
use super::node::{A, Allowed, B, Node, node};
use super::script::{added, admitting, all, away, targets};
use crate::antrea_controller::Heard;

/// What a controller says that has A isolated.
fn a_is_isolated() -> Vec<Heard> {
    all([targets(&[A]), added(admitting("p", 1, &[]))])
}

/// An agent that knows both Pods and is told so much, as it is when all that is said is in the switch.
async fn told(node: &Node, round: u16, new_pods: NewPods, said: Vec<Heard>) -> Agent {
    let agent = node.start_agent(round, new_pods).await;
    agent.hear(said).await;
    agent.is_ready().await;
    for pod in [A, B] {
        agent.attach(pod).await.unwrap();
    }
    agent
}

/// An agent that starts with both Pods there and the controller away.
async fn left_alone(node: &Node, round: u16, new_pods: NewPods) -> Agent {
    let agent = node.start_agent(round, new_pods).await;
    agent.take_over(&[A, B]).await;
    agent.hear(away()).await;
    agent.is_ready().await;
    agent.delete_earlier_flows().await;
    agent
}

#[tokio::test]
async fn an_agent_that_starts_while_the_controller_is_away_enforces_what_an_earlier_one_stored() {
    let test = "an_agent_that_starts_while_the_controller_is_away_enforces_what_an_earlier_one_stored";
    let Some(node) = node(test).await else { return };
    told(&node, 1, NewPods::Isolate, a_is_isolated()).await.stop().await;
    // What was not written again is there still.
    for round in 2..4 {
        let agent = left_alone(&node, round, NewPods::Isolate).await;
        agent.until("the stored policy counts", || node.passes(A, B) && !node.passes(B, A)).await;
        agent.stop().await;
    }
}

#[tokio::test]
async fn pods_without_policies_stay_open_while_the_controller_is_away() {
    let test = "pods_without_policies_stay_open_while_the_controller_is_away";
    let Some(node) = node(test).await else { return };
    told(&node, 1, NewPods::Isolate, all([])).await.stop().await;
    let agent = left_alone(&node, 2, NewPods::Isolate).await;
    agent.until("nothing is closed", || node.passes(A, B) && node.passes(B, A)).await;
}

/// What may have become of files, which are in a folder.
type Damage = (&'static str, fn(&Path));

const DAMAGES: [Damage; 6] = [
    ("a file is cut off", |files| {
        let file = files.join("network-policies/p");
        let content = fs::read(&file).unwrap();
        fs::write(file, &content[..content.len() / 2]).unwrap();
    }),
    ("a policy is lost", |files| fs::remove_file(files.join("network-policies/p")).unwrap()),
    ("a group is lost", |files| fs::remove_file(files.join("applied-to-groups/targets")).unwrap()),
    ("a folder cannot be read", |files| {
        fs::remove_dir_all(files.join("network-policies")).unwrap();
        fs::write(files.join("network-policies"), "").unwrap();
    }),
    ("the seal is lost", |files| fs::remove_file(files.join("seal")).unwrap()),
    ("all is lost", |files| fs::remove_dir_all(files).unwrap()),
];

#[tokio::test]
async fn pods_are_closed_where_files_are_damaged_or_lost_until_the_controller_is_back() {
    let test = "pods_are_closed_where_files_are_damaged_or_lost_until_the_controller_is_back";
    let Some(node) = node(test).await else { return };
    told(&node, 1, NewPods::Isolate, a_is_isolated()).await.stop().await;
    for (round, (what, damage)) in (2..).zip(DAMAGES) {
        damage(&node.files());
        let agent = left_alone(&node, round, NewPods::Isolate).await;
        agent.until(what, || !node.passes(A, B) && !node.passes(B, A)).await;
        let _ = fs::remove_file(node.files().join("network-policies"));
        agent.hear(a_is_isolated()).await;
        agent.until("the policy counts", || node.passes(A, B) && !node.passes(B, A)).await;
        agent.until("all is stored", || node.files().join("seal").exists()).await;
        agent.stop().await;
    }
    assert_eq!(node.note_of_files(), None);
}

#[tokio::test]
async fn where_new_pods_are_admitted_what_is_left_of_files_counts() {
    let test = "where_new_pods_are_admitted_what_is_left_of_files_counts";
    let Some(node) = node(test).await else { return };
    let said = all([targets(&[A]), added(admitting("p", 1, &[])), added(admitting("q", 1, &[]))]);
    told(&node, 1, NewPods::Admit, said).await.stop().await;
    fs::write(node.files().join("network-policies/q"), "").unwrap();
    let agent = left_alone(&node, 2, NewPods::Admit).await;
    agent.until("one policy counts", || node.passes(A, B) && !node.passes(B, A)).await;
    agent.stop().await;
    fs::remove_file(node.files().join("network-policies/p")).unwrap();
    let agent = left_alone(&node, 3, NewPods::Admit).await;
    agent.until("no policy counts", || node.passes(A, B) && node.passes(B, A)).await;
}

#[tokio::test]
async fn pods_are_closed_after_an_agent_that_was_killed_before_it_stored_what_it_enforced() {
    let test = "pods_are_closed_after_an_agent_that_was_killed_before_it_stored_what_it_enforced";
    let Some(node) = node(test).await else { return };
    let agent = told(&node, 1, NewPods::Isolate, all([])).await;
    agent.until("all is stored", || node.files().join("seal").exists()).await;
    // No file is written from here on.
    let blocked = ["network-policies", "applied-to-groups"].map(|folder| node.files().join(folder));
    blocked.iter().for_each(|folder| fs::write(folder, "").unwrap());
    agent.hear([targets(&[A]), added(admitting("p", 1, &[]))]).await;
    agent.until("the policy counts", || !node.passes(B, A)).await;
    agent.kill().await;
    blocked.iter().for_each(|folder| fs::remove_file(folder).unwrap());
    assert_eq!(node.note_of_files(), None);
    let agent = left_alone(&node, 2, NewPods::Isolate).await;
    agent.until("Pods are closed", || !node.passes(A, B) && !node.passes(B, A)).await;
    agent.hear(a_is_isolated()).await;
    agent.until("the policy counts", || node.passes(A, B) && !node.passes(B, A)).await;
}

/// An agent enforces a policy, and can neither store it nor say so in the folder; the next one starts while the controller
/// is away.
async fn check_not_stored(test: &str, new_pods: NewPods, opens: bool) {
    let Some(node) = node(test).await else { return };
    node.let_store(Allowed::No);
    let agent = told(&node, 1, new_pods, a_is_isolated()).await;
    agent.until("it is noted", || node.note_of_files().as_deref() == Some("not-stored")).await;
    agent.kill().await;
    let agent = left_alone(&node, 2, new_pods).await;
    agent.until("files do not count", || node.passes(A, B) == opens && node.passes(B, A) == opens).await;
    node.let_store(Allowed::Yes);
    agent.hear(a_is_isolated()).await;
    agent.until("the policy counts", || node.passes(A, B) && !node.passes(B, A)).await;
    agent.until("it is noted", || node.note_of_files().as_deref() == Some("stored")).await;
}

#[tokio::test]
async fn pods_are_closed_after_an_agent_that_could_not_store_what_it_enforced() {
    let test = "pods_are_closed_after_an_agent_that_could_not_store_what_it_enforced";
    check_not_stored(test, NewPods::Isolate, false).await;
}

#[tokio::test]
async fn where_new_pods_are_admitted_only_what_is_stored_counts() {
    let test = "where_new_pods_are_admitted_only_what_is_stored_counts";
    check_not_stored(test, NewPods::Admit, true).await;
}
