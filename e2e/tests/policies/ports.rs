//! Ports that rules admit: by number, by name, as a range.

use anyhow::Result;

use super::stage::{Stage, on_the_stage};
use super::streams::{Streams, busy};

/// A policy for `x-a` that admits everybody at these ports.
fn admit(stage: &Stage<'_>, ports: &str) -> Result<()> {
    stage.apply(&format!(
        "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {{name: admit-ports, namespace: x}}
spec:
  podSelector: {{matchLabels: {{app: x-a}}}}
  ingress:
  - ports: {ports}"
    ))
}

#[test]
fn a_port_is_admitted_with_its_protocol_alone() {
    on_the_stage("a_port_is_admitted_with_its_protocol_alone", |stage| {
        admit(stage, "[{protocol: UDP, port: 8080}]")?;
        stage.ensure(
            "x-b z-a -> x-a udp/8080: allowed
             x-b z-a -> x-a tcp/8080 tcp/8081: denied",
        )?;
        admit(stage, "[{port: 8081}]")?;
        stage.ensure(
            "x-b z-a -> x-a tcp/8081: allowed
             x-b z-a -> x-a tcp/8080 udp/8080: denied",
        )
    });
}

#[test]
fn a_named_port_is_the_one_that_the_pod_calls_so() {
    on_the_stage("a_named_port_is_the_one_that_the_pod_calls_so", |stage| {
        admit(stage, "[{port: web}]")?;
        stage.ensure(
            "x-b z-a -> x-a tcp/8080: allowed
             x-b z-a -> x-a tcp/8081 udp/8080: denied",
        )
    });
}

/// The Pods at the far end have the name.
#[test]
fn a_named_port_of_an_egress_rule_is_the_one_that_the_other_pod_calls_so() {
    on_the_stage("a_named_port_of_an_egress_rule_is_the_one_that_the_other_pod_calls_so", |stage| {
        stage.apply(
            "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: admit-named, namespace: x}
spec:
  podSelector: {}
  policyTypes: [Egress]
  egress: [{ports: [{port: web}]}]",
        )?;
        stage.ensure(
            "x-a x-b -> z-a tcp/8080: allowed
             x-a x-b -> z-a tcp/8081 udp/8080: denied",
        )
    });
}

#[test]
fn an_end_port_admits_all_ports_from_the_first_to_the_last() {
    on_the_stage("an_end_port_admits_all_ports_from_the_first_to_the_last", |stage| {
        for (first, last, [lower, upper]) in [
            (8080, 8081, ["allowed", "allowed"]),
            (8081, 65535, ["denied", "allowed"]),
            (1, 8080, ["allowed", "denied"]),
        ] {
            admit(stage, &format!("[{{port: {first}, endPort: {last}}}]"))?;
            stage.ensure(&format!(
                "x-b z-a -> x-a tcp/8080: {lower}
                 x-b z-a -> x-a tcp/8081: {upper}
                 x-b z-a -> x-a udp/8080: denied"
            ))?;
        }
        Ok(())
    });
}

/// As many as somebody's generator may write; the last one counts like the first.
#[test]
fn all_rules_of_a_policy_with_a_thousand_rules_hold() {
    on_the_stage("all_rules_of_a_policy_with_a_thousand_rules_hold", |stage| {
        let others = (0..499).map(|number| rule(9000 + number));
        let more = (0..499).map(|number| rule(20_000 + number));
        let rules: Vec<String> =
            [rule(8081)].into_iter().chain(others).chain([udp(8080)]).chain(more).collect();
        assert_eq!(rules.len(), 1000);
        let policy = |ingress: &str| {
            format!(
                "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {{name: thousand, namespace: x}}
spec:
  podSelector: {{}}
  policyTypes: [Ingress]
  ingress: {ingress}"
            )
        };
        let rules = format!("\n{}", rules.join("\n"));
        stage.apply(&policy("[]"))?;
        stage.ensure("x-b z-a -> x-a tcp/8080 tcp/8081 udp/8080: denied")?;
        let streams = Streams::open(stage, &[("x-b", "x-a"), ("z-a", "x-b")], &[])?;
        let change = || {
            stage.apply(&policy(&rules))?;
            stage.ensure(
                "x-b z-a -> x-a tcp/8081 udp/8080: allowed
                 x-b z-a -> x-a tcp/8080: denied
                 x-a z-b -> x-b tcp/8081 udp/8080: allowed
                 x-a z-b -> x-b tcp/8080: denied",
            )?;
            stage.apply(&policy("[]"))?;
            stage.ensure("x-b z-a -> x-a tcp/8080 tcp/8081 udp/8080: denied")
        };
        streams.ensure_hold_during(change, |time| busy(stage, time))
    });
}

fn rule(port: u16) -> String {
    format!("  - {{from: [{{namespaceSelector: {{}}}}], ports: [{{port: {port}}}]}}")
}

fn udp(port: u16) -> String {
    format!("  - {{from: [{{namespaceSelector: {{}}}}], ports: [{{port: {port}, protocol: UDP}}]}}")
}
