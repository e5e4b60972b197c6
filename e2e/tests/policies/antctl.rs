//! What antctl shows of policies: the same of the controller, however it is asked, and of the agent that enforces them.

use antrea_e2e::command::Run as _;
use anyhow::{Context, Result, ensure};

use super::stage::{Stage, on_the_stage};
use crate::agent_api::{in_agent, outside};
use crate::antctl::Antctl;
use crate::cluster::NAMESPACE;

const POLICY: &str = "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: shown, namespace: x}
spec:
  podSelector: {matchLabels: {app: x-a}}
  policyTypes: [Ingress]
  ingress: [{from: [{namespaceSelector: {matchLabels: {team: z}}}]}]";

#[test]
fn antctl_shows_what_the_controller_has_computed_and_what_agents_were_told() {
    on_the_stage("antctl_shows_what_the_controller_has_computed_and_what_agents_were_told", |stage| {
        stage.apply(POLICY)?;
        stage.ensure("z-a -> x-a tcp/8080: allowed\nx-b -> x-a tcp/8080: denied")?;
        let policy = stage.api().get("/apis/networking.k8s.io/v1/namespaces/x/networkpolicies/shown")?;
        let uid = policy["metadata"]["uid"].as_str().context("a policy without UID")?;
        let cluster = &stage.services.cluster;
        let antctl = Antctl::from_the_image(cluster)?;
        let admin = |words: &[&str]| outside(cluster, antctl.program(), words)?.text();
        let exec = ["exec", "-n", NAMESPACE, "deployment/antrea-controller", "--", "antctl"];
        let inside = |words: &[&str]| cluster.kubectl.text(&[exec.as_slice(), words].concat());
        the_controller_tells(&admin, uid).context("on the machine of an administrator")?;
        the_controller_tells(&inside, uid).context("in the controller's container")?;
        the_agents_tell(stage, uid)
    });
}

type Ask<'a> = &'a dyn Fn(&[&str]) -> Result<String>;

fn the_controller_tells(antctl: Ask<'_>, uid: &str) -> Result<()> {
    let policies = antctl(&["get", "networkpolicy"])?;
    ensure_line(&policies, &[uid, "K8sNetworkPolicy:x/shown"])?;
    let yaml = antctl(&["get", "networkpolicy", uid, "-o", "yaml"])?;
    let group = yaml.split("addressGroups:\n").nth(1).and_then(|rest| rest.split_whitespace().nth(1));
    let group = group.with_context(|| format!("a rule of nobody:\n{yaml}"))?;
    let members = antctl(&["get", "addressgroup", group, "-o", "yaml"])?;
    ensure!(members.contains("name: z-a\n") && members.contains("name: z-b\n"), "{members}");
    ensure_line(&antctl(&["get", "appliedtogroup"])?, &["x/x-a"])?;
    ensure_line(&antctl(&["get", "controllerinfo"])?, &["antrea-controller-", "Healthy"])?;
    let endpoint = antctl(&["query", "endpoint", "-n", "x", "-p", "x-a"])?;
    ensure!(endpoint.starts_with("Endpoint x/x-a\nApplied Policies on Endpoint:\n"), "{endpoint}");
    ensure_line(&endpoint, &["shown", "x", uid])?;
    let peer = antctl(&["query", "endpoint", "-n", "z", "-p", "z-b"])?;
    let (_, rules) =
        peer.split_once("Ingress Rules Referencing Endpoint as Source:\n").context(peer.clone())?;
    ensure_line(rules, &["shown", "x", "0", uid])
}

/// The agent of the Pod's Node knows the policy, the other one does not.
fn the_agents_tell(stage: &Stage<'_>, uid: &str) -> Result<()> {
    let (here, there) = (stage.services.here.node, stage.services.there.node);
    let antctl = |node, words: &[&str]| in_agent(&stage.services.cluster, node, words);
    let of_pod = antctl(here, &["get", "networkpolicy", "-p", "x/x-a", "-T", "K8sNP"])?;
    ensure_line(&of_pod, &[uid, "K8sNetworkPolicy:x/shown"])?;
    ensure_line(&antctl(here, &["get", "appliedtogroup"])?, &["x/x-a"])?;
    ensure!(
        antctl(here, &["get", "addressgroup", "-o", "yaml"])?.contains("name: z-b\n"),
        "peers are missing"
    );
    let elsewhere = antctl(there, &["get", "networkpolicy", "-S", "shown"])?;
    ensure!(!elsewhere.contains(uid), "the other Node was told, too:\n{elsewhere}");
    Ok(())
}

/// A line of a table with these in its cells.
fn ensure_line(table: &str, parts: &[&str]) -> Result<()> {
    let has = |line: &str| parts.iter().all(|part| line.split_whitespace().any(|cell| cell.contains(part)));
    ensure!(table.lines().any(has), "no line has {parts:?}:\n{table}");
    Ok(())
}
