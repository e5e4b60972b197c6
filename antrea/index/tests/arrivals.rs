//! Which Pods of each Node are told to be known.

use std::fmt::Write;

use crate::world::World;

/// What is known after some events, and after some more.
#[track_caller]
fn check(events: &str, expected: &str, more: &str, expected_then: &str) {
    let mut world = World::of(events);
    assert_eq!(pods(&world), expected);
    world.updates(more);
    assert_eq!(pods(&world), expected_then);
}

/// `n1: a b; n2: c; `
fn pods(world: &World) -> String {
    let mut text = String::new();
    for (node, pods) in &world.pods {
        let pods: Vec<&str> = pods.iter().map(String::as_str).collect();
        write!(text, "{node}: {}; ", pods.join(" ")).unwrap();
    }
    text
}

#[test]
fn a_pod_is_known_on_its_node_from_when_it_has_one_until_it_is_gone() {
    let two = "pod x/a app=a node=n1\n pod x/b";
    check(two, "n1: x/a; ", "pod x/b node=n1\n pod y/c node=n2", "n1: x/a x/b; n2: y/c; ");
    check(two, "n1: x/a; ", "pod x/a app=b ip=10.0.0.1 node=n1", "n1: x/a; ");
    check(two, "n1: x/a; ", "- pod x/a", "");
    check(two, "n1: x/a; ", "pod x/a node=n1 phase=Succeeded", "");
    check(two, "n1: x/a; ", "pod x/a node=n1 hostNetwork", "");
}

#[test]
fn a_pod_of_the_same_name_is_another_one() {
    let one = "pod x/a node=n1 uid=u1";
    check(one, "n1: u1; ", "- pod x/a\n pod x/a node=n1 uid=u2", "n1: u2; ");
    check(one, "n1: u1; ", "pod x/a node=n1 uid=u2", "n1: u2; ");
    check(one, "n1: u1; ", "- pod x/a\n pod x/a node=n2 uid=u2", "n2: u2; ");
}

#[test]
fn a_pod_that_runs_from_a_file_has_the_uid_that_its_kubelet_gave_it() {
    check("pod x/a node=n1 uid=u1 hash=0123", "n1: 0123; ", "", "n1: 0123; ");
}
