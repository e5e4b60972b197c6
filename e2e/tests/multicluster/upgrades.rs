//! A member is upgraded from the version before, whose objects are put in the place of its own. There is no image of that version.

use antrea_e2e::etcd::Etcd;
use antrea_e2e::install::NAMESPACE;
use antrea_e2e::multicluster::cluster_set::{COMMON_AREA, Member, NAME, TOKEN_SECRET};
use antrea_e2e::scenario::{Extent, Part, product};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::faults::Held;
use super::replicas::PODS;
use super::restarts::under_traffic;
use super::stage::{
    SET, Stage, condition, helm, on_the_stage_of, scale_controller, until, upgrade, wait_for_condition,
};

const ROLE: [&str; 4] = ["role", "antrea-mc-controller", "-n", NAMESPACE];
const AUTHORITY: [&str; 4] = ["secret", "antrea-mc-webhook-ca", "-n", NAMESPACE];

/// The controller of a cluster, as RBAC knows it.
const CONTROLLER: &str = "--as=system:serviceaccount:kube-system:antrea-mc-controller";

/// What holds the ClusterSet of a member that leaves.
const FINALIZER: &str = "multicluster.antrea.io/leave";

/// A network of Pods that the configuration named once: the version before did not take it back.
const STALE: &str = "10.99.0.0/16";

#[test]
fn an_upgrade_takes_the_secret_that_the_cluster_set_names_and_loses_nothing() {
    let name = "an_upgrade_takes_the_secret_that_the_cluster_set_names_and_loses_nothing";
    on_the_stage_of(Extent::Long(Part::Two), name, |stage| {
        let (member, own) = (stage.c()?, stage.c()?.token_name());
        under_traffic(stage, || {
            let held = Held::by_all(stage)?.without_labels(&labels_of_controller(stage, member)?);
            let certificate = authority(member)?["ca.crt"].clone();
            scale_controller(member, 0)?;
            leave_as_before(stage, member)?;
            upgrade_all(stage, member)?;
            wait_for_link(member)?;
            ensure_one_secret_is_open(member, &own)?;
            wait_until_it_is_current(stage, member)?;
            let now = authority(member)?;
            ensure!(
                now["ca.crt"] == certificate && now["next.crt"].is_null(),
                "webhooks have another authority"
            );
            held.ensure_it_stayed(stage)
        })?;
        put_back(stage, member)
    });
}

/// The name of the labels that the controller's Pod has. The next one is made of another template, since that names the Secret.
fn labels_of_controller(stage: &Stage, member: &Member) -> Result<String> {
    let pods = member.kubectl.json(&PODS)?;
    let template = pods["items"][0]["metadata"]["labels"]["pod-template-hash"].as_str();
    let label = format!("pod-template-hash={}", template.context("the controller has no Pod")?);
    let exports = stage.a()?.kubectl.json(&["get", "resourceexports", "-n", COMMON_AREA])?;
    let is_of_controller = |export: &&Value| {
        let labels = export["spec"]["labelIdentity"]["normalizedLabel"].as_str().unwrap_or_default();
        export["spec"]["clusterID"] == member.id() && labels.contains(&label)
    };
    let export = exports["items"].as_array().into_iter().flatten().find(is_of_controller);
    let name = export.and_then(|export| export["metadata"]["name"].as_str());
    let name = name.with_context(|| format!("{} exports no {label}", member.id()))?;
    Ok(name.trim_start_matches(&format!("{}-", member.id())).to_owned())
}

/// What the version before leaves: a Secret with the name of the ServiceAccount, a Role with all Secrets, an authority without
/// end, a ClusterSet that nothing holds, and an announce of a network that the configuration does not name any more.
fn leave_as_before(stage: &Stage, member: &Member) -> Result<()> {
    let (kubectl, own) = (&member.kubectl, member.token_name());
    copy_secret(member, TOKEN_SECRET, &own)?;
    kubectl.text(&["delete", "secret", TOKEN_SECRET, "-n", NAMESPACE])?;
    open_all_secrets(member)?;
    let endless = json!({ "data": { "ca.ends": null } }).to_string();
    kubectl.text(&[&["patch"], AUTHORITY.as_slice(), &["--type=merge", "-p", &endless]].concat())?;
    // Past the webhooks, whose program is away.
    let key = format!("/registry/multicluster.crd.antrea.io/clustersets/{NAMESPACE}/{NAME}");
    let etcd = Etcd::of(stage.lab.plan(), member.cluster)?;
    let mut set = etcd.get(&key)?;
    set["metadata"]["finalizers"] = json!([]);
    *set.pointer_mut("/spec/leaders/0/secret").context("the ClusterSet names no Secret")? = json!(own);
    etcd.put(&key, &set)?;
    let (announce, stale) = (member.announce_name(), json!({ "podCIDRs": [STALE] }).to_string());
    let announce = ["memberclusterannounce", &announce, "-n", COMMON_AREA];
    let patch = ["--type=merge", "-p", &stale];
    stage.a()?.kubectl.text(&[&["patch"], announce.as_slice(), &patch].concat()).map(drop)
}

