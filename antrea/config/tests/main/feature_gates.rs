//! `featureGates` of both files.

use antrea_config::{Availability, Component, FEATURE_GATES, FeatureGates, Status};

use crate::{agent, agent_refuses, controller, controller_refuses};

#[test]
fn a_gate_may_be_turned_off() {
    assert_eq!(agent("featureGates:\n  Traceflow: false\n  AllAlpha: false\n"), agent(""));
    assert_eq!(controller("featureGates: {Egress: false}"), controller(""));
    assert_eq!(agent("featureGates: {}"), agent("featureGates:"));
}

#[test]
fn a_gate_of_what_is_not_available_yet_cannot_be_turned_on() {
    agent_refuses(
        "featureGates:\n  AntreaPolicy: true",
        "agent.conf:2:17: featureGates.AntreaPolicy true: feature gate AntreaPolicy is not available yet; \
         leave it out, or set it to false",
    );
    agent_refuses(
        "featureGates:\n  AllBeta: true",
        "agent.conf:2:12: featureGates.AllBeta true: it includes features that are not available yet; \
         leave it out, or set it to false",
    );
}

#[test]
fn every_gate_of_what_is_not_available_is_refused_by_name_where_it_exists() {
    for gate in FEATURE_GATES.iter().filter(|gate| gate.availability == Availability::NotYet) {
        let text = format!("featureGates:\n  {}: true", gate.name);
        let sentence = format!("feature gate {} is not available yet", gate.name);
        if gate.components.contains(&Component::Agent) {
            let error = antrea_config::AgentConfig::parse("agent.conf", &text).unwrap_err();
            assert!(error.to_string().contains(&sentence), "{error}");
        }
        if gate.components.contains(&Component::Controller) {
            let error = antrea_config::ControllerConfig::parse("controller.conf", &text).unwrap_err();
            assert!(error.to_string().contains(&sentence), "{error}");
        }
    }
}

#[test]
fn a_gate_of_what_is_always_on_may_be_on_and_cannot_be_turned_off() {
    for name in ["EndpointSlice", "ServiceTrafficDistribution", "TopologyAwareHints"] {
        assert_eq!(agent(&format!("featureGates: {{{name}: true}}")), agent(""));
        let column = name.len() + 5;
        agent_refuses(
            &format!("featureGates:\n  {name}: false"),
            &format!(
                "agent.conf:2:{column}: featureGates.{name} false: the feature is always on; \
                 leave it out, or set it to true"
            ),
        );
    }
}

#[test]
fn a_gate_goes_before_the_gate_of_its_stage() {
    let status = |text: &str| agent(text).feature_gates.status("CleanupStaleUDPSvcConntrack");
    assert_eq!(status(""), Status::Enabled);
    assert_eq!(status("featureGates: {AllBeta: false}"), Status::Disabled);
    assert_eq!(status("featureGates: {AllBeta: false, CleanupStaleUDPSvcConntrack: true}"), Status::Enabled);
    assert_eq!(status("featureGates: {AllAlpha: false}"), Status::Enabled);
}

#[test]
fn the_features_that_are_on_without_a_word_are_those_of_upstream_that_are_available() {
    let on = |gates: &FeatureGates| {
        let on = gates.iter().filter(|(_, status)| *status == Status::Enabled);
        on.map(|(gate, _)| format!("{} {}", gate.name, gate.stage)).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(
        on(&agent("").feature_gates),
        "AntreaProxy GA, CleanupStaleUDPSvcConntrack BETA, EndpointSlice GA, NetworkPolicyStats BETA, \
         ServiceTrafficDistribution GA, TopologyAwareHints GA"
    );
    assert_eq!(on(&controller("").feature_gates), "NetworkPolicyStats BETA");
    assert_eq!(agent("").feature_gates.iter().count(), 31);
}

#[test]
fn a_gate_that_does_not_exist_is_refused_with_those_that_do() {
    controller_refuses(
        "featureGates:\n  PacketCapture: false",
        "controller.conf:2:18: featureGates.PacketCapture false: there is no such feature gate; allowed are \
         AllAlpha, AllBeta, AdminNetworkPolicy, AntreaIPAM, AntreaPolicy, ClusterNetworkPolicy, Egress, \
         ExternalNode, IPsecCertAuth, L7NetworkPolicy, Multicast, Multicluster, NetworkPolicyStats, NodeIPAM, \
         ServiceExternalIP, SupportBundleCollection, Traceflow",
    );
}

#[test]
fn gates_are_in_alphabetical_order() {
    let names: Vec<_> = FEATURE_GATES.iter().map(|gate| gate.name).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(names, sorted);
}
