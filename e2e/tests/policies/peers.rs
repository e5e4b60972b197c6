//! Whom rules admit: Pods by their labels, Namespaces by theirs, addresses.

use antrea_types::IpFamily;
use anyhow::{Context, Result};
use serde_json::json;

use super::stage::{Stage, on_the_stage};
use super::streams::{Streams, busy};

/// A policy for `x-a` that admits over TCP and UDP whom `from` names.
fn admit(stage: &Stage<'_>, from: &str) -> Result<()> {
    stage.apply(&format!(
        "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {{name: admit, namespace: x}}
spec:
  podSelector: {{matchLabels: {{app: x-a}}}}
  ingress:
  - from: {from}"
    ))
}

#[test]
fn a_pod_selector_admits_pods_of_the_policys_own_namespace() {
    on_the_stage("a_pod_selector_admits_pods_of_the_policys_own_namespace", |stage| {
        admit(stage, "[{podSelector: {matchLabels: {role: b}}}]")?;
        stage.ensure(
            "x-b -> x-a tcp/8080 udp/8080: allowed
             z-a z-b -> x-a tcp/8080 udp/8080: denied",
        )
    });
}

#[test]
fn a_namespace_selector_admits_all_pods_of_the_namespaces_that_it_selects() {
    on_the_stage("a_namespace_selector_admits_all_pods_of_the_namespaces_that_it_selects", |stage| {
        admit(stage, "[{namespaceSelector: {matchLabels: {team: z}}}]")?;
        stage.ensure(
            "z-a z-b -> x-a tcp/8080 udp/8080: allowed
             x-b -> x-a tcp/8080 udp/8080: denied",
        )
    });
}

/// Both in one peer have to fit; in two peers, one of them.
#[test]
fn both_selectors_in_one_peer_have_to_fit_and_one_of_two_peers_is_enough() {
    on_the_stage("both_selectors_in_one_peer_have_to_fit_and_one_of_two_peers_is_enough", |stage| {
        let (namespace, pod) =
            ("namespaceSelector: {matchLabels: {team: z}}", "podSelector: {matchLabels: {role: b}}");
        admit(stage, &format!("[{{{namespace}, {pod}}}]"))?;
        stage.ensure(
            "z-b -> x-a tcp/8080 udp/8080: allowed
             x-b z-a -> x-a tcp/8080 udp/8080: denied",
        )?;
        admit(stage, &format!("[{{{namespace}}}, {{{pod}}}]"))?;
        stage.ensure(
            "x-b z-a z-b -> x-a tcp/8080 udp/8080: allowed
             there -> x-a tcp/8080 udp/8080: denied",
        )
    });
}

#[test]
fn an_ip_block_admits_its_addresses_but_for_those_excepted() {
    on_the_stage("an_ip_block_admits_its_addresses_but_for_those_excepted", |stage| {
        let but_for = |family: IpFamily| -> Result<String> {
            let (all, length) = match family {
                IpFamily::V4 => ("0.0.0.0/0", 32),
                IpFamily::V6 => ("::/0", 128),
            };
            let [x, y] = [stage.pod("x-b")?.ip(family)?, stage.pod("z-b")?.ip(family)?];
            Ok(format!("{{ipBlock: {{cidr: '{all}', except: ['{x}/{length}', '{y}/{length}']}}}}"))
        };
        admit(stage, &format!("[{}, {}]", but_for(IpFamily::V4)?, but_for(IpFamily::V6)?))?;
        stage.ensure(
            "z-a there -> x-a tcp/8080 udp/8080: allowed
             x-b z-b -> x-a tcp/8080 udp/8080: denied",
        )
    });
}

/// Addresses of a family that a rule does not name are not admitted.
#[test]
fn an_ip_block_admits_its_own_family_only() {
    on_the_stage("an_ip_block_admits_its_own_family_only", |stage| {
        admit(stage, "[{ipBlock: {cidr: 0.0.0.0/0}}]")?;
        let mut table = super::expected::parse(stage, "x-b z-a z-b -> x-a tcp/8080 udp/8080: allowed")?;
        for expected in table.iter_mut().filter(|expected| expected.target.address.is_ipv6()) {
            expected.verdict = super::expected::Verdict::Denied;
        }
        super::expected::ensure(&table)
    });
}

