//! The Gateway fails and another Node takes over: how soon that is seen, and how soon requests are answered again.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use antrea_e2e::install::{NAMESPACE, multicluster};
use antrea_e2e::lab::Lab;
use antrea_e2e::multicluster::cluster_set::Member;
use antrea_e2e::multicluster::gateways::{gateways, second_node};
use antrea_e2e::multicluster::requests::{Answers, Requests};
use antrea_e2e::multicluster::tunnels::CutTunnel;
use antrea_e2e::names::{NodeId, Place};
use antrea_e2e::patience::ensure_in_time;
use antrea_e2e::paused::Paused;
use antrea_e2e::scenario::{Extent, Part};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::gateways::wait_for_gateway;
use super::stage::{Stage, on_the_stage, on_the_stage_of, until};

/// The controller sees what agents report, or report no more; the slowest fault is a silence of 8 s.
const DETECTION: Duration = Duration::from_secs(10);
/// The controller sees at once what Kubernetes says of a Node.
const AT_ONCE: Duration = Duration::from_secs(1);
/// From the election of another Gateway to prompt answers.
const RECOVERY: Duration = Duration::from_secs(5);
/// A Gateway's agent reports every 2 s: for so many reports nobody else is elected.
const REPORTS: usize = 5;

const NOT_READY: &str =
    r#"{"status":{"conditions":[{"type":"Ready","status":"Unknown","reason":"NodeStatusUnknown"}]}}"#;

#[test]
fn another_node_becomes_the_gateway_when_its_node_is_not_ready() {
    on_the_stage("another_node_becomes_the_gateway_when_its_node_is_not_ready", |stage| {
        let member = stage.b()?;
        let node = member.first_node();
        let kubelet_dies = || {
            let kubelet = Paused::in_place(stage.lab.plan(), Place::Node(node), "kubelet")?;
            // As the Node controller does, when it has not heard of a kubelet for 50 seconds.
            let patch = ["patch", "node", &node.to_string(), "--subresource=status", "-p", NOT_READY];
            member.kubectl.text(&patch)?;
            Ok(kubelet)
        };
        let failure = Failure { what: "the Node is not ready", within: AT_ONCE };
        fail_over(stage, member, &failure, kubelet_dies)?.ensure_none_failed()?;
        member.kubectl.wait("condition=Ready", 60, &["node", &node.to_string()])?;
        // The controller may have been evicted.
        member.kubectl.rollout(NAMESPACE, multicluster::DEPLOYMENT, 120)
    });
}

/// The controller is on the other Node: where it dies with the Gateway, Kubernetes has to start another one first.
#[test]
fn another_node_becomes_the_gateway_when_its_node_dies() {
    on_the_stage_of(
        Extent::Long(Part::Two),
        "another_node_becomes_the_gateway_when_its_node_dies",
        |stage| {
            let member = stage.b()?;
            let node = member.first_node();
            place_controller(member, &json!(second_node(member).to_string()))?;
            let node_dies = || {
                stage.lab.kill_node(node)?;
                Ok(Dead { lab: &stage.lab, node })
            };
            let failure = Failure { what: "the Node is dead", within: DETECTION };
            fail_over(stage, member, &failure, node_dies)?;
            place_controller(member, &Value::Null)
        },
    );
}

/// Where the controller runs, from now on: anywhere without a name.
fn place_controller(member: &Member, node: &Value) -> Result<()> {
    let selector = json!({ "kubernetes.io/hostname": node });
    let patch = json!({ "spec": { "template": { "spec": { "nodeSelector": selector } } } }).to_string();
    member.kubectl.text(&["patch", "-n", NAMESPACE, multicluster::DEPLOYMENT, "-p", &patch])?;
    member.kubectl.rollout(NAMESPACE, multicluster::DEPLOYMENT, 120)
}

/// A Node without power, until this goes away.
struct Dead<'a> {
    lab: &'a Lab,
    node: NodeId,
}

impl Drop for Dead<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.lab.boot_node(self.node) {
            eprintln!("{} stays dead: {error:#}", self.node);
        }
    }
}

#[test]
fn another_node_becomes_the_gateway_when_its_agent_is_silent() {
    on_the_stage("another_node_becomes_the_gateway_when_its_agent_is_silent", |stage| {
        let member = stage.b()?;
        let agent_stops =
            || Paused::in_place(stage.lab.plan(), Place::Node(member.first_node()), "antrea-agent");
        let failure = Failure { what: "the agent is silent", within: DETECTION };
        fail_over(stage, member, &failure, agent_stops).map(drop)
    });
}

