//! Who is in a group, and what is said when that changes.

use crate::world::World;

/// Two Namespaces, three Pods; in x, every policy admits and applies to `app=a`.
const CLUSTER: &str = "
    namespace x team=x
    namespace y team=b
    pod x/a app=a ip=10.0.0.1 node=n1
    pod x/b app=b ip=10.0.0.2 node=n2
    pod y/a app=a ip=10.0.1.1 node=n2
    policy x/p {podSelector: {matchLabels: {app: a}}, ingress: [{from: [{podSelector: {matchLabels: {app: a}}}]}]}";

#[track_caller]
fn check(cluster: &str, events: &str, updates: &str) {
    let mut world = World::of(cluster);
    let lines: Vec<&str> = updates.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(world.updates(events), lines.join("\n"));
    assert_eq!(world.told(), world.asked());
    assert_eq!(world.settle(), "", "nothing more to tell");
}

/// Pods that a peer of a policy in Namespace x selects, of those in the cluster.
#[track_caller]
fn check_selected(peer: &str, members: &str) {
    let mut world = World::of(
        "namespace x team=x env=dev
         namespace y team=b env=dev
         namespace z team=z
         pod x/a app=a ip=10.0.0.1 node=n1
         pod x/b app=b tier=1 ip=10.0.0.2 node=n1
         pod x/c ip=10.0.0.3 node=n1
         pod y/a app=a ip=10.0.1.1 node=n1
         pod y/b app=b ip=10.0.1.2 node=n1
         pod z/a app=a tier=2 ip=10.0.2.1 node=n1
         pod nowhere/a app=a ip=10.0.3.1 node=n1",
    );
    let spec = format!("{{podSelector: {{}}, ingress: [{{from: [{peer}]}}]}}");
    let updates = world.updates(&format!("policy x/p {spec}"));
    let group = updates.lines().find(|line| line.starts_with("AG")).unwrap();
    let found: Vec<&str> = group.split(['[', ']']).nth(2).unwrap().split(',').map(str::trim).collect();
    let names: Vec<&str> = found.iter().filter_map(|member| member.split(' ').next()).collect();
    assert_eq!(names.join(" "), members);
}

#[test]
fn pod_selectors_select_in_the_policys_own_namespace() {
    check_selected("{podSelector: {}}", "x/a x/b x/c");
    check_selected("{podSelector: {matchLabels: {app: a}}}", "x/a");
    check_selected("{podSelector: {matchLabels: {app: b, tier: '1'}}}", "x/b");
    check_selected("{podSelector: {matchLabels: {app: b, tier: '2'}}}", "");
    check_selected("{podSelector: {matchLabels: {app: none}}}", "");
}

#[test]
fn expressions_say_what_becomes_of_a_missing_key() {
    let check = |expression: &str, members: &str| {
        check_selected(&format!("{{podSelector: {{matchExpressions: [{expression}]}}}}"), members);
    };
    check("{key: app, operator: In, values: [a, b]}", "x/a x/b");
    check("{key: app, operator: In, values: [b, b]}", "x/b");
    check("{key: app, operator: NotIn, values: [a]}", "x/b x/c");
    check("{key: app, operator: Exists}", "x/a x/b");
    check("{key: app, operator: DoesNotExist}", "x/c");
    check("{key: none, operator: DoesNotExist}", "x/a x/b x/c");
    check("{key: none, operator: Exists}", "");
    check("{key: app, operator: In, values: [a, b]}, {key: tier, operator: Exists}", "x/b");
    check("{key: app, operator: Exists}, {key: app, operator: NotIn, values: [a]}", "x/b");
    check("{key: app, operator: In, values: [a]}, {key: app, operator: In, values: [b]}", "");
}

#[test]
fn namespace_selectors_select_namespaces_that_are_there() {
    check_selected("{namespaceSelector: {}}", "x/a x/b x/c y/a y/b z/a");
    check_selected("{namespaceSelector: {}, podSelector: {}}", "x/a x/b x/c y/a y/b z/a");
    check_selected("{namespaceSelector: {}, podSelector: {matchLabels: {app: a}}}", "x/a y/a z/a");
    check_selected("{namespaceSelector: {matchLabels: {team: b}}}", "y/a y/b");
    check_selected(
        "{namespaceSelector: {matchLabels: {env: dev}}, podSelector: {matchLabels: {app: b}}}",
        "x/b y/b",
    );
    check_selected("{namespaceSelector: {matchLabels: {team: none}}}", "");
    check_selected("{namespaceSelector: {matchExpressions: [{key: env, operator: DoesNotExist}]}}", "z/a");
    check_selected(
        "{namespaceSelector: {matchExpressions: [{key: team, operator: NotIn, values: [x]}]}, podSelector: {matchLabels: {app: a}}}",
        "y/a z/a",
    );
    check_selected(
        "{namespaceSelector: {matchExpressions: [{key: team, operator: In, values: [x, z]}]}, podSelector: {matchExpressions: [{key: app, operator: In, values: [a, b]}]}}",
        "x/a x/b z/a",
    );
}

