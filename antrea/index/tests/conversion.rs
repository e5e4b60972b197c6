//! Rules: what a NetworkPolicy's spec means.

use crate::world::World;

/// A spec in Namespace x, and its rules.
#[track_caller]
pub(crate) fn check(spec: &str, rules: &str) {
    check_with(spec, rules, "");
}

/// The same, with the problems that are reported.
#[track_caller]
pub(crate) fn check_with(spec: &str, rules: &str, problems: &str) {
    let world = World::of(&format!("namespace x\npolicy x/p {spec}"));
    let (policy, _) = world.index.policy("x", "p").unwrap();
    assert_eq!(world.mirror.rules(&policy.rules), lines(rules));
    let said: Vec<String> = world.problems.iter().map(ToString::to_string).collect();
    assert_eq!(said.join("\n"), lines(problems));
}

fn lines(text: &str) -> String {
    text.trim().lines().map(str::trim).collect::<Vec<_>>().join("\n")
}

/// One rule for ingress: what it admits.
#[track_caller]
fn check_from(from: &str, peers: &str) {
    check(
        &format!("{{podSelector: {{}}, policyTypes: [Ingress], ingress: [{{from: {from}}}]}}"),
        &format!("In peers {peers} Allow -1"),
    );
}

/// One rule for ingress: the ports that it is about.
#[track_caller]
fn check_ports(ports: &str, text: &str) {
    check(
        &format!("{{podSelector: {{}}, policyTypes: [Ingress], ingress: [{{ports: {ports}}}]}}"),
        &format!("In peers 0.0.0.0/0 ::/0{text} Allow -1"),
    );
}

#[test]
fn a_direction_without_rules_is_isolated() {
    check("{podSelector: {}, policyTypes: [Ingress]}", "In 0");
    check("{podSelector: {}, policyTypes: [Egress]}", "Out 0");
    check("{podSelector: {}, policyTypes: [Ingress, Egress]}", "In 0\nOut 0");
    check("{podSelector: {}, policyTypes: [Egress, Ingress]}", "In 0\nOut 0");
    check("{podSelector: {}, policyTypes: [Ingress], ingress: []}", "In 0");
}

#[test]
fn without_policy_types_there_is_ingress_and_egress_if_it_has_rules() {
    check("{podSelector: {}}", "In 0");
    check("{}", "In 0");
    check("{podSelector: {}, egress: []}", "In 0");
    check("{podSelector: {}, egress: [{}]}", "Out peers 0.0.0.0/0 ::/0 Allow -1\nIn 0");
    check("{podSelector: {}, ingress: [{}]}", "In peers 0.0.0.0/0 ::/0 Allow -1");
    check("{podSelector: {}, policyTypes: []}", "In 0");
}

#[test]
fn rules_of_a_direction_that_is_not_named_mean_nothing() {
    check("{podSelector: {}, policyTypes: [Egress], ingress: [{}]}", "Out 0");
    check("{podSelector: {}, policyTypes: [Ingress], egress: [{}]}", "In 0");
}

#[test]
fn rules_keep_their_order_with_ingress_first() {
    check(
        "{podSelector: {}, policyTypes: [Ingress, Egress], egress: [{ports: [{port: 3}]}], ingress: [{ports: [{port: 1}]}, {ports: [{port: 2}]}]}",
        "In peers 0.0.0.0/0 ::/0 ports TCP:1 Allow -1
         In peers 0.0.0.0/0 ::/0 ports TCP:2 Allow -1
         Out peers 0.0.0.0/0 ::/0 ports TCP:3 Allow -1",
    );
}

#[test]
fn absent_and_empty_peers_are_everybody() {
    check_from("[]", "0.0.0.0/0 ::/0");
    check_from("null", "0.0.0.0/0 ::/0");
}

#[test]
fn peers_are_groups_named_after_their_selectors() {
    check_from("[{podSelector: {}}]", "{namespace=x And podSelector=}");
    check_from("[{podSelector: {matchLabels: {app: c}}}]", "{namespace=x And podSelector=app=c}");
    check_from("[{namespaceSelector: {}}]", "{namespaceSelector=}");
    check_from("[{namespaceSelector: {}, podSelector: {}}]", "{namespaceSelector= And podSelector=}");
    check_from(
        "[{namespaceSelector: {matchLabels: {team: b}}, podSelector: {matchLabels: {app: d}}}]",
        "{namespaceSelector=team=b And podSelector=app=d}",
    );
}

#[test]
fn several_peers_are_one_union_in_their_order_and_each_once() {
    check_from(
        "[{podSelector: {matchLabels: {app: z}}}, {podSelector: {matchLabels: {app: a}}}, {podSelector: {matchLabels: {app: z}}}]",
        "{namespace=x And podSelector=app=z} {namespace=x And podSelector=app=a}",
    );
    check_from(
        "[{ipBlock: {cidr: 10.0.0.0/8}}, {podSelector: {}}, {ipBlock: {cidr: fd00::/8}}]",
        "{namespace=x And podSelector=} 10.0.0.0/8 fd00::/8",
    );
}

