//! The configuration file that the chart writes is one that the controller reads.

use std::process::Command;

use crate::helm::{Chart, MODES, find};

/// The file that the chart writes in a mode.
fn written(chart: &Chart, mode: &str, values: &str) -> String {
    let objects = chart.mode(mode, values);
    let map = find(&objects, "ConfigMap", "antrea-mc-controller-config");
    map["data"]["controller_manager_config.yaml"].as_str().unwrap().to_owned()
}

/// What the controller says of it.
fn said(chart: &Chart, mode: &str, values: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("controller_manager_config.yaml");
    std::fs::write(&file, written(chart, mode, values)).unwrap();
    let mut controller = Command::new(env!("CARGO_BIN_EXE_antrea-mc-controller"));
    // It reads its file before it looks for the cluster, which it does not find.
    controller.args([mode, "--namespace", "kube-system", "--kubeconfig", "/nowhere", "--config"]).arg(&file);
    let output = controller.output().unwrap();
    format!("{:?} {}", output.status.code(), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn the_controller_reads_what_the_chart_writes() {
    let Some(chart) = Chart::open() else { return };
    let check = |mode: &str, values: &str| {
        let said = said(&chart, mode, values);
        assert!(said.starts_with("Some(1) ") && said.contains("/nowhere"), "{mode} {values}: {said}");
    };
    for (mode, _) in MODES {
        check(mode, "");
    }
    let limits = "{exports: 1000000, labelIdentities: 7, bytes: 2Gi, objectBytes: '4096', endpointPorts: 8}";
    let leader = format!(
        "leader: {{namespaces: [a, b], memberLease: 1h30m, memberSilence: 45s, memberTokenLifetime: 48h, \
         memberLimits: {limits}}}"
    );
    let listeners = "health: {healthProbeBindAddress: '127.0.0.1:8081'}, metrics: {bindAddress: '[::1]:8082'}, \
                     webhook: {port: 9444}, leaderElection: {leaderElect: false}";
    let member = "serviceCIDR: '10.96.0.0/12,fd00:96::/112', podCIDRs: [10.10.0.0/16, 'fd00:10::/56'], \
                  gatewayIPPrecedence: public, endpointIPType: PodIP, enableStretchedNetworkPolicy: true, \
                  member: {agentNamespace: antrea, tokenSecret: tok5, tokenLifetime: 24h, excludedNamespaces: [prod]}";
    check("both", &format!("controller: {{{leader}, {listeners}, {member}}}"));
    check("member", "controller: {podCIDRs: auto}");
}

#[test]
fn the_file_says_where_agents_are_unless_they_are_where_they_usually_are() {
    let Some(chart) = Chart::open() else { return };
    let elsewhere = written(&chart, "member", "controller: {member: {agentNamespace: antrea}}");
    assert!(elsewhere.contains("\n  agentNamespace: antrea\n"), "{elsewhere}");
    // `antctl mc deploy` would put the Namespace of the controller in its place.
    let usual = written(&chart, "member", "");
    assert!(!usual.contains("kube-system"), "{usual}");
}