#[test]
fn a_new_policy_comes_with_its_groups() {
    check(
        "namespace x\npod x/a app=a ip=10.0.0.1 ip=fd00::1 node=n1 port=http:80 port=dns:53:UDP",
        "policy x/p {podSelector: {matchLabels: {app: a}}, ingress: [{from: [{podSelector: {matchLabels: {app: a}}}]}]}",
        "AG + namespace=x And podSelector=app=a [n1] x/a 10.0.0.1 fd00::1 http=80/TCP dns=53/UDP
         ATG + namespace=x And podSelector=app=a [n1] x/a http=80/TCP dns=53/UDP on n1
         NP + x/p [n1]",
    );
}

#[test]
fn a_policy_for_nobody_has_an_empty_span() {
    check(
        "namespace x",
        "policy x/p {podSelector: {matchLabels: {app: none}}}",
        "ATG + namespace=x And podSelector=app=none []
         NP + x/p []",
    );
}

#[test]
fn a_pod_that_comes_is_added_where_it_belongs() {
    check(
        CLUSTER,
        "pod x/c app=a ip=10.0.0.3 node=n1",
        "AG ~ namespace=x And podSelector=app=a [n1] +(x/c 10.0.0.3)
         ATG ~ namespace=x And podSelector=app=a [n1] +(x/c on n1)",
    );
    check(CLUSTER, "pod x/c app=c ip=10.0.0.3 node=n1", "");
    check(CLUSTER, "pod y/c app=a ip=10.0.0.3 node=n1", "");
}

#[test]
fn a_pod_that_goes_is_removed() {
    let updates = "AG ~ namespace=x And podSelector=app=a [n1]>[] -(x/a 10.0.0.1)
         ATG ~ namespace=x And podSelector=app=a [n1]>[] -(x/a on n1)
         NP ~ x/p Same [n1]>[]";
    check(CLUSTER, "- pod x/a", updates);
    check(CLUSTER, "pod x/a app=a ip=10.0.0.1 node=n1 phase=Succeeded", updates);
    check(CLUSTER, "pod x/a app=a ip=10.0.0.1 node=n1 phase=Failed", updates);
    check(CLUSTER, "- pod x/b\n- pod x/none\n- pod none/none", "");
}

#[test]
fn pods_in_the_nodes_network_are_nobodys() {
    check(CLUSTER, "pod x/c app=a ip=192.168.0.1 node=n1 hostNetwork", "");
}

#[test]
fn a_pod_gets_its_node_and_then_its_address() {
    check(CLUSTER, "pod x/c app=a", "");
    let cluster = format!("{CLUSTER}\npod x/c app=a");
    check(&cluster, "pod x/c app=a node=n1", "ATG ~ namespace=x And podSelector=app=a [n1] +(x/c on n1)");
    let cluster = format!("{cluster}\npod x/c app=a node=n1");
    check(
        &cluster,
        "pod x/c app=a node=n1 podIP=10.0.0.3",
        "AG ~ namespace=x And podSelector=app=a [n1] +(x/c 10.0.0.3)",
    );
}

#[test]
fn an_address_that_another_pod_had_moves() {
    check(
        CLUSTER,
        "- pod x/a\npod x/c app=a ip=10.0.0.1 node=n1",
        "AG ~ namespace=x And podSelector=app=a [n1] +(x/c 10.0.0.1) -(x/a 10.0.0.1)
         ATG ~ namespace=x And podSelector=app=a [n1] +(x/c on n1) -(x/a on n1)",
    );
}

#[test]
fn a_pod_made_anew_on_another_node_moves_the_span() {
    check(
        CLUSTER,
        "- pod x/a\npod x/a app=a ip=10.0.0.9 node=n2",
        "AG ~ namespace=x And podSelector=app=a [n1]>[n2] +(x/a 10.0.0.9) -(x/a 10.0.0.1)
         ATG ~ namespace=x And podSelector=app=a [n1]>[n2] +(x/a on n2) -(x/a on n1)
         NP ~ x/p Same [n1]>[n2]",
    );
}

#[test]
fn named_ports_are_news_to_both_groups() {
    check(
        CLUSTER,
        "pod x/a app=a ip=10.0.0.1 node=n1 port=http:80",
        "AG ~ namespace=x And podSelector=app=a [n1] +(x/a 10.0.0.1 http=80/TCP) -(x/a 10.0.0.1)
         ATG ~ namespace=x And podSelector=app=a [n1] +(x/a http=80/TCP on n1) -(x/a on n1)",
    );
}

