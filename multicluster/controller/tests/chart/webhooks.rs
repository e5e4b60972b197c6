//! Webhooks: which objects the controller is asked about.

use serde_json::Value;

use crate::helm::{Chart, MODES, texts};

/// A line for each webhook: its name and path, what it is asked about, where, and under which conditions.
fn list(objects: &[Value]) -> String {
    let configurations = objects.iter().filter(|object| !object["webhooks"].is_null());
    let webhooks = configurations.flat_map(|object| object["webhooks"].as_array().unwrap());
    webhooks.map(|webhook| line(webhook) + "\n").collect()
}

fn line(webhook: &Value) -> String {
    let service = &webhook["clientConfig"]["service"];
    let rule = &webhook["rules"][0];
    let selector = &webhook["namespaceSelector"]["matchExpressions"][0];
    let namespaces = match texts(&selector["values"]).as_slice() {
        [] => "everywhere".to_owned(),
        some => format!("in {}", some.join(" ")),
    };
    let conditions = webhook["matchConditions"].as_array();
    let conditions = conditions.into_iter().flatten();
    let conditions: String =
        conditions.map(|condition| format!(" where {}", condition["expression"].as_str().unwrap())).collect();
    format!(
        "{} {}: {} {} {namespaces}{conditions}",
        webhook["name"].as_str().unwrap(),
        service["path"].as_str().unwrap(),
        texts(&rule["operations"]).join("+"),
        texts(&rule["resources"]).join("+"),
    )
}

#[test]
fn a_leader_is_asked_about_common_areas() {
    let Some(chart) = Chart::open() else { return };
    insta::assert_snapshot!(list(&chart.mode("leader", "controller: {leader: {namespaces: [second]}}")));
}

#[test]
fn a_member_is_asked_about_its_own_namespace_and_services_of_all() {
    let Some(chart) = Chart::open() else { return };
    insta::assert_snapshot!(list(&chart.mode("member", "")));
}

#[test]
fn both_are_asked_about_both() {
    let Some(chart) = Chart::open() else { return };
    insta::assert_snapshot!(list(&chart.mode("both", "")));
}

#[test]
fn whose_writes_of_imports_and_exports_nobody_is_asked_about_is_the_controller_itself() {
    let Some(chart) = Chart::open() else { return };
    let of_leaders = ["vresourceexport", "vresourceimport"];
    for (mode, namespace, excepted) in [
        ("leader", "antrea-multicluster", &of_leaders[..]),
        ("member", "kube-system", &["vserviceimport"]),
        ("both", "kube-system", &[of_leaders[0], of_leaders[1], "vserviceimport"]),
    ] {
        let objects = chart.mode(mode, "");
        let account = objects
            .iter()
            .find_map(|object| object.pointer("/spec/template/spec/serviceAccountName"))
            .unwrap();
        let user = format!("'system:serviceaccount:{namespace}:{}'", account.as_str().unwrap());
        let listed = list(&objects);
        let lines: Vec<&str> = listed.lines().filter(|line| line.contains("username !=")).collect();
        assert_eq!(lines.len(), excepted.len(), "{listed}");
        for (line, kind) in lines.into_iter().zip(excepted) {
            assert!(line.starts_with(kind), "{line}");
            assert!(line.ends_with(&format!("where request.userInfo.username != {user}")), "{line}");
        }
    }
}

/// A kubelet that waited for the controller before it starts its Pod would wait forever.
#[test]
fn the_controller_is_asked_about_tokens_for_members_and_never_about_those_of_kubelets() {
    let Some(chart) = Chart::open() else { return };
    for (mode, kinds) in [("leader", 2), ("member", 0), ("both", 2)] {
        let objects = chart.mode(mode, "");
        let webhooks = objects.iter().filter_map(|object| object["webhooks"].as_array()).flatten();
        let is_of_tokens = |webhook: &&Value| webhook["rules"][0]["resources"][0] == "serviceaccounts/token";
        let of_tokens: Vec<&Value> = webhooks.filter(is_of_tokens).collect();
        assert_eq!(of_tokens.len(), kinds, "{mode}");
        for webhook in of_tokens {
            assert_eq!(webhook["rules"][0]["apiGroups"], serde_json::json!([""]));
            let conditions = webhook["matchConditions"].as_array().unwrap();
            let of_the_area =
                "request.userInfo.username.startsWith('system:serviceaccount:' + request.namespace + ':')";
            assert_eq!(conditions.len(), 1);
            assert_eq!(conditions[0]["expression"], of_the_area);
            let selector = &webhook["namespaceSelector"]["matchExpressions"][0];
            assert_eq!(texts(&selector["values"]), ["antrea-multicluster"]);
        }
    }
}

/// It comes every 2 s.
#[test]
fn the_agents_own_report_is_not_asked_about() {
    let Some(chart) = Chart::open() else { return };
    for (values, namespace) in
        [("", "kube-system"), ("controller: {member: {agentNamespace: antrea}}", "antrea")]
    {
        let listed = list(&chart.mode("member", values));
        let line = listed.lines().find(|line| line.starts_with("vgateway.kb.io ")).unwrap();
        for condition in [
            "request.subResource == 'status'",
            &format!("request.userInfo.username == 'system:serviceaccount:{namespace}:antrea-agent'"),
            "request.userInfo.extra['authentication.kubernetes.io/node-name'] == [request.name])",
        ] {
            assert!(line.contains(condition), "{condition} in {line}");
        }
        assert!(line.contains(" where !(has("), "{line}");
    }
}

#[test]
fn a_cluster_set_that_is_deleted_goes_without_the_controller() {
    let Some(chart) = Chart::open() else { return };
    for (mode, _) in MODES {
        let listed = list(&chart.mode(mode, ""));
        for line in listed.lines().filter(|line| line.starts_with("vclusterset")) {
            let stays = "request.operation != 'UPDATE' || !has(oldObject.metadata.deletionTimestamp)";
            assert!(line.ends_with(&format!("where {stays}")), "{line}");
            let is_a_leaders = line.starts_with("vclusterset.kb.io ");
            assert_eq!(line.contains("DELETE"), is_a_leaders, "{line}");
            assert!(is_a_leaders || line.contains(" in kube-system "), "{line}");
        }
    }
}

#[test]
fn without_the_controller_nothing_is_written_but_what_users_write() {
    let Some(chart) = Chart::open() else { return };
    for (mode, namespace) in MODES {
        let objects = chart.mode(mode, "");
        for object in objects.iter().filter(|object| !object["webhooks"].is_null()) {
            assert_eq!(object["metadata"]["labels"]["served-by"], "antrea-mc-controller");
            for webhook in object["webhooks"].as_array().unwrap() {
                let of_users = webhook["rules"][0]["apiGroups"][0] == "multicluster.x-k8s.io";
                assert_eq!(webhook["failurePolicy"], if of_users { "Ignore" } else { "Fail" });
                assert_eq!(webhook["clientConfig"]["service"]["namespace"], namespace);
            }
        }
    }
}