#[test]
fn an_egress_rule_admits_the_peers_that_it_names() {
    on_the_stage("an_egress_rule_admits_the_peers_that_it_names", |stage| {
        let server = stage.pod("z-b")?.ip(IpFamily::V4).context("no IPv4")?;
        stage.apply(&format!(
            "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {{name: admit-egress, namespace: x}}
spec:
  podSelector: {{}}
  policyTypes: [Egress]
  egress:
  - to: [{{namespaceSelector: {{matchLabels: {{team: z}}}}, podSelector: {{matchLabels: {{role: a}}}}}}]
  - to: [{{ipBlock: {{cidr: {server}/32}}}}]
    ports: [{{protocol: UDP, port: 8080}}]"
        ))?;
        let mut table = super::expected::parse(
            stage,
            "x-a x-b -> z-a tcp/8080 udp/8080: allowed
             x-a x-b -> z-b udp/8080: allowed
             x-a x-b -> z-b tcp/8080: denied
             x-a -> x-b tcp/8080 udp/8080: denied
             z-a -> x-a tcp/8080 udp/8080: allowed",
        )?;
        let to_z_b = stage.pod("z-b")?.ip(IpFamily::V6)?;
        for expected in table.iter_mut().filter(|expected| expected.target.address.ip() == to_z_b) {
            expected.verdict = super::expected::Verdict::Denied;
        }
        super::expected::ensure(&table)
    });
}

/// An empty list of peers is everybody, an empty list of rules nobody.
#[test]
fn no_peers_are_everybody_and_no_rules_are_nobody() {
    on_the_stage("no_peers_are_everybody_and_no_rules_are_nobody", |stage| {
        let policy = |ingress: &str| {
            format!(
                "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {{name: admit, namespace: x}}
spec: {{podSelector: {{matchLabels: {{app: x-a}}}}, policyTypes: [Ingress], ingress: {ingress}}}"
            )
        };
        stage.apply(&policy("[{}]"))?;
        stage.ensure("x-b z-a z-b there -> x-a tcp/8080 udp/8080: allowed")?;
        stage.apply(&policy("[]"))?;
        stage.ensure("x-b z-a z-b there -> x-a tcp/8080 udp/8080: denied")
    });
}

/// Selectors that select nobody are nobody, and not an empty list.
#[test]
fn peers_that_are_nobody_admit_nobody_at_no_time_until_somebody_is_one_of_them() {
    let name = "peers_that_are_nobody_admit_nobody_at_no_time_until_somebody_is_one_of_them";
    on_the_stage(name, |stage| {
        let streams = Streams::open(stage, &[("z-b", "x-a"), ("z-a", "x-a")], &[("x-b", "x-a")])?;
        let nobody = "x-b z-a z-b -> x-a tcp/8080 udp/8080: denied";
        stage.apply(CLOSED)?;
        stage.ensure(nobody)?;
        let fault = || {
            for peers in [
                "[{namespaceSelector: {matchLabels: {team: nobody}}}]",
                "[{namespaceSelector: {matchLabels: {team: nobody}}, podSelector: {}}]",
                "[{podSelector: {matchLabels: {admitted: 'yes'}}}]",
            ] {
                admit(stage, peers)?;
                stage.ensure(nobody)?;
            }
            stage.label_pod("x-b", &json!({ "admitted": "yes" }))?;
            stage.ensure(
                "x-b -> x-a tcp/8080 udp/8080: allowed
                 z-a z-b -> x-a tcp/8080 udp/8080: denied",
            )?;
            stage.label_pod("x-b", &json!({ "admitted": null }))?;
            stage.ensure(nobody)
        };
        streams.ensure_hold_during(fault, |time| busy(stage, time))
    });
}

const CLOSED: &str = "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: admit, namespace: x}
spec: {podSelector: {matchLabels: {app: x-a}}, policyTypes: [Ingress]}";
