//! `antctl query endpoint`.

use clap::Args;
use serde_json::Value;

use crate::answer::{field, inner, items};
use crate::output::{self, Cells};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The Namespace of the Pod
    #[arg(short, long, default_value = "default")]
    namespace: String,

    /// The name of the Pod
    #[arg(short, long)]
    pod: String,
}

impl Options {
    pub(super) fn parameters(&self) -> [(&str, &str); 2] {
        [("namespace", &self.namespace), ("pod", &self.pod)]
    }
}

/// Three tables for each Pod.
pub(super) fn tables(answer: &Value) -> String {
    items(answer.get("endpoints").unwrap_or(&Value::Null)).into_iter().map(tables_of).collect()
}

fn tables_of(endpoint: &Value) -> String {
    const POLICY: [&str; 3] = ["Name", "Namespace", "UID"];
    const RULE: [&str; 4] = ["Name", "Namespace", "Index", "UID"];
    let rows = |name: &str, row: fn(&Value) -> Cells| -> Vec<Cells> {
        items(endpoint.get(name).unwrap_or(&Value::Null)).into_iter().map(row).collect()
    };
    let (egress, ingress) = (rows("egressdstrules", rule), rows("ingresssrcrules", rule));
    [
        format!("Endpoint {}/{}\n", field(endpoint, "namespace"), field(endpoint, "name")),
        section("Applied Policies on Endpoint:", &POLICY, rows("policies", policy)),
        section("Egress Rules Referencing Endpoint as Destination:", &RULE, egress),
        section("Ingress Rules Referencing Endpoint as Source:", &RULE, ingress),
    ]
    .concat()
}

fn section(title: &str, header: &[&str], rows: Vec<Cells>) -> String {
    if rows.is_empty() {
        return format!("{title} None\n\n");
    }
    format!("{title}\n{}\n", output::table(header, rows))
}

fn policy(policy: &Value) -> Cells {
    ["name", "namespace", "uid"].map(|name| field(policy, name)).to_vec()
}

fn rule(rule: &Value) -> Cells {
    let of_policy = |name| inner(rule, "policyref", name);
    // The first rule has no index in Go's JSON.
    let index = rule.get("ruleindex").and_then(Value::as_i64).unwrap_or(0).to_string();
    vec![of_policy("name"), of_policy("namespace"), index, of_policy("uid")]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn there_is_a_table_for_each_way_in_which_policies_concern_a_pod() {
        let reference =
            |name: &str| json!({"type": "K8sNetworkPolicy", "namespace": "x", "name": name, "uid": "u"});
        let answer = json!({"endpoints": [{
            "namespace": "x", "name": "a",
            "policies": [reference("web"), reference("deny")],
            "ingresssrcrules": [
                {"policyref": reference("web"), "direction": "In", "ruleindex": 2},
                {"policyref": reference("web"), "direction": "In"},
            ],
        }]});
        insta::assert_snapshot!(tables(&answer).replace(' ', "·"), @"
        Endpoint·x/a
        Applied·Policies·on·Endpoint:
        Name·Namespace·UID
        deny·x·········u··
        web··x·········u··

        Egress·Rules·Referencing·Endpoint·as·Destination:·None

        Ingress·Rules·Referencing·Endpoint·as·Source:
        Name·Namespace·Index·UID
        web··x·········0·····u··
        web··x·········2·····u··
        ");
    }
}
