//! Which policies concern a Pod.

use antrea_index::RuleRef;

use crate::world::World;

const CLUSTER: &str = "
    namespace x
    namespace y team=b
    pod x/a app=a ip=10.0.0.1 node=n1
    pod x/b app=b
    pod x/c app=a node=n1
    pod y/d app=d ip=10.0.0.4 node=n2
    pod y/h app=d ip=192.168.0.1 node=n2 hostNetwork
    policy x/deny {podSelector: {}, policyTypes: [Ingress, Egress]}
    policy x/a {podSelector: {matchLabels: {app: a}}, ingress: [{from: [{namespaceSelector: {matchLabels: {team: b}}}]}, {from: [{podSelector: {}}]}]}
    policy y/d {podSelector: {matchLabels: {app: d}}, egress: [{to: [{namespaceSelector: {}}]}]}";

#[track_caller]
fn check(pod: &str, answer: &str) {
    let world = World::of(CLUSTER);
    let (namespace, name) = pod.split_once('/').unwrap();
    let rules = |rules: &[RuleRef<'_>]| {
        let mut names: Vec<String> =
            rules.iter().map(|rule| format!("{}[{}]", rule.policy.name(), rule.rule)).collect();
        names.sort();
        names.join(" ")
    };
    let text = world.index.endpoint(namespace, name).map(|endpoint| {
        let mut applied: Vec<String> =
            endpoint.applied.iter().map(|policy| policy.name().to_string()).collect();
        applied.sort();
        let (source, destination) = (rules(&endpoint.source_in), rules(&endpoint.destination_of));
        format!("applied {} | source in {source} | destination of {destination}", applied.join(" "))
    });
    assert_eq!(text.as_deref().unwrap_or("nobody"), answer);
}

#[test]
fn a_pod_is_asked_for_by_name() {
    check("x/a", "applied x/a x/deny | source in x/a[1] | destination of y/d[0]");
    check("y/d", "applied y/d | source in x/a[0] | destination of y/d[0]");
}

#[test]
fn a_pod_without_node_or_address_is_no_member() {
    check("x/b", "applied  | source in  | destination of ");
    check("x/c", "applied x/a x/deny | source in  | destination of ");
}

#[test]
fn policies_do_not_concern_others() {
    check("y/h", "nobody");
    check("x/none", "nobody");
    check("none/a", "nobody");
}
