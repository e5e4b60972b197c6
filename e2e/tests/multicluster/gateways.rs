//! Another Node becomes the Gateway as somebody wants it: the old one goes when the new one works.

use std::net::SocketAddr;
use std::time::Instant;

use antrea_e2e::multicluster::cluster_set::Member;
use antrea_e2e::multicluster::gateways::{self, second_node};
use antrea_e2e::multicluster::requests::Requests;
use antrea_e2e::names::NodeId;
use anyhow::{Context, Result};

use super::stage::{Stage, on_the_stage};

#[test]
fn no_request_fails_while_another_node_becomes_the_gateway() {
    on_the_stage("no_request_fails_while_another_node_becomes_the_gateway", |stage| {
        for (member, role) in [(stage.b()?, "is asked"), (stage.a()?, "asks")] {
            let (first, second) = (member.first_node(), second_node(member));
            let moved = format!("the annotation moved in the cluster that {role}");
            during(stage, &moved, || {
                member.choose_gateway(second)?;
                member.dismiss_gateway(first)?;
                wait_for_gateway(stage, member, second)
            })?;
            member.choose_gateway(first)?;
            let cordoned = format!("the Gateway was cordoned in the cluster that {role}");
            during(stage, &cordoned, || {
                member.kubectl.text(&["cordon", &second.to_string()])?;
                wait_for_gateway(stage, member, first)
            })?;
            member.kubectl.text(&["uncordon", &second.to_string()])?;
            member.dismiss_gateway(second)?;
        }
        Ok(())
    });
}

/// Asks while the Gateway changes: all are answered.
fn during(stage: &Stage, what: &str, change: impl FnOnce() -> Result<()>) -> Result<()> {
    let requests = Requests::start(&stage.example.client, SocketAddr::V4(stage.example.imported))?;
    let began = Instant::now();
    change()?;
    let took = began.elapsed();
    stage.example.wait_for_answers()?;
    let answers = requests.end()?;
    println!("{what}: {took:.1?} until everybody knew the other Gateway; {}", answers.summary());
    answers.ensure_none_failed().with_context(|| what.to_owned())
}

/// Waits until a cluster has this Gateway alone, and the others know it.
pub(super) fn wait_for_gateway(stage: &Stage, member: &Member, node: NodeId) -> Result<()> {
    gateways::wait_for_gateway(stage.lab.plan(), stage.members(), member, node)
}
