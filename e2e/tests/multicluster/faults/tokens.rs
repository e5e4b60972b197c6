//! A token whose time is over: it is named, with the command that mends it, and costs nothing else.

use antrea_e2e::multicluster::cluster_set::{COMMON_AREA, Member, TOKEN_SECRET};
use antrea_e2e::{pki, state};
use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::super::restarts::under_traffic;
use super::super::stage::{SET, Stage, on_the_stage, wait_for_condition};
use super::Held;

#[test]
fn a_token_that_has_expired_is_named_and_costs_nothing() {
    on_the_stage("a_token_that_has_expired_is_named_and_costs_nothing", |stage| {
        let (leader, member) = (stage.a()?, stage.b()?);
        under_traffic(stage, || {
            let held = Held::by_all(stage)?;
            give(member, &expired(stage, leader, member)?)?;
            let told = ("CredentialExpired", "True", Some("TokenExpired"));
            let condition = wait_for_condition(&member.kubectl, &SET, told)?;
            let message = condition["message"].as_str().unwrap_or_default();
            ensure!(message.contains(&member.token_name()), "it says {message:?}");
            ensure!(message.contains("create membertoken"), "it says {message:?}");
            leader.create_token(member)?;
            member.join()?;
            wait_for_condition(&member.kubectl, &SET, ("CredentialExpired", "False", None))?;
            wait_for_condition(&member.kubectl, &SET, ("Ready", "True", None))?;
            held.ensure_it_stayed(stage)
        })
    });
}

/// A token of the member that the leader's API server has signed, but for the times.
fn expired(stage: &Stage, leader: &Member, member: &Member) -> Result<String> {
    let token = leader.kubectl.text(&["create", "token", "-n", COMMON_AREA, &member.token_name()])?;
    let (header, rest) = token.trim().split_once('.').context("a token without claims")?;
    let claims = rest.split('.').next().unwrap_or_default();
    let mut claims: Value = serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(claims)?)?;
    let now = claims["iat"].as_u64().context("a token without time")?;
    for (time, ago) in [("iat", 7200), ("nbf", 7200), ("exp", 3600)] {
        claims[time] = json!(now - ago);
    }
    let folder = state::cluster_folder(&stage.lab.plan().name, leader.cluster).join("pki");
    pki::sign_service_account_token(&folder, header, &BASE64_URL_SAFE_NO_PAD.encode(claims.to_string()))
}

/// The member has this token from now on.
fn give(member: &Member, token: &str) -> Result<()> {
    let patch = json!({ "data": { "token": BASE64_STANDARD.encode(token) } }).to_string();
    let secret = ["patch", "secret", "-n", "kube-system", TOKEN_SECRET, "-p", &patch];
    member.kubectl.text(&secret).map(drop)
}
