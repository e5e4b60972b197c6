//! Where readings of the API differ, both can be asked for.

use antrea_policy_reference::{Choices, NamedPortInBlock, OwnNodeEgress, verdict_by};

use crate::cases::cluster_with;

/// Whether each of some questions is allowed, by the default choices and by others.
fn check(objects: &[&str], other: &Choices, questions: &[(&str, bool, bool)]) {
    let cluster = cluster_with(objects);
    for (question, by_default, by_other) in questions {
        let allowed = |choices: &Choices| {
            verdict_by(choices, &cluster, &question.parse().unwrap()).unwrap().is_allowed()
        };
        assert_eq!(allowed(&Choices::default()), *by_default, "{question}");
        assert_eq!(allowed(other), *by_other, "{question}, by {other:?}");
    }
}

#[test]
fn egress_to_the_own_node_may_be_exempt() {
    check(
        &["policy a: {podSelector: {}, policyTypes: [Egress]}"],
        &Choices { own_node_egress: OwnNodeEgress::Exempt, ..Choices::default() },
        &[
            ("a/web -> node:n1 TCP 80", false, true),
            ("a/web -> a/host UDP 53 over IPv6", false, true),
            ("a/web -> node:n2 TCP 80", false, false),
            ("a/web -> a/bare TCP 80", false, false),
        ],
    );
}

#[test]
fn addresses_of_a_block_may_have_no_names_for_ports() {
    let other = Choices { named_port_in_block: NamedPortInBlock::Unknown, ..Choices::default() };
    check(
        &["policy a: {podSelector: {}, policyTypes: [Egress], \
           egress: [{to: [{ipBlock: {cidr: 10.10.0.0/16}}, {podSelector: {}}], ports: [{port: http}, {port: 81}]}]}"],
        &other,
        &[
            ("a/db -> b/web TCP 8080", true, false),
            ("a/db -> b/web TCP 81", true, true),
            ("a/db -> a/web TCP 80", true, true),
        ],
    );
    // Of its own ports a Pod that is selected always knows the names.
    check(
        &[
            "policy a: {podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 203.0.113.0/24}}], ports: [{port: http}]}]}",
        ],
        &other,
        &[("203.0.113.5 -> a/web TCP 80", true, true), ("203.0.113.5 -> a/web TCP 81", false, false)],
    );
    // Without peers all Pods are meant; one whose Namespace is not there is an address.
    let lost = "with: {kind: Pod, metadata: {namespace: z, name: lost}, spec: {nodeName: n1, \
                containers: [{name: x, ports: [{name: http, containerPort: 80}]}]}, status: {podIP: 10.10.1.40}}";
    check(
        &[lost, "policy a: {podSelector: {}, policyTypes: [Egress], egress: [{ports: [{port: http}]}]}"],
        &other,
        &[("a/db -> b/web TCP 8080", true, true), ("a/db -> z/lost TCP 80", true, false)],
    );
}
