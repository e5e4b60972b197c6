//! Objects that no API server should let through: each problem by its field, and nothing is open that was closed.

use crate::conversion::check_with;
use crate::world::World;

/// One bad rule for ingress: it admits nobody, the policy still isolates.
#[track_caller]
fn check_closed(rule: &str, problem: &str) {
    let spec = format!("{{podSelector: {{}}, policyTypes: [Ingress], ingress: [{rule}]}}");
    check_with(&spec, "In 0", &format!("spec.ingress[0].{problem}"));
}

#[test]
fn a_peer_that_nobody_knows_admits_nobody() {
    check_closed("{from: [{}]}", "from[0]: none of ipBlock, namespaceSelector, podSelector: admits nobody");
    check_closed(
        "{from: [{serviceSelector: {}}]}",
        "from[0]: none of ipBlock, namespaceSelector, podSelector: admits nobody",
    );
    check_closed(
        "{from: [{ipBlock: {cidr: 10.0.0.0/8}, podSelector: {}}]}",
        "from[0]: ipBlock and selectors are both there: admits nobody",
    );
}

#[test]
fn a_block_that_cannot_be_read_admits_nobody() {
    let check = |block: &str, problem: &str| {
        check_closed(&format!("{{from: [{{ipBlock: {block}}}]}}"), &format!("from[0].ipBlock.{problem}"));
    };
    check("{cidr: ''}", "cidr: \"\" is no CIDR: admits nobody");
    check("{cidr: 10.0.0.1}", "cidr: \"10.0.0.1\" is no CIDR: admits nobody");
    check("{cidr: 10.0.0.0/33}", "cidr: \"10.0.0.0/33\" is no CIDR: admits nobody");
    check("{cidr: '::ffff:10.0.0.0/104'}", "cidr: \"::ffff:10.0.0.0/104\" is no CIDR: admits nobody");
    check(
        "{cidr: 10.0.0.0/8, except: [10.1.0.0/99]}",
        "except[0]: \"10.1.0.0/99\" is no CIDR: admits nobody",
    );
    check(
        "{cidr: 10.0.0.0/8, except: [10.1.0.0/16, 11.0.0.0/16]}",
        "except[1]: \"11.0.0.0/16\" is not a part of 10.0.0.0/8: admits nobody",
    );
    check(
        "{cidr: 10.0.0.0/8, except: ['fd00::/64']}",
        "except[0]: \"fd00::/64\" is not a part of 10.0.0.0/8: admits nobody",
    );
    check(
        "{cidr: 10.0.0.0/8, except: [10.0.0.0/8]}",
        "except[0]: \"10.0.0.0/8\" is not a part of 10.0.0.0/8: admits nobody",
    );
}

#[test]
fn ports_that_cannot_be_read_admit_nothing() {
    let check = |port: &str, problem: &str| {
        check_closed(&format!("{{ports: [{port}]}}"), &format!("ports[0].{problem}"));
    };
    check("{endPort: 90}", "endPort: there is no port that the range begins with");
    check("{port: http, endPort: 90}", "endPort: a range cannot begin with the name of a port");
    check("{port: 80, endPort: 79}", "endPort: 79 is less than port 80");
    check("{port: 0}", "port: 0 is not between 1 and 65535");
    check("{port: 65536}", "port: 65536 is not between 1 and 65535");
    check("{port: 80, endPort: 70000}", "endPort: 70000 is not between 1 and 65535");
    check("{port: ''}", "port: the name is empty");
    check("{port: 80, protocol: ICMP}", "protocol: \"ICMP\" is no protocol; it is one of: TCP, UDP, SCTP");
}

#[test]
fn a_selector_that_cannot_be_read_selects_nobody() {
    let check = |expression: &str, problem: &str| {
        check_closed(
            &format!("{{from: [{{podSelector: {{matchExpressions: [{expression}]}}}}]}}"),
            &format!("from[0].podSelector.matchExpressions[0].{problem}"),
        );
        check_closed(
            &format!("{{from: [{{namespaceSelector: {{matchExpressions: [{expression}]}}}}]}}"),
            &format!("from[0].namespaceSelector.matchExpressions[0].{problem}"),
        );
    };
    check(
        "{key: k, operator: Like, values: [a]}",
        "operator: \"Like\" is none of In, NotIn, Exists, DoesNotExist",
    );
    check("{key: k, operator: In}", "values: In needs at least one value");
    check("{key: k, operator: NotIn, values: []}", "values: NotIn needs at least one value");
    check("{key: k, operator: Exists, values: [a]}", "values: Exists takes no values");
    check("{key: '', operator: DoesNotExist}", "key: the key is empty");
    check_closed(
        "{from: [{podSelector: {matchLabels: {'': a}}}]}",
        "from[0].podSelector.matchLabels: a key is empty",
    );
}

#[test]
fn what_is_right_beside_it_still_admits() {
    check_with(
        "{podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{}, {podSelector: {}}], ports: [{port: 0}, {port: 80}]}, {from: [{}]}]}",
        "In peers {namespace=x And podSelector=} ports TCP:80 Allow -1",
        "spec.ingress[0].ports[0].port: 0 is not between 1 and 65535
         spec.ingress[0].from[0]: none of ipBlock, namespaceSelector, podSelector: admits nobody
         spec.ingress[1].from[0]: none of ipBlock, namespaceSelector, podSelector: admits nobody",
    );
}

#[test]
fn a_policy_that_does_not_say_whom_it_is_for_closes_its_namespace() {
    check_with(
        "{podSelector: {matchExpressions: [{key: k, operator: Like}]}, ingress: [{}]}",
        "In 0",
        "spec.podSelector.matchExpressions[0].operator: \"Like\" is none of In, NotIn, Exists, DoesNotExist",
    );
}

#[test]
fn an_unknown_policy_type_isolates_in_both_directions() {
    check_with(
        "{podSelector: {}, policyTypes: [Ingres]}",
        "In 0\nOut 0",
        "spec.policyTypes[0]: \"Ingres\" is neither Ingress nor Egress: isolates in both directions",
    );
    check_with(
        "{podSelector: {}, policyTypes: [Ingress, Forward], ingress: [{}], egress: [{}]}",
        "In peers 0.0.0.0/0 ::/0 Allow -1\nOut 0",
        "spec.policyTypes[1]: \"Forward\" is neither Ingress nor Egress: isolates in both directions",
    );
}

#[test]
fn what_a_pod_says_wrong_is_left_out() {
    let world = World::of("pod x/a ip=10.0.0.300 ip=10.0.0.1 port=a:0 port=b:80:ICMP port=c:90:UDP node=n");
    let said: Vec<String> = world.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "status.podIPs: \"10.0.0.300\" is no IP address",
            "spec.containers.ports[a]: 0 is not between 1 and 65535",
            "spec.containers.ports[b]: \"ICMP\" is no protocol; it is one of: TCP, UDP, SCTP",
        ]
    );
}

#[test]
fn a_policy_of_a_thousand_rules_has_them_all() {
    let rules: Vec<String> = (1..=1000).map(|port| format!("{{ports: [{{port: {port}}}]}}")).collect();
    let world = World::of(&format!("policy x/p {{podSelector: {{}}, ingress: [{}]}}", rules.join(",")));
    assert_eq!(world.index.policy("x", "p").unwrap().0.rules.len(), 1000);
}
