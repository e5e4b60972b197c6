//! How far policies are, and what the controller is told of it.

use antrea_agent_policy::Realization;

use crate::node::{Node, PODS};

fn statuses(node: &Node) -> Vec<String> {
    let statuses = node.reconciler.statuses(&node.script.cache);
    let lines = statuses.map(|status| {
        let realization = match &status.realization {
            Realization::Realized => "realized".to_owned(),
            Realization::Pending => "pending".to_owned(),
            Realization::Failed(message) => format!("failed: {message}"),
        };
        let metadata = &status.policy.metadata;
        format!("{} {} {realization}", metadata.name, metadata.generation)
    });
    lines.collect()
}

/// The policies after these lines and what the switch has of them.
#[track_caller]
fn check(node: &mut Node, lines: &str, expected: &[&str]) {
    node.tell(lines);
    node.reconcile();
    assert_eq!(statuses(node), expected, "after {lines}");
}

#[test]
fn a_policy_is_realized_when_the_switch_has_all_its_rules() {
    let mut node = Node::told(PODS);
    node.tell("np ADDED p to=a generation=1 | In g Allow | Out - -");
    assert_eq!(statuses(&node), ["p 1 pending"]);
    check(&mut node, "", &["p 1 pending"]);
    node.reconciler.confirm();
    check(&mut node, "", &["p 1 realized"]);
    check(&mut node, "np MODIFIED p to=a generation=2 | In g Allow", &["p 2 pending"]);
    node.reconciler.confirm();
    check(&mut node, "np MODIFIED p to=a generation=3 | In g Allow", &["p 3 realized"]);
}

#[test]
fn a_policy_is_pending_while_groups_are_missing() {
    let mut node = Node::told(&format!("{PODS}\nnp ADDED p to=a | In h Allow"));
    check(&mut node, "", &["p 0 pending"]);
    check(&mut node, "ag ADDED h n/z=10.0.1.2", &["p 0 pending"]);
    node.reconciler.confirm();
    check(&mut node, "", &["p 0 realized"]);
}

#[test]
fn a_policy_without_pods_here_is_realized() {
    let mut node = Node::told("np ADDED p to=x | In - -");
    check(&mut node, "", &["p 0 realized"]);
    node.tell("atg ADDED x n/a");
    node.reconcile();
    node.reconciler.confirm();
    check(&mut node, "", &["p 0 realized"]);
}

#[test]
fn what_the_switch_refuses_has_failed_until_it_takes_it() {
    let mut node = Node::told(&format!("{PODS}\nnp ADDED p to=a | In g Allow"));
    node.tell("np ADDED q to=a | Out - -");
    node.reconcile();
    node.reconciler.refuse("the bundle was refused: table full".to_owned());
    check(&mut node, "", &["p 0 realized", "q 0 failed: the bundle was refused: table full"]);
    node.reconciler.confirm();
    check(&mut node, "", &["p 0 realized", "q 0 realized"]);
}

#[track_caller]
fn check_problem(policy: &str, expected: &str) {
    let node = Node::told(&format!("{PODS}\nnp ADDED p {policy}"));
    assert_eq!(statuses(&node), [format!("p 0 failed: {expected}")]);
}

#[test]
fn rules_that_cannot_be_enforced_have_failed() {
    check_problem(
        "to=a | In g Allow on=ICMP,TCP:90-80",
        "rule In: this agent cannot admit ICMP: use TCP, UDP, SCTP or a rule without ports; \
         endPort 80 is before port 90: they are not admitted; set endPort to 90 or more",
    );
    check_problem(
        "to=a | Out g Allow on=TCP:-80",
        "rule Out: endPort 80 has no port by number to begin with: it is not admitted; set port to a number",
    );
    check_problem(
        "to=a tier=250 | In g Allow",
        "rule In: this agent cannot enforce action Allow of policies with tiers: use policies of Kubernetes only",
    );
    check_problem(
        "to=a tier=250 | In g Drop",
        "rule In: this agent cannot enforce action Drop: the Pods are isolated instead, but for what policies of \
         Kubernetes admit; use policies of Kubernetes only",
    );
}

/// Name, Node, generation, failure and message.
fn reports(node: &Node) -> Vec<String> {
    let name = "node-1".parse().unwrap();
    let reports = node.reconciler.reports(&node.script.cache, &name);
    reports
        .into_values()
        .map(|report| {
            let of_node = &report.nodes[0];
            format!(
                "{} {} {} {} {}",
                report.metadata.name,
                of_node.node_name,
                of_node.generation,
                of_node.realization_failure,
                of_node.message
            )
        })
        .collect()
}

#[test]
fn the_controller_is_told_of_policies_that_have_a_status() {
    let mut node = Node::told(&format!(
        "{PODS}\nnp ADDED k to=a type=K8sNetworkPolicy | In g Allow\n\
         np ADDED p to=a type=AntreaNetworkPolicy generation=4 | In g Allow"
    ));
    assert_eq!(reports(&node), ["p node-1 4 false "]);
    node.tell("np MODIFIED p to=a type=AntreaNetworkPolicy generation=5 | In g Allow on=TCP:80");
    node.reconcile();
    assert_eq!(reports(&node), Vec::<String>::new());
    node.reconciler.refuse("full".to_owned());
    assert_eq!(reports(&node), ["p node-1 5 true full"]);
}
