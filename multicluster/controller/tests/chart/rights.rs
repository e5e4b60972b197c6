//! Rights: verbs and resources one by one.

use serde_json::{Value, json};

use crate::helm::{Chart, MODES, find, texts};

/// Rules as `GROUP/RESOURCE[NAMES]: VERBS`, one line each, sorted.
fn rules(role: &Value) -> String {
    let mut lines = Vec::new();
    for rule in role["rules"].as_array().unwrap() {
        let names = texts(&rule["resourceNames"]).join(" ");
        let names = if names.is_empty() { names } else { format!("[{names}]") };
        for resource in texts(&rule["resources"]) {
            let group = texts(&rule["apiGroups"]).join(" ");
            lines.push(format!("{group}/{resource}{names}: {}", texts(&rule["verbs"]).join(" ")));
        }
    }
    lines.sort();
    lines.join("\n")
}

#[test]
fn a_member_may_do_what_it_does() {
    let Some(chart) = Chart::open() else { return };
    let objects = chart.mode("member", "controller: {enableStretchedNetworkPolicy: true}");
    insta::assert_snapshot!(rules(find(&objects, "ClusterRole", "antrea-mc-controller")));
    insta::assert_snapshot!(rules(find(&objects, "Role", "antrea-mc-controller")));
}

#[test]
fn a_leader_may_do_what_it_does() {
    let Some(chart) = Chart::open() else { return };
    let objects = chart.mode("leader", "");
    let everywhere = "antrea-multicluster-antrea-mc-controller";
    insta::assert_snapshot!(rules(find(&objects, "ClusterRole", everywhere)));
    insta::assert_snapshot!(rules(find(&objects, "Role", "antrea-mc-controller")));
    insta::assert_snapshot!(rules(find(&objects, "Role", "antrea-mc-controller-role")));
    insta::assert_snapshot!(rules(find(&objects, "Role", "antrea-mc-member-cluster-role")));
}

#[test]
fn nobody_may_do_everything_and_no_secret_is_open_everywhere() {
    let Some(chart) = Chart::open() else { return };
    for (mode, _) in MODES {
        let objects = chart.mode(mode, "memberCredentials: []");
        for role in objects.iter().filter(|object| !object["rules"].is_null()) {
            let rules = rules(role);
            let name = &role["metadata"]["name"];
            assert!(!rules.contains('*'), "{mode} {name}: {rules}");
            let reads_secrets = rules.contains("/secrets");
            assert!(role["kind"] != "ClusterRole" || !reads_secrets, "{mode} {name}: {rules}");
            assert!(!rules.contains("/secrets:"), "{mode} {name}: {rules}");
            let binds = ["bind", "escalate", "impersonate"].iter().any(|verb| rules.contains(verb));
            assert!(!binds, "{mode} {name}: {rules}");
        }
    }
}

/// At an upgrade the chart asks the API server which Secret the ClusterSet names, which no rendering does.
#[test]
fn a_member_reads_the_secret_that_the_values_name_and_no_other() {
    let Some(chart) = Chart::open() else { return };
    let set = "clusterSet: {create: true, clusterSetID: cs, clusterID: b, leaderAPIServer: 'https://l:6443', \
               leaderClusterID: a, leaderNamespace: mc, tokenSecretName: t}";
    for (values, expected) in
        [("", "antrea-mc-leader-token"), ("controller: {member: {tokenSecret: x}}", "x"), (set, "t")]
    {
        let objects = chart.mode("member", values);
        let rules = rules(find(&objects, "Role", "antrea-mc-controller"));
        let secrets: Vec<&str> = rules.lines().filter(|line| line.starts_with("/secrets")).collect();
        let own = format!("/secrets[{expected}]: get list watch patch");
        assert!(secrets.len() == 2 && secrets.contains(&own.as_str()), "{values}: {secrets:?}");
        let map = find(&objects, "ConfigMap", "antrea-mc-controller-config");
        let file = map["data"]["controller_manager_config.yaml"].as_str().unwrap();
        assert!(file.contains(&format!("\n  tokenSecret: {expected}\n")), "{values}: {file}");
    }
}

