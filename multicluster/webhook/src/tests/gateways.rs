//! Gateways.

use antrea_kit::auth::NodesInTokens;

use super::{answer, known};
use crate::Hook;

#[track_caller]
fn check(who: &str, verb: &str, yaml: &str, expected: &str) {
    assert_eq!(answer(&known(), Hook::Gateway, who, verb, yaml), expected, "{who} {verb}");
}

const GATEWAY: &str = "
metadata: {name: n1, namespace: kube-system}
gatewayIP: 172.18.0.2
internalIP: 10.0.0.2
serviceCIDR: 10.1.0.0/16
";

fn update(from: &str, to: &str) -> String {
    format!("{GATEWAY}---{}", GATEWAY.replace(from, to))
}

#[test]
fn the_controller_makes_gateways() {
    check("kube-system/antrea-mc-controller", "create", GATEWAY, "allowed");
    check("kube-system/antrea-mc-controller", "update", &update("172.18.0.2", "172.18.0.3"), "allowed");
    check(
        "kube-system/antrea-mc-controller",
        "create",
        &GATEWAY.replace("10.0.0.2", "127.0.0.1"),
        "422: internalIP: \"127.0.0.1\" cannot be reached by other hosts, as no loopback address can",
    );
    let only = "403: only the Multi-cluster controller may write Gateways: annotate the Node with multicluster.antrea.io/gateway=true";
    for who in ["admin", "default/antrea-mc-controller", "other/antrea-agent", "mc/east-token"] {
        check(who, "create", GATEWAY, only);
        check(who, "update", &update("172.18.0.2", "172.18.0.3"), only);
    }
    check(
        "kube-system/antrea-mc-controller",
        "create",
        &GATEWAY.replace("kube-system", "default"),
        "403: Gateways are in Namespace kube-system, where the ClusterSet is",
    );
}

#[test]
fn the_agent_of_the_node_says_how_it_is() {
    let report = update("gatewayIP", "status: {probe: {nodes: {probed: 1, reached: 1}}}\ngatewayIP");
    check("agent@n1", "status", &report, "allowed");
    check(
        "agent@n2",
        "status",
        &report,
        "403: the antrea-agent of Node n2 may not write the Gateway of Node n1",
    );
    for who in ["admin", "kube-system/antrea-mc-controller", "other/antrea-agent"] {
        check(who, "status", &report, "403: only the antrea-agent of a Gateway's Node may write its status");
    }
}

#[test]
fn an_agent_without_a_node_is_believed_of_older_api_servers_alone() {
    let report = update("gatewayIP", "status: {probe: {nodes: {probed: 1, reached: 1}}}\ngatewayIP");
    let key = "wireGuard: {publicKey: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=}\ngatewayIP";
    let check = |tokens: Option<NodesInTokens>, expected: &str| {
        let known = known();
        if let Some(tokens) = tokens {
            known.learn_tokens(tokens);
        }
        for (verb, yaml) in [("status", &report), ("update", &update("gatewayIP", key))] {
            let answer = answer(&known, Hook::Gateway, "kube-system/antrea-agent", verb, yaml);
            assert_eq!(answer, expected, "{tokens:?} {verb}");
        }
    };
    check(
        None,
        "503: the Multi-cluster controller does not know the version of the API server yet: try again",
    );
    check(Some(NodesInTokens::Absent), "allowed");
    check(
        Some(NodesInTokens::Present),
        "403: the token of antrea-agent names no Node (authentication.kubernetes.io/node-name), as those of Pods do from \
         Kubernetes 1.30 on: use the token that the kubelet gives the Pod of antrea-agent; one from before an upgrade of \
         the API server is replaced within an hour",
    );
}

#[test]
fn the_agent_writes_the_key_alone() {
    let key = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    check(
        "agent@n1",
        "update",
        &update("gatewayIP", &format!("wireGuard: {{publicKey: {key}}}\ngatewayIP")),
        "allowed",
    );
    check(
        "agent@n1",
        "update",
        &update("gatewayIP", "wireGuard: {publicKey: short}\ngatewayIP"),
        "422: wireGuard.publicKey: \"short\" is not a WireGuard key: 32 bytes in base64, 44 characters",
    );
    let refused = "403: antrea-agent may write nothing of a Gateway but wireGuard and the status";
    check("agent@n1", "update", &update("172.18.0.2", "172.18.0.3"), refused);
    check("agent@n1", "create", GATEWAY, refused);
}

/// An agent of one Node would let other clusters in to the Services of all.
#[test]
fn the_controller_alone_says_what_is_exported() {
    let exported = "exported: {mode: Listed, addresses: [10.1.0.7/32]}\ngatewayIP";
    check("kube-system/antrea-mc-controller", "update", &update("gatewayIP", exported), "allowed");
    let refused = "403: antrea-agent may write nothing of a Gateway but wireGuard and the status";
    check("agent@n1", "update", &update("gatewayIP", exported), refused);
    let listed = GATEWAY.replace("gatewayIP", exported);
    check("agent@n1", "update", &format!("{listed}---{GATEWAY}"), refused);
    check(
        "kube-system/antrea-mc-controller",
        "update",
        &update("gatewayIP", "exported: {mode: Listed, addresses: [10.1.0.7]}\ngatewayIP"),
        "422: exported.addresses[0]: \"10.1.0.7\" is not a CIDR, as 10.96.0.0/12",
    );
}

#[test]
fn what_is_deleted_by_hand_comes_back() {
    for who in ["admin", "kube-system/antrea-mc-controller", "kube-system/namespace-controller"] {
        check(who, "delete", GATEWAY, "allowed");
    }
}
