//! Agents of a cluster without antrea-controller.

use antrea_config::NewPods;

use super::super::no_controller;
use super::node::{A, B, node};
use super::script::{added, admitting, all, away, targets};

#[tokio::test]
async fn pods_of_a_cluster_without_antrea_controller_are_open() {
    let Some(node) = node("pods_of_a_cluster_without_antrea_controller_are_open").await else { return };
    let agent = node.start_agent(1, NewPods::Isolate).await;
    agent.hear(no_controller::says()).await;
    agent.is_ready().await;
    for pod in [A, B] {
        agent.attach(pod).await.unwrap();
    }
    assert!(node.passes(A, B) && node.passes(B, A));
    assert_eq!((node.note(A), node.note(B)), (None, None));
}

#[tokio::test]
async fn antrea_controller_can_be_taken_away_and_installed_again() {
    let Some(node) = node("antrea_controller_can_be_taken_away_and_installed_again").await else { return };
    let a_is_isolated = || all([targets(&[A]), added(admitting("p", 1, &[]))]);
    let agent = node.start_agent(1, NewPods::Isolate).await;
    agent.hear(a_is_isolated()).await;
    agent.is_ready().await;
    agent.attach(A).await.unwrap();
    agent.hear(away()).await;
    agent.until("the controller is away", || !agent.is_current()).await;
    agent.attach(B).await.unwrap();
    assert!(!node.passes(B, A) && !node.passes(A, B));
    agent.stop().await;

    let agent = node.start_agent(2, NewPods::Isolate).await;
    agent.take_over(&[A, B]).await;
    agent.hear(no_controller::says()).await;
    agent.is_ready().await;
    agent.delete_earlier_flows().await;
    agent.until("nothing is closed", || node.passes(A, B) && node.passes(B, A)).await;
    agent.until("nothing is noted", || node.note(B).is_none()).await;
    agent.stop().await;

    let agent = node.start_agent(3, NewPods::Isolate).await;
    agent.take_over(&[A, B]).await;
    agent.hear(away()).await;
    agent.is_ready().await;
    agent.delete_earlier_flows().await;
    agent.until("what was open is so", || node.passes(A, B) && node.passes(B, A)).await;
    agent.hear(a_is_isolated()).await;
    agent.until("the policy counts again", || node.passes(A, B) && !node.passes(B, A)).await;
}
