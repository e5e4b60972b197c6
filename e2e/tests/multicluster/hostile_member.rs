//! A member that says of itself what is not so: with nothing but its token it draws and cuts off nobody's traffic.

use std::net::SocketAddr;
use std::time::Duration;

use antrea_e2e::multicluster::cluster_set::{COMMON_AREA, Member};
use antrea_e2e::multicluster::requests::Requests;
use antrea_e2e::wait;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::overlap::{by_age, said_of, wait_for_no_conflict};
use super::permissions::attempt::{Answer, Attacker, Attempt};
use super::permissions::find;
use super::stage::{Stage, on_the_stage, scale_controller, until};

/// For so long the others are looked at: agents have followed within seconds.
const AFTERWARDS: Duration = Duration::from_secs(20);

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
            let imported = imported(stage, member)?["spec"]["clusterInfo"]["gatewayInfos"].clone();
            ensure!(imported == json!(gateways), "of {} is imported {imported}", member.id());
        }
        scale_controller(older, 1)?;
        wait_for_no_conflict(stage, older)?;
        wait_for_no_conflict(stage, younger)
    });
}

/// Changes the ClusterInfo of a member with its token.
fn say(stage: &Stage, attacker: &Attacker, member: &Member, of_itself: &Value) -> Result<Answer> {
    let export = info(stage, "resourceexports", member)?;
    let name = export["metadata"]["name"].as_str().context("the export has no name")?;
    attacker.make(&Attempt {
        resource: "resourceexports".to_owned(),
        whose: "own".to_owned(),
        verb: "patch".to_owned(),
        expected: 200,
        says: String::new(),
        path: format!(
            "apis/multicluster.crd.antrea.io/v1alpha1/namespaces/{COMMON_AREA}/resourceexports/{name}"
        ),
        body: json!({ "spec": { "clusterInfo": of_itself } }),
    })
}

fn gateways_of(stage: &Stage, member: &Member) -> Result<Vec<Value>> {
    let export = info(stage, "resourceexports", member)?;
    let gateways = export["spec"]["clusterInfo"]["gatewayInfos"].as_array().cloned();
    gateways.with_context(|| format!("{} has no Gateway", member.id()))
}

/// What other clusters are told of a member.
fn imported(stage: &Stage, member: &Member) -> Result<Value> {
    info(stage, "resourceimports", member)
}

/// The ClusterInfo of a member among objects of the Common Area.
fn info(stage: &Stage, kind: &str, member: &Member) -> Result<Value> {
    find(stage, kind, |spec| spec["clusterInfo"]["clusterID"] == member.id())
}
