//! The chart's values of AntreaProxy: the agent accepts what the chart lets through, and the chart refuses the rest.

use antrea_config::{AgentConfig, AntreaProxy};
use serde_json::Value;

use crate::agent;
use crate::helm::Chart;

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
    let Some(chart) = Chart::open() else { return };
    let (mut accepted, mut refused) = (0, 0);
    for values in COMBINATIONS {
        // Sections and keys have the same names in both.
        let by_agent = AgentConfig::parse("agent.conf", values);
        match (chart.files(values), &by_agent) {
            (Ok(files), Ok(config)) => {
                let notices = config.notices.clone();
                assert_eq!(AgentConfig { notices, ..agent(&files.agent) }, *config, "{values}");
                accepted += 1;
            }
            (Err(error), Err(_)) => {
                assert!(error.contains("; leave it at "), "{values}: {error}");
                refused += 1;
            }
            (by_chart, _) => panic!("{values}: {:?} by the chart, {by_agent:?}", by_chart.err()),
        }
    }
    assert_eq!((accepted, refused), (10, 13));
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
    let role: Value = serde_saphyr::from_str(&text).unwrap();
    let rules = role["rules"].as_array().unwrap();
    let verbs = |group: &str, resource: &str| {
        let has =
            |list: &Value, word: &str| list.as_array().is_some_and(|list| list.iter().any(|one| one == word));
        let of =
            rules.iter().filter(|rule| has(&rule["apiGroups"], group) && has(&rule["resources"], resource));
        of.flat_map(|rule| rule["verbs"].as_array().unwrap())
            .map(|verb| verb.as_str().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(verbs("", "services"), ["get", "list", "watch"]);
    assert_eq!(verbs("discovery.k8s.io", "endpointslices"), ["get", "list", "watch"]);
    assert_eq!(verbs("events.k8s.io", "events"), ["create"]);
    assert_eq!(verbs("", "secrets"), Vec::<&str>::new());
    assert!(!text.contains("\"*\""), "{text}");
}
