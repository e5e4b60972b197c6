//! `GET /endpoint?namespace=NAMESPACE&pod=POD`, which `antctl query endpoint` asks: the policies that apply to a Pod, and the
//! rules of policies that name it as their other side.

use antrea_index::{Endpoint, Index, RuleRef};
use antrea_kit::query::Query;
use antrea_kit::server::Answer;
use antrea_kit::status::{json_text, status};
use antrea_policy::{ComputedPolicy, Direction, SourceKind, Uid};
use antrea_shared_api::controlplane::v1beta2::{self as api, NetworkPolicyType};
use hyper::StatusCode;
use serde::{Serialize, Serializer};

/// The Namespace of Pods that are asked for without one.
const DEFAULT_NAMESPACE: &str = "default";

/// Answers from what is there as of the last settle.
pub fn answer(index: &Index, query: &Query) -> Answer {
    let Some(pod) = query.get("pod") else {
        return status(StatusCode::BAD_REQUEST, "pod must be provided");
    };
    let namespace = query.get("namespace").unwrap_or(DEFAULT_NAMESPACE);
    let Some(endpoint) = index.endpoint(namespace, pod) else {
        return status(StatusCode::NOT_FOUND, "could not find any endpoints matching your selection");
    };
    // There may be tens of thousands of rules: they are written as they are found, without a copy of each.
    match serde_json::to_vec(&Found { endpoints: [FoundEndpoint::new(namespace, pod, &endpoint)] }) {
        Ok(mut body) => {
            body.push(b'\n');
            json_text(StatusCode::OK, body.into())
        }
        Err(error) => status(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// Upstream's answer.
#[derive(Serialize)]
struct Found<'a> {
    endpoints: [FoundEndpoint<'a>; 1],
}

#[derive(Serialize)]
struct FoundEndpoint<'a> {
    namespace: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    policies: Vec<Reference<'a>>,
    #[serde(rename = "ingresssrcrules", skip_serializing_if = "Vec::is_empty")]
    source_in: Vec<FoundRule<'a>>,
    #[serde(rename = "egressdstrules", skip_serializing_if = "Vec::is_empty")]
    destination_of: Vec<FoundRule<'a>>,
}

#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
struct FoundRule<'a> {
    #[serde(rename = "policyref")]
    policy: Reference<'a>,
    direction: api::Direction,
    /// Its place among the policy's rules of this direction. The first has none in Go's JSON.
    #[serde(rename = "ruleindex", skip_serializing_if = "is_first")]
    index: usize,
}

/// A policy of Kubernetes, which has a Namespace.
#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
struct Reference<'a> {
    #[serde(rename = "type")]
    policy_type: NetworkPolicyType,
    namespace: &'a str,
    name: &'a str,
    #[serde(serialize_with = "as_text")]
    uid: &'a Uid,
}

fn as_text<S: Serializer>(uid: &Uid, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(uid)
}

impl<'a> FoundEndpoint<'a> {
    fn new(namespace: &'a str, name: &'a str, endpoint: &Endpoint<'a>) -> Self {
        Self {
            namespace,
            name,
            policies: sorted(endpoint.applied.iter().map(|policy| reference(policy))),
            source_in: sorted(endpoint.source_in.iter().map(FoundRule::new)),
            destination_of: sorted(endpoint.destination_of.iter().map(FoundRule::new)),
        }
    }
}

impl<'a> FoundRule<'a> {
    fn new(RuleRef { policy, rule }: &RuleRef<'a>) -> Self {
        let (before, from_it) = policy.rules.split_at_checked(*rule).unwrap_or((&policy.rules, &[]));
        let direction = from_it.first().map_or(Direction::In, |rule| rule.direction);
        Self {
            policy: reference(policy),
            direction: match direction {
                Direction::In => api::Direction::In,
                Direction::Out => api::Direction::Out,
            },
            index: before.iter().filter(|rule| rule.direction == direction).count(),
        }
    }
}

/// Each once, however many groups lead to it.
fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.sort_unstable();
    items.dedup();
    items
}

