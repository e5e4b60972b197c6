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

/// One Namespace, with two Pods on each of its Nodes, and as many policies, all of which select and admit all of them.
fn crowd(nodes: usize) -> World {
    let mut world = World::default();
    world.event("namespace n name=n");
    for number in 0..nodes {
        world.event(&format!(
            "policy n/np-{number} {{podSelector: {{}}, ingress: [{{from: [{{podSelector: {{}}}}]}}]}}"
        ));
        for pod in 0..2 {
            world.event(&format!("pod n/p{number}-{pod} app=all ip=10.0.0.1 node=n{number:03}"));
        }
    }
    world.settle();
    world
}

/// What an event costs.
fn cost(mut world: World, event: &str) -> Work {
    let before = world.index.work();
    world.event(event);
    world.index.settle(|_| ());
    let after = world.index.work();
    Work {
        matches: after.matches - before.matches,
        members: after.members - before.members,
        nodes: after.nodes - before.nodes,
    }
}

#[track_caller]
fn check(event: &str, matches: u64, members: u64, nodes: u64) {
    check_in(cluster, event, Work { matches, members, nodes });
}

#[track_caller]
fn check_in(cluster: fn(usize) -> World, event: &str, expected: Work) {
    let costs = [10, 100].map(|size| cost(cluster(size), event));
    assert_eq!(costs[0], costs[1], "the same in a cluster of ten times the size");
    assert_eq!(costs[0], expected, "{event}");
}

#[test]
fn a_pod_costs_the_groups_that_it_is_in() {
    check("pod n7/new app=app1 ip=10.0.0.2 node=n0", 3, 3, 2);
    check("- pod n7/p1-0", 3, 3, 2);
    check("pod n7/p1-0 app=app1 ip=10.0.0.9 node=n0", 6, 3, 0);
    check("pod n7/new app=none ip=10.0.0.2 node=n0", 2, 2, 1);
}

#[test]
fn a_policy_costs_the_members_of_its_new_groups() {
    check("policy n7/new {podSelector: {matchLabels: {app: app1}}}", 0, 0, 0);
    check("policy n7/new {podSelector: {matchExpressions: [{key: app, operator: Exists}]}}", 2, 4, 0);
    check("- policy n7/np-1", 0, 0, 0);
}

#[test]
fn a_namespace_costs_the_pods_that_it_brings() {
    check("namespace n7 name=n7 team=t0", 2, 8, 0);
    check("namespace n7 name=n7 team=t1 more=labels", 2, 0, 0);
    check("namespace new team=none", 0, 0, 0);
}

/// However many Pods, Nodes and policies its groups have.
#[test]
fn a_pod_of_a_large_group_costs_its_own_node() {
    let check = |event, matches, members, nodes| check_in(crowd, event, Work { matches, members, nodes });
    check("- pod n/p7-0", 1, 1, 1);
    check("pod n/p7-0 app=other ip=10.0.0.1 node=n007", 2, 1, 0);
    check("pod n/p7-0 app=all ip=10.0.0.9 node=n007", 2, 1, 0);
}
