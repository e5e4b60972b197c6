//! How much is done for how much that changes.

use crate::node::{Node, PODS};

/// Policies that each admit a group of their own.
fn different(count: usize) -> String {
    let policy = |number| {
        format!(
            "ag ADDED g{number} n/x=10.1.{}.{}\nnp ADDED p{number} to=ab | In g{number} Allow\n",
            number / 250,
            number % 250
        )
    };
    (0..count).map(policy).collect()
}

#[track_caller]
fn check(node: &mut Node, lines: &str, planned: usize, changes: usize) {
    node.tell(lines);
    let changed = node.reconcile().len();
    assert_eq!((node.planned, changed), (planned, changes), "planned and changed after {lines}");
}

#[test]
fn a_group_changes_the_rules_that_refer_to_it() {
    let mut node = Node::told(&format!("{PODS}\n{}", different(300)));
    assert_eq!(node.switch.len(), 300);
    check(&mut node, "ag MODIFIED g7 +n/y=10.9.0.1", 1, 1);
    check(&mut node, "np DELETED p8", 1, 1);
    check(&mut node, "np ADDED p8 to=ab | In g8 Allow", 1, 1);
    check(&mut node, "", 0, 0);
}

#[test]
fn a_pod_changes_the_rules_that_are_applied_to_it() {
    let mut node = Node::told(&format!("{PODS}\n{}np ADDED q to=a | Out - -", different(30)));
    check(&mut node, "pod n/a 9 10.0.0.1", 31, 31);
    check(&mut node, "pod n/b 8 10.0.0.2", 30, 30);
    check(&mut node, "pod n/c 7 10.0.0.3", 0, 0);
}

#[test]
fn policies_that_say_the_same_are_looked_at_once() {
    let same: String = (0..5_000).map(|number| format!("np ADDED p{number} to=ab | In g Allow\n")).collect();
    let mut node = Node::told(&format!("{PODS}\n{same}"));
    assert_eq!(node.switch.len(), 1);
    check(&mut node, "ag MODIFIED g +n/x=10.9.0.1", 1, 1);
    check(&mut node, "np DELETED p7", 1, 0);
}
