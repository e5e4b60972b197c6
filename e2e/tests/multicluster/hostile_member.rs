//! A member that lies about itself: with nothing but its token it neither draws nor cuts off anybody's traffic.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::time::Duration;

use antrea_e2e::command::Run as _;
use antrea_e2e::multicluster::cluster_set::{COMMON_AREA, Member};
use antrea_e2e::multicluster::requests::Requests;
use antrea_e2e::names::{NodeId, Place};
use antrea_e2e::{exec, wait};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::overlap::{by_age, said_of, told_of, wait_for_no_conflict};
use super::permissions::attempt::{Answer, Attacker, Attempt};
use super::permissions::find;
use super::stage::{Stage, on_the_stage, scale_controller, until};
use crate::traces::BRIDGE;

/// For so long the others are looked at: agents follow within a second.
const AFTERWARDS: Duration = Duration::from_secs(5);

/// A network of the Internet, and the annotation that binds networks to a member.
const PUBLIC: &str = "1.1.1.0/24";
const BINDING: &str = "multicluster.antrea.io/networks";

#[test]
fn a_member_that_claims_the_gateway_of_another_cuts_nobody_off() {
    on_the_stage("a_member_that_claims_the_gateway_of_another_cuts_nobody_off", |stage| {
        // The older one: the age of members must not decide on what is there already.
        let (older, younger) = by_age(stage)?;
        let attacker = Attacker::with_the_token_of(stage, older, younger)?;
        // Its controller would take the claim back within milliseconds.
        scale_controller(older, 0)?;
        let requests = Requests::start(&stage.example.client, SocketAddr::V4(stage.example.imported))?;
        let gateways = [gateways_of(stage, older)?, gateways_of(stage, younger)?];
        let both: Vec<Value> = gateways.iter().flatten().cloned().collect();
        let answer = say(stage, &attacker, older, &json!({ "gatewayInfos": both }))?;
        ensure!(answer.code == 200, "{} {}", answer.code, answer.text);
        until("the leader to say that the Gateway is that of another", || {
            let said = said_of(stage, older)?.unwrap_or_default();
            let message = said["message"].as_str().unwrap_or_default();
            ensure!(said["reason"] == "GatewayRefused" && message.contains(&younger.id()), "it says {said}");
            Ok(())
        })?;
        wait::pause(AFTERWARDS);
        requests.end()?.ensure_none_failed().context("requests to the member whose Gateway was claimed")?;
        for (member, gateways) in [(older, &gateways[0]), (younger, &gateways[1])] {
            let imported = imported(stage, member)?["spec"]["clusterinfo"]["gatewayInfos"].clone();
            ensure!(imported == json!(gateways), "of {} is imported {imported}", member.id());
        }
        scale_controller(older, 1)?;
        wait_for_no_conflict(stage, older)?;
        wait_for_no_conflict(stage, younger)
    });
}

/// Once an admin has run the command that the leader tells, the network is the member's.
#[test]
fn a_member_draws_no_traffic_to_networks_that_are_not_bound_to_it() {
    on_the_stage("a_member_draws_no_traffic_to_networks_that_are_not_bound_to_it", |stage| {
        let (member, other) = (stage.b()?, stage.c()?);
        let attacker = Attacker::with_the_token_of(stage, member, other)?;
        scale_controller(member, 0)?;
        let requests = Requests::start(&stage.example.client, SocketAddr::V4(stage.example.imported))?;
        claim_the_public_network(stage, &attacker, member)?;
        let command = wait_for_the_command_that_binds(stage, member)?;
        wait::pause(AFTERWARDS);
        let drawn = drawn_on(stage, member)?;
        ensure!(drawn.is_empty(), "{drawn:?} send what is for {PUBLIC} to {}", member.id());
        run(stage, &command)?;
        wait_for_drawn(stage, member, Drawn::OnAll)?;
        let (account, without) = (member.token_name(), format!("{BINDING}-"));
        stage.a()?.kubectl.text(&["annotate", "serviceaccount", "-n", COMMON_AREA, &account, &without])?;
        wait_for_drawn(stage, member, Drawn::Nowhere)?;
        scale_controller(member, 1)?;
        until("the public network to be claimed no more", || {
            let told = told_of(stage, member, "NetworkUnapproved")?;
            ensure!(told.is_none(), "the leader says {told:?}");
            Ok(())
        })?;
        requests.end()?.ensure_none_failed().context("requests while a member claimed what is not its own")
    });
}

