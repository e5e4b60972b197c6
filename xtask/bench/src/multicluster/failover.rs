//! A Gateway fails while requests pass it, on a lab with Nodes and packets: how soon another Node is the Gateway, how soon
//! requests are answered promptly again, and how many failed in between.

mod stage;

use std::time::{Duration, Instant, SystemTime};

use antrea_e2e::install::{NAMESPACE, multicluster};
use antrea_e2e::multicluster::cluster_set::Member;
use antrea_e2e::multicluster::gateways::second_node;
use antrea_e2e::multicluster::tunnels::CutTunnel;
use antrea_e2e::names::{NodeId, Place};
use antrea_e2e::paused::Paused;
use antrea_e2e::wait;
use anyhow::{Context, Result};

use super::watch::{Watches, What};
use crate::api::Api;
use crate::{Figure, distribution};
use stage::Stage;

pub(super) const WORKLOAD: &str = "GatewayFailover";

/// Of each way to fail.
const ROUNDS: usize = 5;

/// A Gateway that nobody replaces within this time is a fault.
const ELECTED_WITHIN: Duration = Duration::from_secs(60);

/// Requests go on for so long after all clusters know the new Gateway: one that is lost is given up after 5 s.
const GO_ON: Duration = Duration::from_secs(10);

const GATEWAYS: &str = "/apis/multicluster.crd.antrea.io/v1alpha1/namespaces/kube-system/gateways";

/// As the Node controller does, when it has not heard of a kubelet for 50 seconds.
const NOT_READY: &str =
    r#"{"status":{"conditions":[{"type":"Ready","status":"Unknown","reason":"NodeStatusUnknown"}]}}"#;

/// The ways to fail.
const FAULTS: [(&str, Fault); 4] = [
    ("NodeNotReady", node_not_ready),
    ("AgentSilent", agent_silent),
    ("TunnelCut", tunnel_cut),
    ("AnnotationMoved", annotation_moved),
];

type Fault = fn(&Stage) -> Result<Round>;

/// What became of one failure, in seconds since the fault was begun.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Round {
    /// Another Node was the Gateway.
    elected: f64,
    /// Requests were prompt again.
    prompt: f64,
    /// Requests that were not answered.
    unanswered: u32,
}

pub(super) fn measure() -> Result<Vec<Figure>> {
    let stage = Stage::up()?;
    let mut figures = Vec::new();
    for (name, fault) in FAULTS {
        let rounds = (0..ROUNDS).map(|_| fault(&stage)).collect::<Result<Vec<_>>>();
        figures.extend(of(name, &rounds.with_context(|| name.to_owned())?));
    }
    Ok(figures)
}

/// The figures of one way to fail.
fn of(name: &str, rounds: &[Round]) -> Vec<Figure> {
    let workload = format!("multicluster/{WORKLOAD}{name}");
    let unanswered: u32 = rounds.iter().map(|round| round.unanswered).sum();
    let mut figures = distribution(&workload, rounds.iter().map(|round| round.prompt).collect());
    let elected = rounds.iter().map(|round| round.elected).collect();
    figures.extend(distribution(&format!("{workload}Elected"), elected));
    figures.push(Figure::count(format!("{workload}/count"), f64::from(unanswered)));
    figures
}

/// The kubelet stops, and the Node is said not to be ready.
fn node_not_ready(stage: &Stage) -> Result<Round> {
    let member = stage.exporter()?;
    let node = member.first_node();
    member.choose_gateway(second_node(member))?;
    let round = round(stage, member, || {
        let kubelet = Paused::in_place(stage.lab().plan(), Place::Node(node), "kubelet")?;
        member.kubectl.text(&[
            "patch",
            "node",
            &node.to_string(),
            "--subresource=status",
            "-p",
            NOT_READY,
        ])?;
        Ok(kubelet)
    })?;
    // The controller may have been evicted.
    member.kubectl.rollout(NAMESPACE, multicluster::DEPLOYMENT, 120)?;
    Ok(round)
}