fn reference(policy: &ComputedPolicy) -> Reference<'_> {
    let source = &policy.source;
    Reference {
        policy_type: match source.kind {
            SourceKind::K8sNetworkPolicy => NetworkPolicyType::K8sNetworkPolicy,
        },
        namespace: source.namespace.as_str(),
        name: &source.name,
        uid: &source.uid,
    }
}

const fn is_first(index: &usize) -> bool {
    *index == 0
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use k8s_openapi::api::core::v1::{Namespace, Pod};
    use k8s_openapi::api::networking::v1::NetworkPolicy;
    use serde_json::{Value, from_value, json};

    use super::*;

    fn policy(name: &str, spec: &Value) -> NetworkPolicy {
        let metadata = json!({"namespace": "x", "name": name, "uid": format!("uid-{name}")});
        from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
    }

    fn pod(name: &str) -> Pod {
        let status = json!({"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]});
        let metadata = json!({"namespace": "x", "name": name, "labels": {"app": name}});
        from_value(
            json!({"metadata": metadata, "spec": {"nodeName": "n", "containers": []}, "status": status}),
        )
        .unwrap()
    }

    fn cluster() -> Index {
        let mut index = Index::default();
        let namespace = json!({"metadata": {"name": "x"}});
        index.apply_namespace(&from_value::<Namespace>(namespace).unwrap());
        index.apply_pod(&pod("a"));
        index.apply_pod(&pod("b"));
        let a = json!({"podSelector": {"matchLabels": {"app": "a"}}});
        let all = json!({"podSelector": {}});
        let on_a =
            json!({"podSelector": a["podSelector"], "ingress": [{"from": [{"namespaceSelector": {}}]}]});
        let rules = json!({
            "podSelector": {}, "policyTypes": ["Ingress", "Egress"],
            "ingress": [{}, {"from": [a, all]}],
            "egress": [{"to": [a]}, {"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}, {"to": [a]}],
        });
        let _ = index.apply_network_policy(&policy("on-all", &rules));
        let _ = index.apply_network_policy(&policy("on-a", &on_a));
        index.settle(|_| ());
        index
    }

    #[track_caller]
    fn check(query: &str, code: u16, expected: &str) {
        let answer = answer(&cluster(), &Query::parse(query));
        assert_eq!(answer.status().as_u16(), code);
        let body = futures::executor::block_on(answer.into_body().collect()).unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap();
        let text = match &body["endpoints"][0] {
            Value::Null => body["message"].as_str().unwrap().to_owned(),
            endpoint => ["policies", "ingresssrcrules", "egressdstrules"]
                .map(|part| endpoint.get(part).map(Value::to_string).unwrap_or_default())
                .join("\n"),
        };
        let text = text.replace(r#""type":"K8sNetworkPolicy","namespace":"x","name":"#, "");
        assert_eq!(text, expected);
    }

    #[test]
    fn a_pod_is_told_with_the_policies_on_it_and_the_rules_that_name_it() {
        check(
            "namespace=x&pod=a",
            200,
            r#"[{"on-a","uid":"uid-on-a"},{"on-all","uid":"uid-on-all"}]
[{"policyref":{"on-a","uid":"uid-on-a"},"direction":"In"},{"policyref":{"on-all","uid":"uid-on-all"},"direction":"In","ruleindex":1}]
[{"policyref":{"on-all","uid":"uid-on-all"},"direction":"Out"},{"policyref":{"on-all","uid":"uid-on-all"},"direction":"Out","ruleindex":2}]"#,
        );
        check(
            "namespace=x&pod=b",
            200,
            r#"[{"on-all","uid":"uid-on-all"}]
[{"policyref":{"on-a","uid":"uid-on-a"},"direction":"In"},{"policyref":{"on-all","uid":"uid-on-all"},"direction":"In","ruleindex":1}]
"#,
        );
    }

    #[test]
    fn a_pod_that_nobody_knows_is_not_found() {
        let none = "could not find any endpoints matching your selection";
        check("namespace=x&pod=c", 404, none);
        check("namespace=y&pod=a", 404, none);
        check("pod=a", 404, none);
        check("namespace=x", 400, "pod must be provided");
    }
}
