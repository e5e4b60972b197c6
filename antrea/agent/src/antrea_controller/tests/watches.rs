//! What is heard of a controller that does what it should.

use std::time::Duration;

use antrea_agent_policy::Watch;

use super::agent::{Agent, Cluster};
use super::api::{Controller, Speaks, authority};
use super::scripted::{Actor, Scripted};
use crate::agent_info::ConnectionState;

#[tokio::test]
async fn all_that_concerns_a_node_is_heard_and_then_its_changes() {
    let authority = authority();
    let controller = Controller::start(&authority).await;
    controller.add(&["a", "b"]).await;
    let cluster = Cluster::with(&[controller.address], &authority.certificate).await;
    let mut agent = cluster.agent();
    agent.hears(&["connected", "ADDED a", "ADDED b", "BOOKMARK"]).await;
    for watch in [Watch::AddressGroups, Watch::AppliedToGroups] {
        assert_eq!([agent.next(watch).await, agent.next(watch).await], ["connected", "BOOKMARK"]);
    }
    agent.is(ConnectionState::Up).await;
    assert_eq!(controller.store.look(|store| store.watching_nodes()), 1);
    controller.add(&["c"]).await;
    agent.hears(&["ADDED c"]).await;
}

#[tokio::test]
async fn a_controller_that_comes_later_than_the_agent_is_found() {
    let authority = authority();
    let cluster = Cluster::new();
    let mut agent = cluster.agent();
    agent.hears(&["away"]).await;
    let controller = Controller::start(&authority).await;
    controller.add(&["a"]).await;
    cluster.set_endpoints(&[controller.address]).await;
    cluster.set_ca(&authority.certificate).await;
    agent.hears(&["connected", "ADDED a", "BOOKMARK"]).await;
}

#[tokio::test]
async fn a_watch_can_be_begun_anew() {
    let authority = authority();
    let controller = Controller::start(&authority).await;
    let cluster = Cluster::with(&[controller.address], &authority.certificate).await;
    let mut agent = cluster.agent();
    agent.hears(&["connected", "BOOKMARK"]).await;
    agent.is(ConnectionState::Up).await;
    agent.controller.begin_anew(Watch::NetworkPolicies);
    agent.hears(&["away"]).await;
    agent.is(ConnectionState::Down).await;
    controller.add(&["a"]).await;
    agent.hears(&["connected", "ADDED a", "BOOKMARK"]).await;
    agent.is(ConnectionState::Up).await;
}

#[tokio::test]
async fn who_listens_slowly_hears_everything() {
    let authority = authority();
    let controller = Controller::start(&authority).await;
    let names: Vec<_> = (0..5000).map(|number| format!("p{number:04}")).collect();
    controller.add(&names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let cluster = Cluster::with(&[controller.address], &authority.certificate).await;
    let mut agent = Agent::listening(cluster.controller(), 1);
    agent.hears(&["connected"]).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    for name in &names {
        agent.hears(&[&format!("ADDED {name}")]).await;
    }
    agent.hears(&["BOOKMARK"]).await;
}

async fn check_request(speaks: Speaks) {
    let authority = authority();
    let actor = Actor::start(&authority, speaks, vec![Scripted::good()]).await;
    let cluster = Cluster::with(&[actor.address], &authority.certificate).await;
    let mut agent = cluster.agent();
    agent.hears(&["connected", "BOOKMARK"]).await;
    agent.is(ConnectionState::Up).await;
    let mut asked = actor.asked.lock().unwrap().clone();
    asked.sort();
    let watch = |plural: &str| {
        format!(
            "GET antrea.kube-system.svc /apis/controlplane.antrea.io/v1beta2/{plural}?allowWatchBookmarks=true&fieldSelector=nodeName%3Dn1&watch=true \
             accept application/vnd.kubernetes.protobuf,application/json as Bearer agent-token"
        )
    };
    assert_eq!(asked, ["addressgroups", "appliedtogroups", "networkpolicies"].map(watch), "{speaks:?}");
}

#[tokio::test]
async fn watches_are_asked_for_as_upstreams_agent_does_but_for_the_ends_of_rounds() {
    check_request(Speaks::Http2).await;
    check_request(Speaks::Http1).await;
}
