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

#[test]
fn agents_write_about_their_own_nodes_alone() {
    let Some(chart) = Chart::open() else { return };
    let objects = objects(&chart.template_on(&[KIND], TEMPLATE, "").unwrap());
    let of_kind = |kind: &str| objects.iter().filter(|object| object["kind"] == kind).collect::<Vec<_>>();
    let (policies, bindings) =
        (of_kind("ValidatingAdmissionPolicy"), of_kind("ValidatingAdmissionPolicyBinding"));
    let written = policies.iter().map(|policy| {
        let constraints = &policy["spec"]["matchConstraints"]["resourceRules"][0];
        json!([constraints["resources"], constraints["operations"], policy["spec"]["failurePolicy"]])
    });
    assert_eq!(
        json!(written.collect::<Vec<_>>()),
        json!(
            [[["nodes/status"], ["UPDATE"], "Fail"], [["antreaagentinfos"], ["CREATE", "UPDATE"], "Fail"],]
        )
    );
    let agent = "request.userInfo.username == 'system:serviceaccount:kube-system:antrea-agent'";
    let names = |all: &[&Value]| json!(all.iter().map(|one| &one["metadata"]["name"]).collect::<Vec<_>>());
    for policy in &policies {
        assert_eq!(policy["spec"]["matchConditions"], json!([{"name": "is-agent", "expression": agent}]));
        let first = &policy["spec"]["validations"][0]["expression"];
        assert_eq!(*first, json!("variables.node != '' && variables.node == object.metadata.name"));
    }
    for binding in &bindings {
        assert_eq!(binding["spec"]["validationActions"], json!(["Deny"]));
        assert_eq!(binding["spec"]["policyName"], binding["metadata"]["name"]);
    }
    assert_eq!(names(&policies), names(&bindings));
}

#[test]
fn an_api_server_without_admission_policies_is_not_asked_for_any() {
    let Some(chart) = Chart::open() else { return };
    let error = chart.template_on(&[], TEMPLATE, "").unwrap_err();
    assert!(error.contains("could not find template"), "{error}");
}