#[test]
fn labels_move_a_pod_between_groups() {
    check(
        CLUSTER,
        "pod x/b app=a ip=10.0.0.2 node=n2",
        "AG ~ namespace=x And podSelector=app=a [n1]>[n1,n2] +(x/b 10.0.0.2)
         ATG ~ namespace=x And podSelector=app=a [n1]>[n1,n2] +(x/b on n2)
         NP ~ x/p Same [n1]>[n1,n2]",
    );
    check(CLUSTER, "pod x/a app=a more=labels ip=10.0.0.1 node=n1", "");
}

#[test]
fn what_is_as_it_was_is_not_told() {
    check(CLUSTER, CLUSTER, "");
    check(CLUSTER, "- pod x/a\npod x/a app=a ip=10.0.0.1 node=n1", "");
    check(CLUSTER, "pod x/new app=a ip=10.0.0.7 node=n7\n- pod x/new", "");
    check(CLUSTER, "policy x/new {podSelector: {}}\n- policy x/new", "");
    check(CLUSTER, "- namespace x\nnamespace x team=x", "");
    check(CLUSTER, "namespace new team=new", "");
    check(
        CLUSTER,
        "- policy x/p\npolicy x/p {podSelector: {matchLabels: {app: a}}, ingress: [{from: [{podSelector: {matchLabels: {app: a}}}]}]}",
        "",
    );
}

#[test]
fn a_policy_that_goes_takes_groups_that_nobody_else_needs() {
    check(
        CLUSTER,
        "- policy x/p",
        "AG - namespace=x And podSelector=app=a [n1]
         ATG - namespace=x And podSelector=app=a [n1]
         NP - x/p [n1]",
    );
    let cluster = format!("{CLUSTER}\npolicy x/q {{podSelector: {{matchLabels: {{app: a}}}}}}");
    check(
        &cluster,
        "- policy x/p",
        "AG - namespace=x And podSelector=app=a [n1]
         NP - x/p [n1]",
    );
}

#[test]
fn a_policy_that_changes_tells_only_what_does() {
    check(
        CLUSTER,
        "policy x/p {podSelector: {matchLabels: {app: a}}, ingress: [{from: [{podSelector: {matchLabels: {app: b}}}]}]}",
        "AG + namespace=x And podSelector=app=b [n1] x/b 10.0.0.2
         AG - namespace=x And podSelector=app=a [n1]
         NP ~ x/p Changed [n1]",
    );
    check(
        CLUSTER,
        "policy x/p {podSelector: {matchLabels: {app: b}}, ingress: [{from: [{podSelector: {matchLabels: {app: a}}}]}]}",
        "AG ~ namespace=x And podSelector=app=a [n1]>[n2]
         ATG + namespace=x And podSelector=app=b [n2] x/b on n2
         ATG - namespace=x And podSelector=app=a [n1]
         NP ~ x/p Changed [n1]>[n2]",
    );
}

#[test]
fn a_policy_of_the_same_name_but_another_uid_is_another() {
    check(
        CLUSTER,
        "- policy x/p\npolicy x/p@new {podSelector: {matchLabels: {app: a}}}",
        "AG - namespace=x And podSelector=app=a [n1]
         NP + new [n1]
         NP - x/p [n1]",
    );
}

#[test]
fn namespace_labels_move_all_pods_at_once() {
    let cluster = format!(
        "{CLUSTER}\npolicy x/q {{podSelector: {{matchLabels: {{app: a}}}}, ingress: [{{from: [{{namespaceSelector: {{matchLabels: {{team: b}}}}}}]}}]}}"
    );
    check(&cluster, "namespace y team=z", "AG ~ namespaceSelector=team=b [n1] -(y/a 10.0.1.1)");
    check(&cluster, "- namespace y", "AG ~ namespaceSelector=team=b [n1] -(y/a 10.0.1.1)");
    check(
        &cluster,
        "namespace x team=b",
        "AG ~ namespaceSelector=team=b [n1] +(x/a 10.0.0.1) +(x/b 10.0.0.2)",
    );
    check(
        &cluster,
        "namespace x team=b\npod x/b app=b ip=10.0.0.8 node=n2\n- pod y/a\nnamespace y team=x\npod y/b ip=10.0.1.2",
        "AG ~ namespaceSelector=team=b [n1] +(x/a 10.0.0.1) +(x/b 10.0.0.8) -(y/a 10.0.1.1)",
    );
    check(&cluster, "namespace y team=z\nnamespace y team=b more=labels", "");
}

#[test]
fn pods_that_came_before_their_namespace_are_found_when_it_comes() {
    check(
        "namespace x
         pod z/a ip=10.0.2.1 node=n3
         policy x/p {podSelector: {}, ingress: [{from: [{namespaceSelector: {}}]}]}",
        "namespace z",
        "AG ~ namespaceSelector= [] +(z/a 10.0.2.1)",
    );
}
