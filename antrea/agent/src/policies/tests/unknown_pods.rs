//! Pods that come before anybody has said which policies there are, or while the controller is away.

use std::fs;

use antrea_agent_cni::flows::PodFlows;
use antrea_config::NewPods;

use super::agent::Agent;
use super::node::{A, B, Node, Pod, node};
use super::script::{added, admitting, all, all_with, away, round, targets};
use crate::antrea_controller::Heard;

#[tokio::test]
async fn no_pod_is_connected_before_policies_are_known() {
    let Some(node) = node("no_pod_is_connected_before_policies_are_known").await else { return };
    let agent = node.start_agent(1, NewPods::Admit).await;
    let refused = agent.attach(A).await.unwrap_err().to_string();
    assert_eq!(refused, "it is not known yet which policies there are");
    assert!(!node.passes(A, B));
    agent.hear(all([])).await;
    agent.is_ready().await;
    for pod in [A, B] {
        agent.attach(pod).await.unwrap();
    }
    assert!(node.passes(A, B));
}

#[tokio::test]
async fn a_pod_has_its_policies_once_it_is_connected() {
    let Some(node) = node("a_pod_has_its_policies_once_it_is_connected").await else { return };
    let agent = node.start_agent(1, NewPods::Isolate).await;
    agent.hear(all([targets(&[A]), added(admitting("p", 1, &[]))])).await;
    agent.is_ready().await;
    for pod in [B, A] {
        agent.attach(pod).await.unwrap();
    }
    assert!(!node.passes(B, A));
    assert!(node.passes(A, B));
    assert_eq!((node.note(A), node.note(B)), (None, None));
}

/// An agent with the Pod A, and with B, which came while the controller was away.
async fn with_one_that_came_too_late(node: &Node) -> Agent {
    let agent = node.start_agent(1, NewPods::Isolate).await;
    agent.hear(all([])).await;
    agent.is_ready().await;
    agent.attach(A).await.unwrap();
    agent.hear(away()).await;
    agent.until("the controller is away", || !agent.is_current()).await;
    agent.attach(B).await.unwrap();
    agent
}

#[tokio::test]
async fn a_pod_that_comes_while_the_controller_is_away_is_closed_until_it_is_back() {
    let test = "a_pod_that_comes_while_the_controller_is_away_is_closed_until_it_is_back";
    let Some(node) = node(test).await else { return };
    let agent = with_one_that_came_too_late(&node).await;
    assert_eq!((node.note(A), node.note(B)), (None, Some("unknown".to_owned())));
    assert!(!node.passes(A, B) && !node.passes(B, A));
    agent.hear(all([])).await;
    agent.until("nothing is noted", || node.note(B).is_none()).await;
    agent.until("the Pod is open", || node.passes(A, B) && node.passes(B, A)).await;
}

/// What a controller says that knows these Pods: B may reach whoever is called as A.
fn b_is_admitted(pods: &[Pod]) -> Vec<Heard> {
    all_with(pods, [targets(&[A]), added(admitting("p", 1, &[format!("{}/32", B.ip)]))])
}

/// An agent with both Pods, of which B is admitted to A; then the controller is away.
async fn with_policies_and_alone(node: &Node) -> Agent {
    let agent = node.start_agent(1, NewPods::Isolate).await;
    agent.hear(b_is_admitted(&[A, B])).await;
    agent.is_ready().await;
    for pod in [A, B] {
        agent.attach(pod).await.unwrap();
    }
    agent.hear(away()).await;
    agent.until("the controller is away", || !agent.is_current()).await;
    assert!(node.passes(B, A));
    agent
}

#[tokio::test]
async fn a_pod_that_has_the_name_of_a_former_one_has_none_of_its_policies_until_the_controller_is_back() {
    let test =
        "a_pod_that_has_the_name_of_a_former_one_has_none_of_its_policies_until_the_controller_is_back";
    let Some(node) = node(test).await else { return };
    let agent = with_policies_and_alone(&node).await;
    let another = Pod { uid: "another", ..A };
    agent.detach(A).await;
    agent.attach(another).await.unwrap();
    assert_eq!(node.note(A), Some("unknown".to_owned()));
    assert!(!node.passes(A, B) && !node.passes(B, A));
    agent.hear(b_is_admitted(&[another, B])).await;
    agent.until("nothing is noted", || node.note(A).is_none()).await;
    agent.until("the policy counts", || node.passes(B, A)).await;
}

#[tokio::test]
async fn a_pod_that_the_controller_knew_keeps_its_policies_when_it_is_attached_again_while_that_is_away() {
    let test =
        "a_pod_that_the_controller_knew_keeps_its_policies_when_it_is_attached_again_while_that_is_away";
    let Some(node) = node(test).await else { return };
    with_policies_and_alone(&node).await.stop().await;
    let agent = node.start_agent(2, NewPods::Isolate).await;
    agent.take_over(&[A, B]).await;
    agent.hear(away()).await;
    agent.is_ready().await;
    agent.delete_earlier_flows().await;
    agent.detach(A).await;
    agent.attach(A).await.unwrap();
    assert_eq!(node.note(A), None);
    agent.until("the policy counts", || node.passes(B, A)).await;
}

