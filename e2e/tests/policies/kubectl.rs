//! What antrea-controller has computed, as a user sees it with kubectl.

use antrea_e2e::wait;
use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::stage::{PATIENCE, Stage, on_the_stage};

const POLICY: &str = "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: seen, namespace: x}
spec:
  podSelector: {matchLabels: {app: x-a}}
  ingress: [{from: [{namespaceSelector: {matchLabels: {team: z}}}], ports: [{port: web}]}]";

#[test]
fn kubectl_shows_what_the_controller_has_computed_of_a_policy() {
    on_the_stage("kubectl_shows_what_the_controller_has_computed_of_a_policy", |stage| {
        stage.apply(POLICY)?;
        let path = "/apis/networking.k8s.io/v1/namespaces/x/networkpolicies/seen";
        let policy = stage.api().get(path)?;
        let uid = policy["metadata"]["uid"].as_str().context("a policy without UID")?;
        let kubectl = |words: &[&str]| stage.services.cluster.kubectl.text(words);
        let resource = "networkpolicies.v1beta2.controlplane.antrea.io";
        wait::until(PATIENCE, "kubectl to show the policy", || {
            Ok(kubectl(&["get", resource])?.lines().any(|line| line.starts_with(uid)))
        })?;
        let computed: Value = serde_json::from_str(&kubectl(&["get", resource, uid, "-o", "json"])?)?;
        let source = &computed["sourceRef"];
        ensure!(source["type"] == "K8sNetworkPolicy" && source["name"] == "seen", "{computed}");
        let group = computed["rules"][0]["from"]["addressGroups"][0].as_str().context("a rule of nobody")?;
        ensure_members(stage, "addressgroups", group, &["z-a", "z-b"], &["x-a", "x-b"])?;
        let applied = computed["appliedToGroups"][0].as_str().context("a policy for nobody")?;
        ensure_members(stage, "appliedtogroups", applied, &["x-a"], &["x-b", "z-a"])?;
        let yaml = kubectl(&["get", "addressgroups", "-o", "yaml"])?;
        ensure!(yaml.contains(group) && yaml.contains("name: z-b"), "{yaml}");
        let explained =
            kubectl(&["explain", "--api-version=controlplane.antrea.io/v1beta2", "networkpolicies.rules"])?;
        ensure!(explained.contains("appliedToGroups") && explained.contains("enableLogging"), "{explained}");
        ensure_raw(stage, uid)
    });
}

fn ensure_members(
    stage: &Stage<'_>,
    kind: &str,
    name: &str,
    inside: &[&str],
    outside: &[&str],
) -> Result<()> {
    let yaml = stage.services.cluster.kubectl.text(&["get", kind, name, "-o", "yaml"])?;
    let has = |pod: &&&str| yaml.contains(&format!("name: {pod}\n"));
    ensure!(inside.iter().all(|pod| has(&pod)) && !outside.iter().any(|pod| has(&pod)), "{yaml}");
    Ok(())
}

/// All of the group's discovery, a list, and an object.
fn ensure_raw(stage: &Stage<'_>, uid: &str) -> Result<()> {
    let group = "/apis/controlplane.antrea.io/v1beta2";
    let get = |path: &str| -> Result<Value> {
        let text = stage.services.cluster.kubectl.text(&["get", "--raw", path])?;
        serde_json::from_str(&text).with_context(|| format!("{path}: no JSON: {text}"))
    };
    let found = get(group)?;
    let names = found["resources"].as_array().into_iter().flatten();
    let names: Vec<&str> = names.filter_map(|resource| resource["name"].as_str()).collect();
    for wanted in [
        "networkpolicies",
        "networkpolicies/status",
        "addressgroups",
        "appliedtogroups",
        "nodestatssummaries",
    ] {
        ensure!(names.contains(&wanted), "there is no {wanted} among {names:?}");
    }
    let list = get(&format!("{group}/networkpolicies"))?;
    let mut items = list["items"].as_array().into_iter().flatten();
    ensure!(items.any(|item| item["metadata"]["name"] == uid), "{list}");
    ensure!(get(&format!("{group}/networkpolicies/{uid}"))?["metadata"]["uid"] == uid, "it has another UID");
    Ok(())
}

#[test]
fn every_api_of_the_controller_is_available_through_the_clusters_api_server() {
    on_the_stage("every_api_of_the_controller_is_available_through_the_clusters_api_server", |stage| {
        for service in ["v1beta2.controlplane", "v1beta1.system", "v1alpha1.stats"] {
            let path = format!("/apis/apiregistration.k8s.io/v1/apiservices/{service}.antrea.io");
            wait::until(PATIENCE, &format!("{service} to be available"), || {
                let object = stage.api().get(&path)?;
                let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
                let mut conditions = conditions.into_iter();
                let available = conditions
                    .any(|condition| condition["type"] == "Available" && condition["status"] == "True");
                ensure!(available, "its status is {}", object["status"]);
                Ok(true)
            })?;
        }
        Ok(())
    });
}
