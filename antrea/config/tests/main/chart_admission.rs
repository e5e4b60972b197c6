//! Admission policies of the chart: what RBAC cannot say of agents.

use serde_json::{Value, json};

use crate::helm::Chart;

const TEMPLATE: &str = "templates/agent/admission-policies.yaml";
const KIND: &str = "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy";

/// The objects of a rendered template.
fn objects(rendered: &str) -> Vec<Value> {
    let documents = rendered.split("---\n").map(serde_saphyr::from_str::<Value>);
    documents.filter_map(Result::ok).filter(Value::is_object).collect()
}

/// Of which Node the token is that a request came with; empty where the API server names none.
const NODE: &str = "request.userInfo.?extra[?'authentication.kubernetes.io/node-name'][?0].orValue('')";
const OF_OWN_NODE: &str = "variables.node != '' && variables.node == object.metadata.name";

const ANNOTATIONS: &str = "object.metadata.?annotations.orValue({})";
const OLD_ANNOTATIONS: &str = "oldObject.metadata.?annotations.orValue({})";

/// Annotations of others are as they were: none is new, changed or gone.
const OWN_ANNOTATIONS: &str = "variables.annotations.all(key, key.startsWith('node.antrea.io/') || \
    (key in variables.oldAnnotations && variables.oldAnnotations[key] == variables.annotations[key])) && \
    variables.oldAnnotations.all(key, key.startsWith('node.antrea.io/') || key in variables.annotations)";

/// So is everything else that a write of the status can change.
const NOTHING_ELSE: &str = "object.metadata.?labels.orValue({}) == oldObject.metadata.?labels.orValue({}) && \
    object.metadata.?finalizers.orValue([]) == oldObject.metadata.?finalizers.orValue([]) && \
    object.metadata.?ownerReferences.orValue([]) == oldObject.metadata.?ownerReferences.orValue([]) && \
    object.?status.orValue({}) == oldObject.?status.orValue({})";

const OWN_NODE_REF: &str = "object.?nodeRef.?name.orValue(variables.node) == variables.node";
const OWN_POD_REF: &str = "object.?podRef.?namespace.orValue('kube-system') == 'kube-system'";

/// What both policies decide by: writes of what, and what has to be true of them. The second has no annotations to judge.
fn expected() -> [Value; 2] {
    let agent = "request.userInfo.username == 'system:serviceaccount:kube-system:antrea-agent'";
    let conditions = json!([{"name": "is-agent", "expression": agent}]);
    let node = json!({"name": "node", "expression": NODE});
    let nodes = json!({
        "apiGroups": [""], "apiVersions": ["v1"], "resources": ["nodes/status"], "operations": ["UPDATE"],
    });
    let infos = json!({
        "apiGroups": ["crd.antrea.io"], "apiVersions": ["*"], "resources": ["antreaagentinfos"],
        "operations": ["CREATE", "UPDATE"],
    });
    let annotations = json!([
        node,
        {"name": "annotations", "expression": ANNOTATIONS},
        {"name": "oldAnnotations", "expression": OLD_ANNOTATIONS},
    ]);
    let policy = |rule: Value, variables: Value, validations: [&str; 3]| {
        json!({
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [rule]},
            "matchConditions": conditions,
            "variables": variables,
            "validations": validations,
        })
    };
    [
        policy(nodes, annotations, [OF_OWN_NODE, OWN_ANNOTATIONS, NOTHING_ELSE]),
        policy(infos, json!([node]), [OF_OWN_NODE, OWN_NODE_REF, OWN_POD_REF]),
    ]
}

/// The same of a policy that is rendered: without what users are told.
fn decisions(policy: &Value) -> Value {
    let mut spec = policy["spec"].clone();
    for validation in spec["validations"].as_array_mut().unwrap() {
        *validation = validation["expression"].take();
    }
    spec
}

#[test]
fn agents_write_about_their_own_nodes_alone() {
    let Some(chart) = Chart::open() else { return };
    let objects = objects(&chart.template_on(&[KIND], TEMPLATE, "").unwrap());
    let of_kind = |kind: &str| objects.iter().filter(|object| object["kind"] == kind).collect::<Vec<_>>();
    let (policies, bindings) =
        (of_kind("ValidatingAdmissionPolicy"), of_kind("ValidatingAdmissionPolicyBinding"));
    assert_eq!(policies.len() + bindings.len(), objects.len(), "an object of another kind");
    let names = |all: &[&Value]| json!(all.iter().map(|one| &one["metadata"]["name"]).collect::<Vec<_>>());
    assert_eq!(names(&policies), json!(["antrea-agent-node", "antrea-agent-info"]));
    assert_eq!(names(&bindings), names(&policies));
    for (policy, expected) in policies.iter().zip(expected()) {
        assert_eq!(decisions(policy), expected, "{}", policy["metadata"]["name"]);
    }
    // It holds for all objects: a binding with a selector would leave some out.
    for binding in &bindings {
        let name = &binding["metadata"]["name"];
        assert_eq!(binding["spec"], json!({"policyName": name, "validationActions": ["Deny"]}));
    }
}

#[test]
fn an_api_server_without_admission_policies_is_not_asked_for_any() {
    let Some(chart) = Chart::open() else { return };
    let error = chart.template_on(&[], TEMPLATE, "").unwrap_err();
    assert!(error.contains("could not find template"), "{error}");
}
