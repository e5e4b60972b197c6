//! Agents that start while the controller is away: what an earlier one stored, and what it could not store.

use antrea_config::NewPods;

use super::node::{A, Allowed, B, node};
use super::script::{added, admitting, all, away, targets};

#[tokio::test]
async fn an_agent_that_starts_while_the_controller_is_away_enforces_what_an_earlier_one_stored() {
    let test = "an_agent_that_starts_while_the_controller_is_away_enforces_what_an_earlier_one_stored";
    let Some(node) = node(test).await else { return };
    let agent = node.start_agent(1, NewPods::Isolate).await;
    agent.hear(all([targets(&[A]), added(admitting("p", 1, &[]))])).await;
    agent.is_ready().await;
    for pod in [A, B] {
        agent.attach(pod).await.unwrap();
    }
    agent.stop().await;
    let agent = node.start_agent(2, NewPods::Isolate).await;
    agent.take_over(&[A, B]).await;
    agent.hear(away()).await;
    agent.is_ready().await;
    agent.delete_earlier_flows().await;
    agent.until("the stored policy counts", || node.passes(A, B) && !node.passes(B, A)).await;
}

/// An agent enforces a policy that it cannot store, and the next one starts while the controller is away.
async fn check_not_stored(test: &str, new_pods: NewPods, opens: bool) {
    let Some(node) = node(test).await else { return };
    node.let_store(Allowed::No);
    let agent = node.start_agent(1, new_pods).await;
    agent.hear(all([targets(&[A]), added(admitting("p", 1, &[]))])).await;
    agent.is_ready().await;
    for pod in [A, B] {
        agent.attach(pod).await.unwrap();
    }
    agent.until("it is noted", || node.note_of_files().as_deref() == Some("not-stored")).await;
    agent.stop().await;
    let agent = node.start_agent(2, new_pods).await;
    agent.take_over(&[A, B]).await;
    agent.hear(away()).await;
    agent.is_ready().await;
    agent.delete_earlier_flows().await;
    agent.until("files do not count", || node.passes(A, B) == opens && node.passes(B, A) == opens).await;
    node.let_store(Allowed::Yes);
    agent.hear(all([targets(&[A]), added(admitting("p", 1, &[]))])).await;
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