#[test]
fn selectors_are_written_as_apimachinery_does() {
    let check = |selector: &str, text: &str| {
        check_from(
            &format!("[{{podSelector: {selector}}}]"),
            &format!("{{namespace=x And podSelector={text}}}"),
        );
    };
    check("{matchLabels: {b: '2', a: '1'}}", "a=1,b=2");
    check("{matchLabels: {a: ''}}", "a=");
    check("{matchExpressions: [{key: k, operator: In, values: [b, a]}]}", "k in (a,b)");
    check("{matchExpressions: [{key: k, operator: In, values: [a]}]}", "k in (a)");
    check("{matchExpressions: [{key: k, operator: NotIn, values: [b, a]}]}", "k notin (a,b)");
    check("{matchExpressions: [{key: k, operator: Exists}]}", "k");
    check("{matchExpressions: [{key: k, operator: DoesNotExist}]}", "!k");
    check(
        "{matchLabels: {m: x}, matchExpressions: [{key: k, operator: Exists}, {key: z, operator: Exists}]}",
        "k,m=x,z",
    );
    check("{matchLabels: {k: x}, matchExpressions: [{key: k, operator: Exists}]}", "k=x,k");
}

/// apimachinery v0.36.3 writes `k in (a,a)` and `k notin (a,b,b)`: its requirements keep the values they are given, and sort
/// them. A group that was named after each value once would have another name than upstream's.
#[test]
fn values_that_stand_twice_in_a_selector_stand_twice_in_the_name_of_its_group() {
    let expression = |operator: &str, values: &str| {
        format!(
            "[{{podSelector: {{matchExpressions: [{{key: k, operator: {operator}, values: [{values}]}}]}}}}]"
        )
    };
    check_from(&expression("In", "a, a"), "{namespace=x And podSelector=k in (a,a)}");
    check_from(&expression("NotIn", "b, a, b"), "{namespace=x And podSelector=k notin (a,b,b)}");
    let from = expression("In", "a, a");
    let world =
        World::of(&format!("namespace x\npolicy x/p {{podSelector: {{}}, ingress: [{{from: {from}}}]}}"));
    let name = "1d9a4718-cc03-5287-b8c4-c7e550961e16".parse().unwrap();
    assert_eq!(world.index.selector(name).as_deref(), Some("namespace=x And podSelector=k in (a,a)"));
}

#[test]
fn blocks_keep_their_exceptions_and_host_bits() {
    check_from(
        "[{ipBlock: {cidr: 172.18.0.0/16, except: [172.18.2.1/32, 172.18.3.0/24]}}]",
        "172.18.0.0/16-172.18.2.1/32-172.18.3.0/24",
    );
    check_from("[{ipBlock: {cidr: 172.18.2.1/16}}]", "172.18.2.1/16");
    check_from(
        "[{ipBlock: {cidr: 2001:db8::/32, except: ['2001:db8:1::/48']}}]",
        "2001:db8::/32-2001:db8:1::/48",
    );
    // Decimal, as Kubernetes reads it.
    check_from("[{ipBlock: {cidr: 010.0.0.0/8}}]", "10.0.0.0/8");
    check_from("[{ipBlock: {cidr: 0.0.0.0/0}}]", "0.0.0.0/0");
    check_from("[{ipBlock: {cidr: '::/0', except: []}}]", "::/0");
}

#[test]
fn ports_are_numbers_ranges_names_or_all() {
    check_ports("null", "");
    check_ports("[]", "");
    check_ports("[{port: 80}]", " ports TCP:80");
    check_ports("[{port: 80, protocol: UDP}]", " ports UDP:80");
    check_ports("[{port: 80, protocol: SCTP}]", " ports SCTP:80");
    check_ports("[{protocol: UDP}]", " ports UDP");
    check_ports("[{}]", " ports TCP");
    check_ports("[{port: http}]", " ports TCP:http");
    check_ports("[{port: 8000, endPort: 8090}]", " ports TCP:8000-8090");
    check_ports("[{port: 80, endPort: 80}]", " ports TCP:80-80");
    check_ports("[{port: 1, endPort: 65535}, {port: 53, protocol: UDP}]", " ports TCP:1-65535 UDP:53");
}

#[test]
fn egress_to_everybody_on_a_named_port_asks_all_pods_for_its_number() {
    let egress =
        |ports: &str| format!("{{podSelector: {{}}, policyTypes: [Egress], egress: [{{ports: {ports}}}]}}");
    check(&egress("[{port: http}]"), "Out peers {namespaceSelector=} 0.0.0.0/0 ::/0 ports TCP:http Allow -1");
    check(&egress("[{port: 80}]"), "Out peers 0.0.0.0/0 ::/0 ports TCP:80 Allow -1");
    check(
        &egress("[{port: 80}, {port: dns, protocol: UDP}]"),
        "Out peers {namespaceSelector=} 0.0.0.0/0 ::/0 ports TCP:80 UDP:dns Allow -1",
    );
    check_ports("[{port: http}]", " ports TCP:http");
}

#[test]
fn rules_are_logged_where_the_namespace_says_so() {
    let mut world = World::of(
        "namespace x logging\npolicy x/p {podSelector: {}, ingress: [{}], policyTypes: [Ingress, Egress]}",
    );
    let rules = |world: &World| world.mirror.rules(&world.index.policy("x", "p").unwrap().0.rules);
    assert_eq!(rules(&world), "In peers 0.0.0.0/0 ::/0 Allow -1 logged\nOut 0 logged");
    assert_eq!(world.updates("namespace x"), "NP ~ x/p Changed []");
    assert_eq!(rules(&world), "In peers 0.0.0.0/0 ::/0 Allow -1\nOut 0");
    assert_eq!(world.updates("namespace x logging\nnamespace x"), "");
    assert_eq!(world.updates("namespace x logging\n- namespace x"), "");
}
