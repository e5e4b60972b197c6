//! The chart's values of Multi-cluster: the agent accepts what the chart lets through, and the chart refuses the rest.

use antrea_config::AgentConfig;

use crate::controller;
use crate::helm::{Chart, agree, verbs};

const ON: &str = "{featureGates: {Multicluster: true}, multicluster: {enableGateway: true}}";

const COMBINATIONS: &[&str] = &[
    ON,
    "featureGates: {Multicluster: true}",
    "{featureGates: {Multicluster: true}, multicluster: {namespace: antrea-multicluster}}",
    "{featureGates: {Multicluster: true}, multicluster: {enableGateway: true, enablePodToPodConnectivity: true}}",
    "{featureGates: {Multicluster: true}, multicluster: {enablePodToPodConnectivity: true}}",
    "{featureGates: {Multicluster: true}, multicluster: {enableStretchedNetworkPolicy: true}}",
    "{featureGates: {Multicluster: true}, multicluster: {enableGateway: true, trafficEncryptionMode: wireGuard}}",
    "{featureGates: {Multicluster: true}, multicluster: {wireGuard: {port: 1}}}",
    "{featureGates: {Multicluster: true}, multicluster: {enableGateway: true}, antreaProxy: {enable: false}}",
    "{featureGates: {Multicluster: true, AntreaProxy: false}, multicluster: {enableGateway: true}}",
    "{featureGates: {Multicluster: false}, multicluster: {enableGateway: true}}",
    "multicluster: {enableGateway: true}",
    "multicluster: {namespace: antrea-multicluster}",
    "multicluster: {enableGateway: false, trafficEncryptionMode: none, wireGuard: {port: 51821}}",
];

#[test]
fn chart_and_agent_agree_on_combinations() {
    agree(COMBINATIONS, (5, 9));
}

#[test]
fn the_controller_accepts_what_the_chart_writes_for_it() {
    let Some(chart) = Chart::open() else { return };
    let values = "{featureGates: {Multicluster: true}, multicluster: {enableGateway: true, namespace: mc}}";
    controller(&chart.files(values).unwrap().controller);
}

#[test]
fn a_namespace_that_cannot_be_one_does_not_fit_the_schema() {
    let Some(chart) = Chart::open() else { return };
    let values = "{featureGates: {Multicluster: true}, multicluster: {namespace: Antrea_MC}}";
    assert!(AgentConfig::parse("agent.conf", values).is_err());
    let error = chart.files(values).err().unwrap();
    assert!(error.contains("at '/multicluster/namespace'"), "{error}");
}

#[test]
fn only_an_agent_with_multicluster_may_read_what_other_clusters_say() {
    let Some(chart) = Chart::open() else { return };
    let check = |values: &str, expected: &[&str], of_status: &[&str]| {
        let role = chart.template("templates/agent/clusterrole.yaml", values).unwrap();
        for resource in ["gateways", "clusterinfoimports"] {
            assert_eq!(verbs(&role, "multicluster.crd.antrea.io", resource), expected, "{values}");
        }
        let patch = verbs(&role, "multicluster.crd.antrea.io", "gateways/status");
        assert_eq!(patch, of_status, "{values}");
    };
    check("", &[], &[]);
    check(ON, &["list", "watch"], &["patch"]);
}
