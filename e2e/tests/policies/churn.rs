//! Policies, Pods and Namespaces that change: what is enforced follows, and nothing else passes meanwhile.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};

use super::stage::{Stage, on_the_stage};
use super::stream::pause_until;
use super::streams::Streams;

/// A hundred changes.
const CHANGE_FOR: Duration = Duration::from_secs(2);

/// Faster, and the API server takes all of two cores for itself.
const CHANGE_EVERY: Duration = Duration::from_millis(20);

#[test]
fn rules_that_are_added_changed_and_removed_take_effect() {
    on_the_stage("rules_that_are_added_changed_and_removed_take_effect", |stage| {
        let policy = |ingress: &str| {
            format!(
                "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {{name: changes, namespace: x}}
spec: {{podSelector: {{}}, policyTypes: [Ingress], ingress: {ingress}}}"
            )
        };
        let from_z = "{from: [{namespaceSelector: {matchLabels: {team: z}}}], ports: [{port: 8080}]}";
        for (ingress, table) in [
            ("[]".to_owned(), "x-b z-a -> x-a tcp/8080 tcp/8081: denied"),
            (
                format!("[{from_z}]"),
                "z-a -> x-a tcp/8080: allowed
                 x-b -> x-a tcp/8080: denied
                 z-a -> x-a tcp/8081: denied",
            ),
            (
                format!("[{from_z}, {{from: [{{podSelector: {{}}}}]}}]"),
                "x-b -> x-a tcp/8080 tcp/8081 udp/8080: allowed
                 z-a -> x-a tcp/8080: allowed
                 z-a -> x-a tcp/8081: denied",
            ),
            (
                "[{from: [{podSelector: {matchLabels: {role: b}}}]}]".to_owned(),
                "x-b -> x-a tcp/8080: allowed
                 z-a -> x-a tcp/8080: denied
                 x-a -> x-b tcp/8080: denied",
            ),
        ] {
            stage.apply(&policy(&ingress))?;
            stage.ensure(table)?;
        }
        stage.delete_policy("x", "changes")?;
        stage.ensure("x-b z-a z-b -> x-a tcp/8080 udp/8080: allowed")
    });
}

#[test]
fn several_policies_of_a_pod_admit_together() {
    on_the_stage("several_policies_of_a_pod_admit_together", |stage| {
        stage.apply(
            "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: default-deny, namespace: x}
spec: {podSelector: {}, policyTypes: [Ingress, Egress]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: from-z-a, namespace: x}
spec:
  podSelector: {matchLabels: {role: a}}
  ingress: [{from: [{namespaceSelector: {}, podSelector: {matchLabels: {app: z-a}}}]}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web-from-z, namespace: x}
spec:
  podSelector: {}
  ingress: [{from: [{namespaceSelector: {matchLabels: {team: z}}}], ports: [{port: web}]}]",
        )?;
        stage.ensure(
            "z-a -> x-a tcp/8080 tcp/8081 udp/8080: allowed
             z-b -> x-a tcp/8080: allowed
             z-b -> x-a tcp/8081 udp/8080: denied
             x-b -> x-a tcp/8080: denied
             x-a -> z-a tcp/8080: denied",
        )?;
        stage.delete_policy("x", "web-from-z")?;
        stage.ensure(
            "z-a -> x-a tcp/8080 tcp/8081: allowed
             z-b -> x-a tcp/8080: denied",
        )
    });
}

#[test]
fn a_pod_that_gets_or_loses_a_label_is_admitted_and_isolated_by_it() {
    on_the_stage("a_pod_that_gets_or_loses_a_label_is_admitted_and_isolated_by_it", |stage| {
        stage.apply(
            "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: by-label, namespace: x}
spec:
  podSelector: {matchExpressions: [{key: closed, operator: DoesNotExist}]}
  ingress: [{from: [{namespaceSelector: {}, podSelector: {matchLabels: {admitted: 'yes'}}}]}]",
        )?;
        stage.ensure("x-b z-a -> x-a tcp/8080: denied")?;
        stage.label_pod("z-a", &json!({ "admitted": "yes" }))?;
        stage.ensure(
            "z-a -> x-a tcp/8080 udp/8080: allowed
             x-b -> x-a tcp/8080: denied",
        )?;
        stage.label_pod("x-a", &json!({ "closed": "no" }))?;
        stage.ensure(
            "x-b z-a -> x-a tcp/8080: allowed
             x-a z-b -> x-b tcp/8080: denied",
        )?;
        stage.label_pod("x-a", &json!({ "closed": null }))?;
        stage.label_pod("z-a", &json!({ "admitted": null }))?;
        stage.ensure("x-b z-a -> x-a tcp/8080: denied")
    });
}

/// Whoever the label does not concern notices nothing.
#[test]
fn a_namespace_whose_labels_change_over_and_over_is_what_it_was_last() {
    on_the_stage("a_namespace_whose_labels_change_over_and_over_is_what_it_was_last", |stage| {
        stage.apply(
            "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: of-friends, namespace: x}
spec:
  podSelector: {}
  ingress:
  - from: [{namespaceSelector: {matchLabels: {friend: 'yes'}}, podSelector: {matchLabels: {role: a}}}]
  - from: [{podSelector: {matchLabels: {role: b}}}]",
        )?;
        stage.ensure(
            "x-b -> x-a tcp/8080: allowed
             z-a z-b -> x-a tcp/8080: denied",
        )?;
        let streams = Streams::open(stage, &[("z-b", "x-a")], &[("x-b", "x-a")])?;
        for last in [json!("yes"), Value::Null] {
            streams.ensure_hold_during(
                || {
                    relabel(stage, "friend", CHANGE_FOR)?;
                    stage.label_namespace("z", &json!({ "friend": last }))
                },
                // The same work for the API server and the controller.
                |time| relabel(stage, "nobody-asks-for-it", time),
            )?;
            let verdict = if last.is_null() { "denied" } else { "allowed" };
            stage.ensure(&format!(
                "z-a -> x-a tcp/8080 udp/8080: {verdict}
                 z-b -> x-a tcp/8080: denied"
            ))?;
        }
        Ok(())
    });
}

/// Changes a label of Namespace `z` again and again.
fn relabel(stage: &Stage<'_>, label: &str, time: Duration) -> Result<()> {
    let begun = Instant::now();
    for value in ["yes", "no"].into_iter().cycle() {
        if begun.elapsed() > time {
            break;
        }
        stage.label_namespace("z", &json!({ label: value }))?;
        pause_until(Instant::now() + CHANGE_EVERY);
    }
    Ok(())
}