#[tokio::test]
async fn that_nothing_is_known_of_a_pod_is_noted_again_when_its_port_is_another_one() {
    let test = "that_nothing_is_known_of_a_pod_is_noted_again_when_its_port_is_another_one";
    let Some(node) = node(test).await else { return };
    let agent = with_one_that_came_too_late(&node).await;
    node.forget_note(B).await;
    let with_a_new_port = |pod: Pod| agent.pods.notes(&pod.interface_name());
    assert!(with_a_new_port(A).is_empty());
    assert_eq!(with_a_new_port(B)["antrea-policies"], "unknown");
    agent.attach(B).await.unwrap();
    assert_eq!((node.note(A), node.note(B)), (None, Some("unknown".to_owned())));
}

#[tokio::test]
async fn addresses_are_held_back_while_a_controller_is_away_that_was_there() {
    let test = "addresses_are_held_back_while_a_controller_is_away_that_was_there";
    let Some(node) = node(test).await else { return };
    let agent = node.start_agent(1, NewPods::Admit).await;
    agent.hear(away()).await;
    agent.is_ready().await;
    assert!(agent.pods.peers_untold().is_none(), "there never was one");
    agent.hear(all([])).await;
    agent.until("the controller is there", || agent.is_current()).await;
    assert!(agent.pods.peers_untold().is_none());
    agent.hear(away()).await;
    agent.until("the controller is away", || !agent.is_current()).await;
    let held = agent.pods.peers_untold().unwrap();
    agent.hear(all([targets(&[A])])).await;
    held.await;
    agent.until("all is stored", || node.files().join("seal").exists()).await;
    agent.stop().await;
    let agent = node.start_agent(2, NewPods::Admit).await;
    agent.hear(away()).await;
    agent.is_ready().await;
    assert!(agent.pods.peers_untold().is_some(), "there was one before the agent");
    agent.stop().await;
    fs::remove_file(node.files().join("seal")).unwrap();
    let agent = node.start_agent(3, NewPods::Isolate).await;
    agent.hear(away()).await;
    agent.is_ready().await;
    assert!(agent.pods.peers_untold().is_some(), "it may not be known what it said");
}

#[tokio::test]
async fn where_new_pods_are_admitted_one_that_comes_while_the_controller_is_away_is_open() {
    let test = "where_new_pods_are_admitted_one_that_comes_while_the_controller_is_away_is_open";
    let Some(node) = node(test).await else { return };
    let agent = node.start_agent(1, NewPods::Admit).await;
    agent.hear(away()).await;
    agent.is_ready().await;
    for pod in [A, B] {
        agent.attach(pod).await.unwrap();
    }
    assert!(node.passes(A, B));
    assert_eq!(node.note(B), None);
}

#[tokio::test]
async fn a_later_agent_keeps_closed_whom_an_earlier_one_noted_and_opens_whom_it_did_not() {
    let test = "a_later_agent_keeps_closed_whom_an_earlier_one_noted_and_opens_whom_it_did_not";
    let Some(node) = node(test).await else { return };
    let agent = with_one_that_came_too_late(&node).await;
    agent.stop().await;
    let agent = node.start_agent(2, NewPods::Isolate).await;
    agent.take_over(&[A, B]).await;
    agent.hear(away()).await;
    agent.is_ready().await;
    agent.until("the Pod is closed", || !node.passes(A, B) && !node.passes(B, A)).await;
    assert_eq!((node.note(A), node.note(B)), (None, Some("unknown".to_owned())));
    agent.hear(all([targets(&[B]), added(admitting("p", 1, &[]))])).await;
    agent.until("nothing is noted", || node.note(B).is_none()).await;
    agent.until("only the policy counts", || node.passes(B, A) && !node.passes(A, B)).await;
}

#[tokio::test]
async fn a_pod_that_the_controller_does_not_know_yet_is_closed_until_a_round_takes_it_into_account() {
    let test = "a_pod_that_the_controller_does_not_know_yet_is_closed_until_a_round_takes_it_into_account";
    let Some(node) = node(test).await else { return };
    let agent = node.start_agent(1, NewPods::Isolate).await;
    agent.hear(all_with(&[A], [])).await;
    agent.is_ready().await;
    for pod in [A, B] {
        agent.attach(pod).await.unwrap();
    }
    assert_eq!((node.note(A), node.note(B)), (None, Some("unknown".to_owned())));
    assert!(!node.passes(A, B) && !node.passes(B, A));
    agent.hear([targets(&[B]), added(admitting("p", 1, &[]))]).await;
    agent.hear(round(2, &[A, B])).await;
    agent.until("nothing is noted", || node.note(B).is_none()).await;
    agent.until("only the policy counts", || node.passes(B, A) && !node.passes(A, B)).await;
}
