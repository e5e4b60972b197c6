//! Which Nodes need what.

use crate::world::World;

const CLUSTER: &str = "
    namespace x
    namespace y team=b
    pod x/a app=a ip=10.0.0.1 node=n1
    pod x/b app=b ip=10.0.0.2 node=n2
    pod y/c app=c ip=10.0.0.3 node=n3
    policy x/a {podSelector: {matchLabels: {app: a}}, ingress: [{from: [{namespaceSelector: {matchLabels: {team: b}}}]}]}
    policy x/b {podSelector: {matchLabels: {app: b}}, egress: [{to: [{namespaceSelector: {matchLabels: {team: b}}}]}]}";

#[track_caller]
fn check(events: &str, updates: &str) {
    let mut world = World::of(CLUSTER);
    let lines: Vec<&str> = updates.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(world.updates(events), lines.join("\n"));
    assert_eq!(world.told(), world.asked());
}

#[test]
fn a_policy_and_its_groups_are_for_nodes_that_have_its_pods() {
    let world = World::of(CLUSTER);
    let spans: Vec<String> =
        world.told().lines().filter(|line| line.contains('[')).map(str::to_owned).collect();
    assert_eq!(
        spans,
        [
            "AG namespaceSelector=team=b [n1,n2] y/c 10.0.0.3",
            "ATG namespace=x And podSelector=app=a [n1] x/a on n1",
            "ATG namespace=x And podSelector=app=b [n2] x/b on n2",
            "NP x/a [n1]",
            "NP x/b [n2]",
        ]
    );
}

#[test]
fn a_node_leaves_when_the_last_reason_for_it_goes() {
    check(
        "- policy x/b",
        "AG ~ namespaceSelector=team=b [n1,n2]>[n1]
         ATG - namespace=x And podSelector=app=b [n2]
         NP - x/b [n2]",
    );
    check(
        "- pod x/b\npod x/b app=b ip=10.0.0.2 node=n1",
        "AG ~ namespaceSelector=team=b [n1,n2]>[n1]
         ATG ~ namespace=x And podSelector=app=b [n2]>[n1] +(x/b on n1) -(x/b on n2)
         NP ~ x/b Same [n2]>[n1]",
    );
}

#[test]
fn a_node_enters_with_its_first_pod_only() {
    check(
        "pod x/a2 app=a ip=10.0.0.4 node=n4\npod x/a3 app=a ip=10.0.0.5 node=n4",
        "AG ~ namespaceSelector=team=b [n1,n2]>[n1,n2,n4]
         ATG ~ namespace=x And podSelector=app=a [n1]>[n1,n4] +(x/a2 on n4) +(x/a3 on n4)
         NP ~ x/a Same [n1]>[n1,n4]",
    );
    check("pod x/a2 app=a ip=10.0.0.4 node=n1", "ATG ~ namespace=x And podSelector=app=a [n1] +(x/a2 on n1)");
}

#[test]
fn a_node_that_one_group_leaves_and_another_enters_stays() {
    check(
        "- pod x/a\n- pod x/b\npod x/a app=a ip=10.0.0.1 node=n2\npod x/b app=b ip=10.0.0.2 node=n1",
        "ATG ~ namespace=x And podSelector=app=a [n1]>[n2] +(x/a on n2) -(x/a on n1)
         ATG ~ namespace=x And podSelector=app=b [n2]>[n1] +(x/b on n1) -(x/b on n2)
         NP ~ x/a Same [n1]>[n2]
         NP ~ x/b Same [n2]>[n1]",
    );
}

#[test]
fn a_policy_that_comes_and_a_pod_that_moves_are_one_change() {
    check(
        "policy x/c {podSelector: {}, ingress: [{from: [{namespaceSelector: {matchLabels: {team: b}}}]}]}\n- pod x/a",
        "AG ~ namespaceSelector=team=b [n1,n2]>[n2]
         ATG + namespace=x And podSelector= [n2] x/b on n2
         ATG ~ namespace=x And podSelector=app=a [n1]>[] -(x/a on n1)
         NP + x/c [n2]
         NP ~ x/a Same [n1]>[]",
    );
}
