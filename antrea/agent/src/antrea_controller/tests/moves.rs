//! Controllers that restart, move, and change their certificates; agents that change their tokens.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use antrea_agent_policy::Watch;
use antrea_kit::health::{Checks, Kind, Reasons};
use http_body_util::BodyExt;
use hyper::{Request, StatusCode};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

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

/// `/readyz` of an agent, once it answers with this status.
async fn until_readyz(checks: &Checks, status: StatusCode) -> String {
    let answer = async {
        loop {
            let request = Request::get("/readyz").extension(Reasons::Told).body(()).unwrap();
            let answer = checks.answer(&request).unwrap();
            if answer.status() == status {
                return answer.into_body().collect().await.unwrap().to_bytes();
            }
            sleep(Duration::from_millis(5)).await;
        }
    };
    String::from_utf8(timeout(Duration::from_secs(60), answer).await.expect("it did not change").into())
        .unwrap()
}

#[tokio::test]
async fn an_agent_is_ready_while_all_its_watches_are_connected() {
    let authority = authority();
    let controller = Controller::start(&authority).await;
    let cluster = Cluster::with(&[], &authority.certificate).await;
    let mut agent = cluster.agent();
    let checks = Checks::new();
    let check = checks.add("watcher", Kind::Neighbour);
    let stop = CancellationToken::new();
    let told = tokio::spawn(agent.controller.clone().keep_told(check, stop.clone()));
    let away = "[+]ping ok\n[-]watcher failed: some watches of antrea-controller are not connected\n\
                readyz check failed\n";
    agent.hears(&["away"]).await;
    assert_eq!(until_readyz(&checks, StatusCode::INTERNAL_SERVER_ERROR).await, away);
    cluster.set_endpoints(&[controller.address]).await;
    assert_eq!(until_readyz(&checks, StatusCode::OK).await, "ok");
    drop(controller);
    assert_eq!(until_readyz(&checks, StatusCode::INTERNAL_SERVER_ERROR).await, away);
    stop.cancel();
    told.await.unwrap().unwrap();
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