/// By announce and ClusterInfo, as the controller of the member would say it.
fn claim_the_public_network(stage: &Stage, attacker: &Attacker, member: &Member) -> Result<()> {
    let networks = attacker.announces[0]["serviceCIDRs"].as_array().cloned();
    let mut networks = networks.with_context(|| format!("{} announces no networks", member.id()))?;
    networks.push(json!(PUBLIC));
    let body = json!({ "serviceCIDRs": networks });
    let answer = patch(attacker, "memberclusterannounces", &member.announce_name(), body)?;
    ensure!(answer.code == 200, "{} {}", answer.code, answer.text);
    // The leader may not have heard of the announce yet.
    until("the ClusterInfo to be taken", || {
        let answer = say(stage, attacker, member, &json!({ "serviceCIDRs": networks }))?;
        ensure!(answer.code == 200, "{} {}", answer.code, answer.text);
        Ok(())
    })
}

/// Waits until the leader says that the network is bound to nobody; the command that it tells.
fn wait_for_the_command_that_binds(stage: &Stage, member: &Member) -> Result<String> {
    let mut command = String::new();
    until(&format!("the leader to say that {PUBLIC} is not bound to {}", member.id()), || {
        let told = told_of(stage, member, "NetworkUnapproved")?.unwrap_or_default();
        let message = told["message"].as_str().unwrap_or_default();
        ensure!(told["reason"] == "NotBound" && message.contains(PUBLIC), "it says {told}");
        command = message.split('`').nth(1).context("it tells no command")?.to_owned();
        Ok(())
    })?;
    Ok(command)
}

/// Runs a command of kubectl in the leader.
fn run(stage: &Stage, command: &str) -> Result<()> {
    let words: Vec<&str> = command.split(' ').collect();
    let [program, arguments @ ..] = words.as_slice() else { anyhow::bail!("{command:?} is no command") };
    ensure!(*program == "kubectl", "{command:?} is none of kubectl");
    stage.a()?.kubectl.text(arguments).map(drop)
}

/// On which Nodes of other clusters the public network is that of the member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Drawn {
    OnAll,
    Nowhere,
}

fn wait_for_drawn(stage: &Stage, member: &Member, wanted: Drawn) -> Result<()> {
    let nodes = nodes_of_others(stage, member).len();
    until(&format!("flows of {PUBLIC}: {wanted:?}"), || {
        let drawn = drawn_on(stage, member)?;
        let expected = if wanted == Drawn::OnAll { nodes } else { 0 };
        ensure!(drawn.len() == expected, "{drawn:?} of {nodes} have one");
        Ok(())
    })
}

/// The Nodes of other clusters that have a flow for the public network.
fn drawn_on(stage: &Stage, member: &Member) -> Result<Vec<NodeId>> {
    let mut drawn = Vec::new();
    for node in nodes_of_others(stage, member) {
        let dump = ["ovs-ofctl", "-O", "OpenFlow15", "dump-flows", BRIDGE].map(OsString::from);
        let flows = exec::command(&stage.lab, Place::Node(node), &dump)?.text()?;
        drawn.extend(flows.contains(PUBLIC).then_some(node));
    }
    Ok(drawn)
}

fn nodes_of_others(stage: &Stage, member: &Member) -> Vec<NodeId> {
    let others = stage.lab.plan().clusters.iter().filter(|cluster| cluster.id != member.cluster);
    others.flat_map(|cluster| &cluster.nodes).map(|node| node.id).collect()
}

/// Changes the ClusterInfo of a member with its token.
fn say(stage: &Stage, attacker: &Attacker, member: &Member, of_itself: &Value) -> Result<Answer> {
    let export = exported(stage, member)?;
    let name = export["metadata"]["name"].as_str().context("the export has no name")?;
    patch(attacker, "resourceexports", name, json!({ "spec": { "clusterInfo": of_itself } }))
}

/// Changes an object of a member with its token.
fn patch(attacker: &Attacker, resource: &str, name: &str, body: Value) -> Result<Answer> {
    attacker.make(&Attempt {
        resource: resource.to_owned(),
        whose: "own".to_owned(),
        verb: "patch".to_owned(),
        expected: 200,
        says: String::new(),
        path: format!("apis/multicluster.crd.antrea.io/v1alpha1/namespaces/{COMMON_AREA}/{resource}/{name}"),
        body,
    })
}

fn gateways_of(stage: &Stage, member: &Member) -> Result<Vec<Value>> {
    let export = exported(stage, member)?;
    let gateways = export["spec"]["clusterInfo"]["gatewayInfos"].as_array().cloned();
    gateways.with_context(|| format!("{} has no Gateway", member.id()))
}

/// What other clusters are told of a member.
fn imported(stage: &Stage, member: &Member) -> Result<Value> {
    find(stage, "resourceimports", |spec| spec["clusterinfo"]["clusterID"] == member.id())
}

/// What a member tells of itself.
fn exported(stage: &Stage, member: &Member) -> Result<Value> {
    find(stage, "resourceexports", |spec| spec["clusterInfo"]["clusterID"] == member.id())
}
