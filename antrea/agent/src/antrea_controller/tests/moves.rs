//! Controllers that restart, move, and change their certificates; agents that change their tokens.

use std::net::{Ipv4Addr, SocketAddr};

use antrea_agent_policy::Watch;

use super::agent::Cluster;
use super::api::{Controller, authority};
use crate::agent_info::ConnectionState;

#[tokio::test]
async fn a_controller_that_restarts_is_found_where_it_is_then() {
    let authority = authority();
    let first = Controller::start(&authority).await;
    first.add(&["a"]).await;
    let cluster = Cluster::with(&[first.address], &authority.certificate).await;
    let mut agent = cluster.agent();
    agent.hears(&["connected", "ADDED a", "BOOKMARK"]).await;
    agent.is(ConnectionState::Up).await;
    drop(first);
    agent.hears(&["away"]).await;
    agent.is(ConnectionState::Down).await;
    cluster.set_endpoints(&[]).await;
    let second = Controller::start(&authority).await;
    second.add(&["b"]).await;
    cluster.set_endpoints(&[second.address]).await;
    agent.hears(&["connected", "ADDED b", "BOOKMARK"]).await;
    agent.is(ConnectionState::Up).await;
}

#[tokio::test]
async fn a_controller_that_is_no_endpoint_any_more_is_left_for_one_that_is() {
    let authority = authority();
    let (old, new) = (Controller::start(&authority).await, Controller::start(&authority).await);
    new.add(&["a"]).await;
    let cluster = Cluster::with(&[old.address], &authority.certificate).await;
    let mut agent = cluster.agent();
    agent.hears(&["connected", "BOOKMARK"]).await;
    cluster.set_endpoints(&[]).await;
    old.add(&["b"]).await;
    agent.hears(&["ADDED b"]).await;
    cluster.set_endpoints(&[new.address]).await;
    agent.hears(&["away", "connected", "ADDED a", "BOOKMARK"]).await;
}

#[tokio::test]
async fn a_watch_outlives_a_certificate_that_is_added_and_not_one_that_is_taken_away() {
    let (old, new) = (authority(), authority());
    let controller = Controller::start(&old).await;
    let cluster = Cluster::with(&[controller.address], &old.certificate).await;
    let mut agent = cluster.agent();
    agent.hears(&["connected", "BOOKMARK"]).await;
    cluster.set_ca(&format!("{}{}", new.certificate, old.certificate)).await;
    cluster.set_ca("no certificate").await;
    controller.add(&["a"]).await;
    agent.hears(&["ADDED a"]).await;
    cluster.set_ca(&new.certificate).await;
    agent.hears(&["away"]).await;
    agent.is(ConnectionState::Down).await;
    let rotated = Controller::start(&new).await;
    rotated.add(&["b"]).await;
    cluster.set_endpoints(&[rotated.address]).await;
    agent.hears(&["connected", "ADDED b", "BOOKMARK"]).await;
}

#[tokio::test]
async fn the_token_of_the_moment_is_shown() {
    let authority = authority();
    let first = Controller::start(&authority).await;
    let cluster = Cluster::with(&[first.address], &authority.certificate).await;
    let mut agent = cluster.agent();
    agent.hears(&["connected", "BOOKMARK"]).await;
    drop(first);
    agent.hears(&["away"]).await;
    let second = Controller::admitting(&authority, "another-token").await;
    cluster.set_endpoints(&[second.address]).await;
    cluster.set_token("another-token");
    agent.hears(&["connected", "BOOKMARK"]).await;
}

#[tokio::test]
async fn an_endpoint_at_which_nobody_answers_does_not_keep_from_the_others() {
    let authority = authority();
    let controller = Controller::start(&authority).await;
    let nobody = SocketAddr::from((Ipv4Addr::LOCALHOST, controller.address.port()));
    let cluster = Cluster::with(&[nobody, controller.address], &authority.certificate).await;
    let mut agent = cluster.agent();
    // Another watch may have found it out first.
    while agent.next(Watch::NetworkPolicies).await != "connected" {}
    agent.hears(&["BOOKMARK"]).await;
}
