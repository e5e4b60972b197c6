//! `multicluster` of both files.

use antrea_config::{Multicluster, MulticlusterConfig, Status};

use crate::{agent, agent_refuses, controller, controller_refuses};

const GATE: &str = "featureGates: {Multicluster: true}\n";

/// What the section means with the feature on.
fn check(section: &str, expected: &Multicluster) {
    assert_eq!(agent(&format!("{GATE}multicluster: {{{section}}}")).multicluster, *expected, "{section}");
}

/// The section of the agent's file is refused with the feature on.
#[track_caller]
fn refuses(section: &str, place_and_key: &str, reason: &str) {
    agent_refuses(
        &format!("{GATE}multicluster: {{{section}}}"),
        &format!("agent.conf:2:{place_and_key}: {reason}"),
    );
}

#[test]
fn pods_reach_other_clusters_where_it_is_asked_for() {
    let on = |namespace: Option<&str>, pod_to_pod| {
        let namespace = namespace.map(str::to_owned);
        Multicluster::On(MulticlusterConfig { namespace, pod_to_pod })
    };
    check("", &Multicluster::Off);
    check("enableGateway: true", &on(None, Status::Disabled));
    check("enableGateway: true, namespace: mc", &on(Some("mc"), Status::Disabled));
    check("enableGateway: true, enablePodToPodConnectivity: true", &on(None, Status::Enabled));
    check("enableGateway: true, trafficEncryptionMode: None", &on(None, Status::Disabled));
    assert_eq!(agent("").multicluster, Multicluster::Off);
}

#[test]
fn a_feature_that_is_off_has_no_keys() {
    let needs = "it needs featureGates.Multicluster";
    agent_refuses(
        "multicluster:\n  enableGateway: true\n  wireGuard:\n    port: 1",
        &format!(
            "agent.conf:2:18: multicluster.enableGateway true: {needs}; leave the key out, or set it to false\n\
             agent.conf:4:11: multicluster.wireGuard.port 1: {needs}; leave the key out, or set it to 51821"
        ),
    );
    controller_refuses(
        "multicluster:\n  namespace: mc",
        &format!(
            "controller.conf:2:14: multicluster.namespace \"mc\": {needs}; leave the key out, or set it to \"\""
        ),
    );
}

#[test]
fn what_is_not_available_yet_is_refused_by_name() {
    refuses(
        "enableStretchedNetworkPolicy: true",
        "46: multicluster.enableStretchedNetworkPolicy true",
        "network policies between clusters are not available yet; leave the key out, or set it to false",
    );
    refuses(
        "trafficEncryptionMode: wireGuard",
        "39: multicluster.trafficEncryptionMode \"wireGuard\"",
        "wireGuard is not available yet; allowed is none",
    );
    refuses(
        "wireGuard: {port: 1}",
        "34: multicluster.wireGuard.port 1",
        "multicluster.trafficEncryptionMode wireGuard is not available yet; leave the key out, or set it to 51821",
    );
    controller_refuses(
        &format!("{GATE}multicluster:\n  enableStretchedNetworkPolicy: true"),
        "controller.conf:3:33: multicluster.enableStretchedNetworkPolicy true: network policies between clusters are \
         not available yet; leave the key out, or set it to false",
    );
}

#[test]
fn gateways_need_antrea_proxy_and_pods_need_gateways() {
    agent_refuses(
        &format!("{GATE}antreaProxy: {{enable: false}}\nmulticluster: {{enableGateway: true}}"),
        "agent.conf:3:31: multicluster.enableGateway true: it needs AntreaProxy, which is off; \
         leave the key out, or set it to false",
    );
    refuses(
        "enablePodToPodConnectivity: true",
        "44: multicluster.enablePodToPodConnectivity true",
        "it needs multicluster.enableGateway; leave the key out, or set it to false",
    );
}

#[test]
fn a_namespace_has_the_name_of_one() {
    refuses(
        "namespace: Antrea_MC",
        "27: multicluster.namespace \"Antrea_MC\"",
        "the name of a Namespace is wanted, as in kube-system",
    );
}

#[test]
fn a_program_that_has_nothing_to_do_for_the_feature_says_so() {
    let notices = |text: &str| agent(text).notices.join("\n");
    assert_eq!(notices(&format!("{GATE}multicluster: {{enableGateway: true}}")), "");
    assert_eq!(
        notices(GATE),
        "featureGates.Multicluster is true, but multicluster.enableGateway is not: Pods do not reach other clusters"
    );
    assert_eq!(
        controller(&format!("{GATE}multicluster: {{namespace: mc}}")).notices.join("\n"),
        "featureGates.Multicluster is true, but the controller does nothing for it: network policies between \
         clusters are not available yet"
    );
}
