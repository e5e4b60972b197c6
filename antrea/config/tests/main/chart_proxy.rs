//! The chart's values of AntreaProxy: the agent accepts what the chart lets through, and the chart refuses the rest.

use antrea_config::{AgentConfig, AntreaProxy};

use crate::agent;
use crate::helm::{Chart, agree, verbs};

/// Combinations of values, which the chart and the agent both accept or both refuse.
const COMBINATIONS: &[&str] = &[
    "antreaProxy: {enable: false}",
    "antreaProxy: {enable: false, proxyAll: true}",
    "antreaProxy: {enable: false, skipServices: [a/b]}",
    "antreaProxy: {enable: false, proxyLoadBalancerIPs: false, serviceProxyName: x}",
    "{antreaProxy: {enable: false}, packetInRate: 100}",
    "{antreaProxy: {enable: false}, featureGates: {PreferSameTrafficDistribution: true}}",
    "{antreaProxy: {enable: false}, featureGates: {AntreaProxy: true, CleanupStaleUDPSvcConntrack: false}}",
    "featureGates: {AntreaProxy: false}",
    "{featureGates: {AntreaProxy: false}, antreaProxy: {proxyAll: true}}",
    "{packetInRate: 100, antreaProxy: {skipServices: [kube-system/kube-dns, 10.96.0.1, 'fd00::1']}}",
    "antreaProxy: {proxyLoadBalancerIPs: false, serviceProxyName: antrea}",
    "antreaProxy: {nodePortAddresses: [192.168.1.0/24]}",
    "antreaProxy: {disableServiceHealthCheckServer: true}",
    "antreaProxy: {serviceHealthCheckServerBindAddress: '127.0.0.1:10256'}",
    "antreaProxy: {proxyAll: true, nodePortAddresses: [192.168.1.0/24, 'fd00::/8']}",
    "antreaProxy: {proxyAll: true, serviceHealthCheckServerBindAddress: '[::]:20256'}",
    "antreaProxy: {proxyAll: true, disableServiceHealthCheckServer: true}",
    "antreaProxy: {proxyAll: true, disableServiceHealthCheckServer: true, serviceHealthCheckServerBindAddress: '[::]:1'}",
    "antreaProxy: {proxyAll: true, defaultLoadBalancerMode: dsr}",
    "{antreaProxy: {proxyAll: true, defaultLoadBalancerMode: dsr}, featureGates: {LoadBalancerModeDSR: true}}",
    "{antreaProxy: {defaultLoadBalancerMode: dsr}, featureGates: {LoadBalancerModeDSR: true}}",
    "featureGates: {LoadBalancerModeDSR: true}",
    "featureGates: {PreferSameTrafficDistribution: true, EndpointSlice: true}",
];

#[test]
fn chart_and_agent_agree_on_combinations() {
    agree(COMBINATIONS, (10, 13));
}

#[test]
fn values_that_the_agent_could_not_read_do_not_fit_the_schema() {
    let Some(chart) = Chart::open() else { return };
    for (path, value) in [
        ("nodePortAddresses/0", "nodePortAddresses: [192.168.1.300/24]"),
        ("skipServices/0", "skipServices: [kube-dns]"),
        ("skipServices/0", "skipServices: [Kube/dns]"),
        ("defaultLoadBalancerMode", "defaultLoadBalancerMode: direct"),
        ("serviceHealthCheckServerBindAddress", "serviceHealthCheckServerBindAddress: localhost:10256"),
        ("serviceHealthCheckServerBindAddress", "serviceHealthCheckServerBindAddress: '[::]:0'"),
    ] {
        let values = format!("antreaProxy: {{proxyAll: true, {value}}}");
        assert!(AgentConfig::parse("agent.conf", &values).is_err(), "{values}");
        let error = chart.files(&values).err().unwrap();
        assert!(error.contains(&format!("at '/antreaProxy/{path}'")), "{values}: {error}");
    }
}

#[test]
fn the_chart_turns_antrea_proxy_on() {
    let Some(chart) = Chart::open() else { return };
    assert!(matches!(agent(&chart.files("").unwrap().agent).antrea_proxy, AntreaProxy::On(_)));
}

#[test]
fn the_agent_may_read_services_and_their_endpoints_and_nothing_secret() {
    let Some(chart) = Chart::open() else { return };
    let text = chart.template("templates/agent/clusterrole.yaml", "").unwrap();
    let verbs = |group: &str, resource: &str| verbs(&text, group, resource);
    assert_eq!(verbs("", "services"), ["list", "watch"]);
    assert_eq!(verbs("discovery.k8s.io", "endpointslices"), ["list", "watch"]);
    assert_eq!(verbs("networking.k8s.io", "servicecidrs"), ["list", "watch"]);
    assert_eq!(verbs("events.k8s.io", "events"), ["create"]);
    assert_eq!(verbs("", "secrets"), Vec::<String>::new());
    assert!(!text.contains("\"*\""), "{text}");
}