/// The agent stops where it is; its flows stay.
fn agent_silent(stage: &Stage) -> Result<Round> {
    let member = stage.exporter()?;
    member.choose_gateway(second_node(member))?;
    round(stage, member, || {
        Paused::in_place(stage.lab().plan(), Place::Node(member.first_node()), "antrea-agent")
    })
}

/// The tunnel of the Gateway is cut in the network.
fn tunnel_cut(stage: &Stage) -> Result<Round> {
    let member = stage.importer()?;
    member.choose_gateway(second_node(member))?;
    round(stage, member, || CutTunnel::of(stage.lab().plan(), member.first_node()))
}

/// Somebody wants the other Node to be the Gateway.
fn annotation_moved(stage: &Stage) -> Result<Round> {
    let member = stage.exporter()?;
    round(stage, member, || {
        member.choose_gateway(second_node(member))?;
        member.dismiss_gateway(member.first_node())
    })
}

/// Requests go on while the Gateway of a cluster fails, until the return of `fault` goes away. The first Node is the
/// Gateway before and after.
fn round<F>(stage: &Stage, member: &Member, fault: impl FnOnce() -> Result<F>) -> Result<Round> {
    let (first, second) = (member.first_node(), second_node(member));
    let api = Api::open(stage.lab(), member.cluster)?;
    let watches = Watches::open(&api, &[GATEWAYS.to_owned()])?;
    let requests = stage.requests()?;
    // What has to be told by kubectl may be known before that has ended.
    let (failed, failed_at) = (SystemTime::now(), Instant::now());
    let fault = fault()?;
    let elected = wait_for_election(&watches, second)?.saturating_duration_since(failed_at);
    stage.wait_for_gateway(member, second)?;
    stage.example.wait_for_answers()?;
    let known = Instant::now();
    wait::until(GO_ON * 2, "requests to go on", || Ok(known.elapsed() >= GO_ON))?;
    let answers = requests.end()?;
    drop(fault);
    member.kubectl.wait("condition=Ready", 60, &["node", &first.to_string()])?;
    member.choose_gateway(first)?;
    member.dismiss_gateway(second)?;
    stage.wait_for_gateway(member, first)?;
    stage.example.wait_for_answers()?;
    let prompt = answers.prompt_since(failed + elected)?.duration_since(failed)?;
    Ok(Round {
        elected: elected.as_secs_f64(),
        prompt: prompt.as_secs_f64(),
        unanswered: u32::try_from(answers.unanswered())?,
    })
}

/// When a Node was the Gateway.
fn wait_for_election(watches: &Watches, node: NodeId) -> Result<Instant> {
    let deadline = Instant::now() + ELECTED_WITHIN;
    loop {
        let seen = watches.next(deadline).with_context(|| format!("{node} was not elected"))?;
        if seen.what == What::Is && seen.object["metadata"]["name"] == node.to_string() {
            return Ok(seen.at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_of_all_rounds() {
        let round = |elected, unanswered| Round { elected, prompt: elected + 1.0, unanswered };
        let figures = of("TunnelCut", &[round(8.0, 3), round(6.0, 0), round(7.0, 2)]);
        let text: Vec<String> =
            figures.iter().map(|figure| format!("{} {}{}", figure.name, figure.value, figure.unit)).collect();
        assert_eq!(
            text,
            [
                "multicluster/GatewayFailoverTunnelCut/p50_seconds 8s",
                "multicluster/GatewayFailoverTunnelCut/p99_seconds 9s",
                "multicluster/GatewayFailoverTunnelCutElected/p50_seconds 7s",
                "multicluster/GatewayFailoverTunnelCutElected/p99_seconds 8s",
                "multicluster/GatewayFailoverTunnelCut/count 5",
            ]
        );
    }
}
