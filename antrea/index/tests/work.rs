//! Work is proportional to what changes, not to the cluster: counted, not timed.

use antrea_index::Work;

use crate::world::World;

/// Namespaces with four Pods of two apps, a policy that denies all, one for each app, and one that admits the
/// neighbours of a team, five Namespaces each.
fn cluster(namespaces: usize) -> World {
    let mut world = World::default();
    for number in 0..namespaces {
        let peer = format!("{{namespaceSelector: {{matchLabels: {{team: t{}}}}}}}", number / 5);
        let mut events = vec![
            format!("namespace n{number} name=n{number} team=t{}", number / 5),
            format!("policy n{number}/deny {{podSelector: {{}}}}"),
            format!("policy n{number}/team {{podSelector: {{}}, ingress: [{{from: [{peer}]}}]}}"),
        ];
        for app in 1..=2 {
            let selector = format!("{{matchLabels: {{app: app{app}}}}}");
            let spec =
                format!("{{podSelector: {selector}, ingress: [{{from: [{{podSelector: {selector}}}]}}]}}");
            events.push(format!("policy n{number}/np-{app} {spec}"));
            for pod in 0..2 {
                let node = number % 7;
                events.push(format!("pod n{number}/p{app}-{pod} app=app{app} ip=10.0.0.1 node=n{node}"));
            }
        }
        events.iter().for_each(|event| world.event(event));
    }
    world.settle();
    world
}

/// What an event costs in a cluster of so many Namespaces.
fn cost(namespaces: usize, event: &str) -> Work {
    let mut world = cluster(namespaces);
    let before = world.index.work();
    world.event(event);
    world.index.settle(|_| ());
    let after = world.index.work();
    Work { matches: after.matches - before.matches, members: after.members - before.members }
}

#[track_caller]
fn check(event: &str, matches: u64, members: u64) {
    let costs = [cost(10, event), cost(100, event)];
    assert_eq!(costs[0], costs[1], "the same in a cluster of ten times the size");
    assert_eq!(costs[0], Work { matches, members }, "{event}");
}

#[test]
fn a_pod_costs_the_groups_that_it_is_in() {
    check("pod n7/new app=app1 ip=10.0.0.2 node=n0", 3, 3);
    check("- pod n7/p1-0", 3, 3);
    check("pod n7/p1-0 app=app1 ip=10.0.0.9 node=n0", 6, 3);
    check("pod n7/new app=none ip=10.0.0.2 node=n0", 2, 2);
}

#[test]
fn a_policy_costs_the_members_of_its_new_groups() {
    check("policy n7/new {podSelector: {matchLabels: {app: app1}}}", 0, 0);
    check("policy n7/new {podSelector: {matchExpressions: [{key: app, operator: Exists}]}}", 2, 4);
    check("- policy n7/np-1", 0, 0);
}

#[test]
fn a_namespace_costs_the_pods_that_it_brings() {
    check("namespace n7 name=n7 team=t0", 2, 8);
    check("namespace n7 name=n7 team=t1 more=labels", 2, 0);
    check("namespace new team=none", 0, 0);
}
