//! Default deny: whoever a policy selects is isolated in the policy's directions, and nobody else is.

use super::stage::on_the_stage;

#[test]
fn default_deny_ingress_isolates_the_pods_of_its_namespace_in_both_families_over_tcp_and_udp() {
    let name = "default_deny_ingress_isolates_the_pods_of_its_namespace_in_both_families_over_tcp_and_udp";
    on_the_stage(name, |stage| {
        stage.apply(
            "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: default-deny-ingress, namespace: x}
spec: {podSelector: {}, policyTypes: [Ingress]}",
        )?;
        stage.ensure(
            "x-b z-a z-b -> x-a tcp/8080 udp/8080 tcp/8081: denied
             x-a z-a z-b -> x-b tcp/8080 udp/8080: denied
             x-a x-b z-b -> z-a tcp/8080 udp/8080: allowed
             x-a x-b z-a -> z-b tcp/8080 udp/8080: allowed",
        )
    });
}

#[test]
fn default_deny_egress_isolates_the_pods_of_its_namespace_in_both_families_over_tcp_and_udp() {
    let name = "default_deny_egress_isolates_the_pods_of_its_namespace_in_both_families_over_tcp_and_udp";
    on_the_stage(name, |stage| {
        stage.apply(
            "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: default-deny-egress, namespace: x}
spec: {podSelector: {}, policyTypes: [Egress]}",
        )?;
        stage.ensure(
            "x-a -> x-b tcp/8080 udp/8080: denied
             x-a x-b -> z-a tcp/8080 udp/8080: denied
             x-a x-b -> z-b tcp/8080 udp/8080: denied
             z-a z-b -> x-a tcp/8080 udp/8080: allowed
             z-a -> z-b tcp/8080 udp/8080: allowed",
        )
    });
}

/// A kubelet's probes are of the Pod's own Node. Nobody else is exempt, other Nodes included.
#[test]
fn an_isolated_pod_is_reached_by_its_own_node_and_not_by_another_one() {
    on_the_stage("an_isolated_pod_is_reached_by_its_own_node_and_not_by_another_one", |stage| {
        stage.apply(
            "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: default-deny, namespace: x}
spec: {podSelector: {}, policyTypes: [Ingress, Egress]}",
        )?;
        stage.ensure(
            "here -> x-a tcp/8080 udp/8080: allowed
             there -> x-b tcp/8080 udp/8080: allowed
             there -> x-a tcp/8080 udp/8080: denied
             here -> x-b tcp/8080 udp/8080: denied
             z-a -> x-a tcp/8080: denied",
        )
    });
}

#[test]
fn a_policy_isolates_the_pods_that_it_selects_and_no_other() {
    on_the_stage("a_policy_isolates_the_pods_that_it_selects_and_no_other", |stage| {
        stage.apply(
            "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: deny-a, namespace: x}
spec:
  podSelector: {matchExpressions: [{key: role, operator: NotIn, values: [b]}]}
  policyTypes: [Ingress]",
        )?;
        stage.ensure(
            "x-b z-a -> x-a tcp/8080 udp/8080: denied
             x-a z-a -> x-b tcp/8080 udp/8080: allowed
             x-b -> z-a tcp/8080: allowed",
        )
    });
}