/// The Role of the version before.
fn open_all_secrets(member: &Member) -> Result<()> {
    let role = member.kubectl.json(&[&["get"], ROLE.as_slice()].concat())?;
    let mut rules = role["rules"].as_array().cloned().context("a Role without rules")?;
    rules.retain(|rule| rule["resources"] != json!(["secrets"]));
    let verbs = ["get", "list", "watch", "create", "patch"];
    rules.push(json!({ "apiGroups": [""], "resources": ["secrets"], "verbs": verbs }));
    let patch = json!({ "rules": rules }).to_string();
    let patch = ["--type=merge", "-p", &patch];
    member.kubectl.text(&[&["patch"], ROLE.as_slice(), &patch].concat()).map(drop)
}

/// As a user upgrades, without a word about Secrets. What kubectl has written here, helm wrote in the version before.
fn upgrade_all(stage: &Stage, member: &Member) -> Result<()> {
    let chart = product()?.multicluster.chart.display().to_string();
    helm(stage, member, &["upgrade", "antrea-mc", &chart, "--reuse-values", "--force-conflicts"])?;
    scale_controller(member, 1)
}

/// Waits until the leader has taken a heartbeat of the process that runs now, which holds the ClusterSet.
fn wait_for_link(member: &Member) -> Result<()> {
    wait_for_condition(&member.kubectl, &SET, ("Ready", "True", None))?;
    until(&format!("the ClusterSet of {} to be held", member.id()), || {
        let set = member.kubectl.json(&[&["get"], SET.as_slice()].concat())?;
        let finalizers = set["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        ensure!(finalizers.contains(&json!(FINALIZER)), "its finalizers are {finalizers:?}");
        let unusable = condition(&set, "CredentialUnusable");
        ensure!(unusable.is_null(), "it says {unusable}");
        Ok(())
    })
}

/// Of Secrets with tokens the controller may read this one, and no list of them.
fn ensure_one_secret_is_open(member: &Member, name: &str) -> Result<()> {
    let may = |verb: &str, what: &str| {
        member.kubectl.text(&["auth", "can-i", verb, what, "-n", NAMESPACE, CONTROLLER])
    };
    let own = format!("secret/{name}");
    may("get", &own).with_context(|| format!("the controller may not read {own}"))?;
    for (verb, what) in [("list", "secrets"), ("get", "secrets"), ("get", "secret/another")] {
        ensure!(may(verb, what).is_err(), "the controller may {verb} {what}");
    }
    Ok(())
}

/// Waits until the leader is told of nothing that the configuration does not name.
fn wait_until_it_is_current(stage: &Stage, member: &Member) -> Result<()> {
    let announce = member.announce_name();
    until(&format!("{STALE} to be announced no more"), || {
        let announce =
            stage.a()?.kubectl.json(&["get", "memberclusterannounce", &announce, "-n", COMMON_AREA])?;
        ensure!(announce["podCIDRs"].is_null(), "it names {}", announce["podCIDRs"]);
        ensure!(announce["nodePodCIDRs"][0].is_string(), "it does not name the networks of its Nodes");
        Ok(())
    })
}

/// As the stage has it: the Secret has the name that antctl gives it.
fn put_back(stage: &Stage, member: &Member) -> Result<()> {
    let own = member.token_name();
    copy_secret(member, &own, TOKEN_SECRET)?;
    let patch =
        json!([{ "op": "replace", "path": "/spec/leaders/0/secret", "value": TOKEN_SECRET }]).to_string();
    let patch = ["--type=json", "-p", &patch];
    member.kubectl.text(&[&["patch"], SET.as_slice(), &patch].concat())?;
    upgrade(stage, member, &[])?;
    wait_for_link(member)?;
    ensure_one_secret_is_open(member, TOKEN_SECRET)?;
    member.kubectl.text(&["delete", "secret", &own, "-n", NAMESPACE])?;
    stage.example.wait_for_answers()
}

fn copy_secret(member: &Member, from: &str, to: &str) -> Result<()> {
    let mut secret = member.kubectl.json(&["get", "secret", from, "-n", NAMESPACE])?;
    let before = &secret["metadata"];
    let metadata = json!({
        "name": to,
        "namespace": NAMESPACE,
        "labels": before["labels"],
        "annotations": before["annotations"],
    });
    secret["metadata"] = metadata;
    member.kubectl.apply(&secret.to_string())
}

/// The authority of a member's webhooks.
fn authority(member: &Member) -> Result<Value> {
    let secret = member.kubectl.json(&[&["get"], AUTHORITY.as_slice()].concat())?;
    Ok(secret["data"].clone())
}
