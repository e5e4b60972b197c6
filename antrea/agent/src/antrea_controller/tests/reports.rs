//! What the agent tells the controller.

use antrea_shared_api::controlplane::v1beta2::{
    NetworkPolicyNodeStatus, NetworkPolicyStatus, NodeStatsSummary,
};
use antrea_shared_api::meta::Metadata;

use super::super::CallError;
use super::agent::Cluster;
use super::api::{Controller, authority};

fn status(policy: &str) -> NetworkPolicyStatus {
    let node = NetworkPolicyNodeStatus { node_name: "n1".to_owned(), generation: 1, ..Default::default() };
    NetworkPolicyStatus { metadata: Metadata::new(policy, ""), nodes: vec![node] }
}

#[tokio::test]
async fn reports_reach_the_controller() {
    let authority = authority();
    let controller = Controller::start(&authority).await;
    let cluster = Cluster::with(&[controller.address], &authority.certificate).await;
    let mut agent = cluster.agent();
    agent.hears(&["connected"]).await;
    let way = &agent.controller;
    way.report_status(&status("a")).await.unwrap();
    let stats = NodeStatsSummary { metadata: Metadata::new("n1", ""), ..NodeStatsSummary::default() };
    way.report_stats(&stats).await.unwrap();
    assert_eq!(controller.reported.all(), ["a on n1", "stats of n1"]);
    let refused = way.report_status(&status("unknown")).await.unwrap_err();
    assert!(
        matches!(&refused, CallError::Refused { code: 404, message } if message.contains("unknown")),
        "{refused}"
    );
    let unnamed = way.report_status(&status("../../pods")).await.unwrap_err();
    assert!(matches!(unnamed, CallError::Name(_)), "{unnamed}");
}

#[tokio::test]
async fn without_a_controller_a_report_fails_at_once() {
    let controller = Cluster::new().controller();
    let error = controller.report_status(&status("a")).await.unwrap_err();
    assert!(matches!(error, CallError::Unknown(_) | CallError::Token { .. }), "{error}");
}