#[test]
fn another_node_becomes_the_gateway_when_it_reaches_nobody() {
    on_the_stage("another_node_becomes_the_gateway_when_it_reaches_nobody", |stage| {
        let member = stage.a()?;
        let tunnel_breaks = || CutTunnel::of(stage.lab.plan(), member.first_node());
        let failure = Failure { what: "the Gateway reaches nobody", within: DETECTION };
        fail_over(stage, member, &failure, tunnel_breaks).map(drop)
    });
}

#[test]
fn a_gateway_that_loses_one_peer_stays() {
    on_the_stage("a_gateway_that_loses_one_peer_stays", |stage| {
        let (member, peer) = (stage.b()?, stage.c()?);
        let node = member.first_node();
        member.choose_gateway(second_node(member))?;
        let requests = requests(stage)?;
        let cut = CutTunnel::between(stage.lab.plan(), node, peer.first_node())?;
        wait_for_peer(member, peer, false)?;
        ensure_it_stays(member, node)?;
        drop(cut);
        wait_for_peer(member, peer, true)?;
        ensure_it_stays(member, node)?;
        member.dismiss_gateway(second_node(member))?;
        requests.end()?.ensure_none_failed()
    });
}

/// How the Gateway fails, and how soon another has to be elected.
struct Failure {
    what: &'static str,
    within: Duration,
}

/// Both Nodes of a cluster may be the Gateway, and the one that is fails until the return of `fault` goes away: the other
/// one takes over and stays, and requests are answered again. Returns what became of them.
fn fail_over<F>(
    stage: &Stage,
    member: &Member,
    failure: &Failure,
    fault: impl FnOnce() -> Result<F>,
) -> Result<Answers> {
    let (first, second) = (member.first_node(), second_node(member));
    member.choose_gateway(second)?;
    let requests = requests(stage)?;
    let fault = fault()?;
    let failed = SystemTime::now();
    until(&format!("{second} to be elected"), || {
        let gateways = gateways(member)?;
        ensure!(gateways.contains(&second.to_string()), "the Gateways are {gateways:?}");
        Ok(())
    })?;
    let elected = SystemTime::now();
    wait_for_gateway(stage, member, second)?;
    ensure_it_stays(member, second)?;
    stage.example.wait_for_answers()?;
    let answers = requests.end()?;
    drop(fault);
    member.dismiss_gateway(second)?;
    wait_for_gateway(stage, member, first)?;
    stage.example.wait_for_answers()?;
    let detection = elected.duration_since(failed)?;
    let recovery = answers.prompt_since(elected)?.duration_since(elected)?;
    println!("{}: seen in {detection:.1?}, recovered in {recovery:.1?}; {}", failure.what, answers.summary());
    ensure_in_time(&format!("{}: detection", failure.what), detection, failure.within)?;
    ensure_in_time(&format!("{}: recovery", failure.what), recovery, RECOVERY)?;
    Ok(answers)
}

fn requests(stage: &Stage) -> Result<Requests> {
    Requests::start(&stage.example.client, SocketAddr::V4(stage.example.imported))
}

/// The Node is the only Gateway for some reports of its agent.
fn ensure_it_stays(member: &Member, node: NodeId) -> Result<()> {
    let mut last = String::new();
    for _ in 0..REPORTS {
        until(&format!("another report of {node}"), || {
            let gateways = member.gateways()?;
            let [gateway] = gateways.as_slice() else { anyhow::bail!("the Gateways are {gateways:?}") };
            ensure!(gateway["metadata"]["name"] == node.to_string(), "{gateway} is the Gateway");
            let report = gateway["status"]["probe"]["heartbeatTime"].as_str().unwrap_or_default();
            ensure!(report != last, "it has not reported since {last}");
            report.clone_into(&mut last);
            Ok(())
        })?;
    }
    Ok(())
}

/// Waits until the Gateway of a cluster says that it reaches that of another, or does not.
fn wait_for_peer(member: &Member, peer: &Member, reached: bool) -> Result<()> {
    until(&format!("a report that says of {} reached={reached}", peer.id()), || {
        let gateways = member.gateways()?;
        let gateway = gateways.first().context("there is no Gateway")?;
        let peers = gateway["status"]["probe"]["peers"].as_array().into_iter().flatten();
        let found: Vec<&Value> = peers.filter(|probed| probed["clusterID"] == peer.id()).collect();
        ensure!(found.iter().any(|probed| probed["reached"] == reached), "it says {found:?}");
        Ok(())
    })
}
