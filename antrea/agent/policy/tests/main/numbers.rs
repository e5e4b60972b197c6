//! Which rule has which number, and for how long.

use antrea_pipeline::policy::ConjunctionId;

use crate::node::{Node, PODS};

/// The policies that a number is of.
fn policies(node: &Node, number: u32) -> String {
    let number = ConjunctionId::new(number).unwrap();
    let rules = node.reconciler.rules_of(number).into_iter();
    rules.map(|rule| format!("{} {}", rule.policy, rule.direction)).collect::<Vec<_>>().join(",")
}

#[test]
fn a_rule_keeps_its_number_while_its_members_change() {
    let mut node = Node::told(&format!("{PODS}\nnp ADDED p to=a | In g Allow"));
    node.check("ag MODIFIED g -n/z", &["2 in 1 from 10.0.1.1"]);
    node.check("atg MODIFIED a +n/c", &["2 in 1,3 from 10.0.1.1"]);
    node.check("ag MODIFIED g -n/y", &["2 in 1,3 from nobody"]);
}

#[test]
fn services_keep_their_numbers_while_pods_come_and_go() {
    let mut node = Node::told(
        "pod n/a 1 10.0.0.1\npod n/b 2 10.0.0.2\natg ADDED x n/a#http:TCP:80 n/b#http:TCP:8080\n\
         np ADDED p to=x | In - Allow block=10.2.0.0/16 on=TCP:http",
    );
    node.check("atg MODIFIED x +n/a#http:TCP:8080", &["2 gone", "3 in 1,2 from 10.2.0.0/16 on TCP:8080"]);
    node.check(
        "atg MODIFIED x +n/b#http:TCP:80",
        &["3 in 1 from 10.2.0.0/16 on TCP:8080", "4 in 2 from 10.2.0.0/16 on TCP:80"],
    );
}

#[test]
fn rules_that_say_the_same_have_one_number() {
    let mut node = Node::told(&format!("{PODS}\nnp ADDED p to=a | In g Allow"));
    node.check("np ADDED q to=a | In g Allow", &[]);
    assert_eq!(policies(&node, 2).split(',').count(), 2);
    node.check("np DELETED p", &[]);
    assert_eq!(policies(&node, 2), "q In");
    node.check("np DELETED q", &["2 gone"]);
}

#[test]
fn rules_whose_groups_have_the_same_members_have_one_number() {
    let mut node = Node::told(&format!("{PODS}\nag ADDED h n/y=10.0.1.1\nnp ADDED p to=a | In g Allow"));
    node.check("np ADDED q to=a | In h Allow", &["3 in 1 from 10.0.1.1"]);
    node.check("ag MODIFIED h +n/z=10.0.1.2,fd01::2", &["3 gone"]);
    assert_eq!(policies(&node, 2), "p In,q In");
    node.check("ag MODIFIED g -n/y", &["4 in 1 from 10.0.1.2,fd01::2"]);
    assert_eq!((policies(&node, 2), policies(&node, 4)), ("q In".to_owned(), "p In".to_owned()));
}

/// What one leaves and the other comes to stays as it is.
#[test]
fn rules_that_change_together_may_change_numbers() {
    let mut node = Node::told(&format!(
        "{PODS}\nag ADDED h n/x=10.0.1.7\nnp ADDED p to=a | In g Allow\nnp ADDED q to=a | In h Allow"
    ));
    let before = node.switch.clone();
    node.check(
        "ag CONNECTED\nag ADDED h n/y=10.0.1.1 n/z=10.0.1.2,fd01::2\nag ADDED g n/x=10.0.1.7\nag BOOKMARK",
        &[],
    );
    assert_eq!(node.switch, before);
}

#[test]
fn a_number_means_its_rule_until_it_is_anothers() {
    let mut node = Node::told(&format!("{PODS}\nnp ADDED p to=a | In g Allow"));
    node.check("np DELETED p", &["2 gone"]);
    assert_eq!(policies(&node, 2), "p In");
    node.check("wait 4\nnp ADDED q to=a | In - -", &["3 in 1 from nobody"]);
    assert_eq!(policies(&node, 2), "p In");
    node.reconciler.confirm();
    node.check("wait 1\nnp ADDED r to=a | Out - -", &["2 out 1 to nobody"]);
    assert_eq!(policies(&node, 2), "r Out");
}

/// A flow that carries it may be left, which would make the new rule's members of the old one's.
#[test]
fn a_number_is_not_anothers_while_the_switch_refuses_something() {
    let mut node = Node::told(&format!("{PODS}\nnp ADDED p to=a | In g Allow"));
    node.check("np DELETED p", &["2 gone"]);
    node.reconciler.refuse("too many".to_owned());
    node.check("wait 60\nnp ADDED q to=a | In - -", &["3 in 1 from nobody"]);
    node.reconciler.refuse("too many".to_owned());
    node.check("wait 60\nnp ADDED r to=a | Out - -", &["4 out 1 to nobody"]);
    assert_eq!(policies(&node, 2), "", "whose it was is not kept for ever");
    node.reconciler.confirm();
    node.check("np ADDED s to=ab | Out - -", &["2 out 1,2 to nobody"]);
}

#[test]
fn a_number_that_nobody_had_is_nobodys() {
    assert_eq!(policies(&Node::told(PODS), 2), "");
}

#[test]
fn a_rule_knows_its_numbers() {
    let mut node = Node::told("atg ADDED x n/a#http:TCP:80 n/b#http:TCP:8080");
    node.tell("np ADDED p to=x | In - Allow on=TCP:http block=10.2.0.0/16");
    node.reconcile();
    let rules: Vec<_> = node.script.cache.policies().flat_map(|(_, rules)| rules.clone()).collect();
    assert_eq!(node.reconciler.numbers_of(&rules[0]).count(), 0);
    node.check(
        "pod n/a 1 10.0.0.1\npod n/b 2 10.0.0.2",
        &["2 in 1 from 10.2.0.0/16 on TCP:80", "3 in 2 from 10.2.0.0/16 on TCP:8080"],
    );
    let numbers: Vec<_> = node.reconciler.numbers_of(&rules[0]).map(ConjunctionId::get).collect();
    assert_eq!(numbers, [2, 3]);
}