#[test]
fn the_controller_creates_one_secret_where_an_admission_policy_says_which() {
    let Some(chart) = Chart::open() else { return };
    let policies = "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy";
    for (mode, namespace) in MODES {
        let values = format!("mode: {mode}");
        let creates = |objects: &[Value]| {
            rules(find(objects, "Role", "antrea-mc-controller")).contains("/secrets: create")
        };
        let without = chart.render(namespace, &values).unwrap();
        assert!(!creates(&without), "{mode}");
        assert!(!without.iter().any(|object| object["kind"] == "ValidatingAdmissionPolicy"), "{mode}");
        let with = chart.render_on(&[policies], namespace, &values).unwrap();
        assert!(creates(&with), "{mode}");
        let prefix = if mode == "leader" { "antrea-multicluster-" } else { "" };
        let name = format!("{prefix}antrea-mc-controller-secret");
        let binding = &find(&with, "ValidatingAdmissionPolicyBinding", &name)["spec"];
        assert_eq!(*binding, json!({"policyName": name, "validationActions": ["Deny"]}), "{mode}");
        let policy = &find(&with, "ValidatingAdmissionPolicy", &name)["spec"];
        let user =
            format!("request.userInfo.username == 'system:serviceaccount:{namespace}:antrea-mc-controller'");
        assert_eq!(policy["matchConditions"], json!([{"name": "is-controller", "expression": user}]));
        let rule = json!({
            "apiGroups": [""], "apiVersions": ["v1"], "resources": ["secrets"], "operations": ["CREATE"],
        });
        assert_eq!(policy["matchConstraints"], json!({"resourceRules": [rule]}));
        assert_eq!(policy["failurePolicy"], "Fail");
        let one = "object.metadata.name == 'antrea-mc-webhook-ca' && object.type == 'Opaque'";
        assert_eq!(policy["validations"][0]["expression"], one);
    }
}

#[test]
fn what_makes_a_cluster_set_may_do_that_and_no_more() {
    let Some(chart) = Chart::open() else { return };
    let check = |mode: &str, values: &str, expected: &[(&str, &str)]| {
        let objects = chart.mode(mode, &format!("clusterSet: {{create: true, clusterSetID: cs, {values}}}"));
        let roles = objects.iter().filter(|object| {
            object["kind"] == "Role" && object["metadata"]["name"] == "antrea-mc-cluster-set"
        });
        let mut found: Vec<(String, String)> = roles
            .map(|role| (role["metadata"]["namespace"].as_str().unwrap_or_default().to_owned(), rules(role)))
            .collect();
        found.sort();
        let expected =
            expected.iter().map(|(namespace, rules)| ((*namespace).to_owned(), (*rules).to_owned()));
        assert_eq!(found, expected.collect::<Vec<_>>(), "{mode}");
    };
    let set = "multicluster.crd.antrea.io/clustersets: get list create";
    let set_and_token = "/secrets[t]: get\nmulticluster.crd.antrea.io/clustersets: get list create";
    check("leader", "clusterID: a", &[("antrea-multicluster", set)]);
    check("both", "clusterID: a", &[("antrea-multicluster", set)]);
    check(
        "both",
        "clusterID: a, leaderAPIServer: 'https://l:6443', tokenSecretName: t",
        &[("antrea-multicluster", set), ("kube-system", set_and_token)],
    );
    check(
        "member",
        "clusterID: b, leaderAPIServer: 'https://l:6443', leaderClusterID: a, leaderNamespace: mc, tokenSecretName: t",
        &[("kube-system", set_and_token)],
    );
}

#[test]
fn what_uninstalls_may_change_cluster_sets_and_no_more() {
    let Some(chart) = Chart::open() else { return };
    let objects = chart.mode("member", "");
    let role = find(&objects, "Role", "antrea-mc-uninstall");
    assert_eq!(rules(role), "multicluster.crd.antrea.io/clustersets: get list patch");
    let binding = find(&objects, "RoleBinding", "antrea-mc-uninstall");
    assert_eq!(binding["subjects"][0]["name"], "antrea-mc-uninstall");
}

#[test]
fn a_credential_speaks_for_one_cluster_and_renews_its_own_token() {
    let Some(chart) = Chart::open() else { return };
    let values = "memberCredentials: [{name: east, clusterID: c-east}, {name: west, clusterID: c-west, namespace: mc, tokenLifetime: 720h, gateways: [172.18.0.5, 172.18.1.0/24]}]\n\
                  controller: {leader: {namespaces: [mc]}}";
    let objects = chart.mode("leader", values);
    let account = find(&objects, "ServiceAccount", "west");
    assert_eq!(account["metadata"]["namespace"], "mc");
    assert_eq!(account["metadata"]["annotations"]["multicluster.antrea.io/cluster-id"], "c-west");
    assert_eq!(account["metadata"]["annotations"]["multicluster.antrea.io/token-lifetime"], "720h");
    assert_eq!(
        account["metadata"]["annotations"]["multicluster.antrea.io/gateways"],
        "172.18.0.5,172.18.1.0/24"
    );
    let usual = &find(&objects, "ServiceAccount", "east")["metadata"]["annotations"];
    assert!(usual["multicluster.antrea.io/token-lifetime"].is_null());
    assert!(usual["multicluster.antrea.io/gateways"].is_null());
    let bound = |name: &str| {
        let binding = find(&objects, "RoleBinding", name);
        let subject = &binding["subjects"][0];
        format!("{} {}/{}", binding["roleRef"]["name"], subject["namespace"], subject["name"])
            .replace('"', "")
    };
    assert_eq!(bound("west"), "antrea-mc-member-cluster-role mc/west");
    assert_eq!(bound("east-renew"), "east-renew antrea-multicluster/east");
    assert_eq!(rules(find(&objects, "Role", "east-renew")), "/serviceaccounts/token[east]: create");
}
