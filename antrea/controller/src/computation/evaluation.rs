//! Which rule decides about traffic between two Pods: what the source's policies say of it, then the destination's.

use std::net::IpAddr;
use std::sync::Arc;

use antrea_apiserver::CannotEvaluate;
use antrea_index::{Endpoint, Index, RuleRef};
use antrea_policy::{ComputedPolicy, Direction, IpBlock, Pod, SourceKind};
use antrea_shared_api::controlplane::v1beta2::{
    Direction as WireDirection, Entity, NetworkPolicyEvaluationRequest, NetworkPolicyEvaluationResponse,
    NetworkPolicyReference, NetworkPolicyType, RuleAction, RuleRef as WireRule,
};

/// The place of a rule that is none: the isolation that policies bring to the Pods that they apply to.
const ISOLATION: i32 = i32::MAX;

/// What policies of one side say.
enum Verdict<'a> {
    /// None of them is about this direction.
    Open,
    /// A rule admits it.
    Admitted(RuleRef<'a>),
    /// Some are, and none admits it; this is the first.
    Denied(&'a ComputedPolicy),
}

/// Nothing where no policy decides. Ports are not considered, as upstream does not.
pub(super) fn evaluate(
    index: &Index,
    request: &NetworkPolicyEvaluationRequest,
) -> Result<Option<NetworkPolicyEvaluationResponse>, CannotEvaluate> {
    let (source, source_policies) = find(index, "source", &request.source)?;
    let (destination, destination_policies) = find(index, "destination", &request.destination)?;
    if Arc::ptr_eq(source, destination) {
        return Ok(None);
    }
    let out =
        decide(Direction::Out, &source_policies.applied, &destination_policies.destination_of, destination);
    let into = decide(Direction::In, &destination_policies.applied, &source_policies.source_in, source);
    Ok(match (out, into) {
        (Verdict::Denied(policy), _) => Some(response(policy, ISOLATION, Direction::Out)),
        (_, Verdict::Denied(policy)) => Some(response(policy, ISOLATION, Direction::In)),
        (_, Verdict::Admitted(rule)) => Some(admitted(rule, Direction::In)),
        (Verdict::Admitted(rule), Verdict::Open) => Some(admitted(rule, Direction::Out)),
        (Verdict::Open, Verdict::Open) => None,
    })
}

fn find<'a>(
    index: &'a Index,
    end: &str,
    entity: &Entity,
) -> Result<(&'a Arc<Pod>, Endpoint<'a>), CannotEvaluate> {
    let pod = entity.pod.as_ref();
    let pod = pod.ok_or_else(|| CannotEvaluate(format!("the request does not name a Pod as {end}")))?;
    let (namespace, name) = (pod.namespace.as_str(), pod.name.as_str());
    let found = index.pod(namespace, name).zip(index.endpoint(namespace, name));
    found.ok_or_else(|| {
        CannotEvaluate(format!(
            "{end}: Pod {namespace}/{name} is not there, has ended, or is in its Node's own network"
        ))
    })
}

/// `peer` is the other side, and matches `rules` by their groups.
fn decide<'a>(
    direction: Direction,
    applied: &[&'a Arc<ComputedPolicy>],
    rules: &[RuleRef<'a>],
    peer: &Pod,
) -> Verdict<'a> {
    let mut applied: Vec<&'a Arc<ComputedPolicy>> = applied.to_vec();
    applied.retain(|policy| policy.rules.iter().any(|rule| rule.direction == direction));
    applied.sort_unstable_by_key(|policy| (policy.source.namespace.as_str(), &*policy.source.name));
    for policy in &applied {
        for (place, rule) in policy.rules.iter().enumerate() {
            let is_this = |other: &RuleRef<'_>| other.rule == place && Arc::ptr_eq(other.policy, policy);
            let by_address =
                || rule.peer.ip_blocks.iter().any(|block| peer.ips.iter().any(|ip| has(block, ip)));
            let admits = rule.direction == direction && rule.action.is_some();
            if admits && (rules.iter().any(is_this) || by_address()) {
                return Verdict::Admitted(RuleRef { policy, rule: place });
            }
        }
    }
    applied.first().map_or(Verdict::Open, |policy| Verdict::Denied(policy))
}

fn has(block: &IpBlock, ip: IpAddr) -> bool {
    block.cidr.contains(&ip) && !block.except.iter().any(|except| except.contains(&ip))
}

fn admitted(rule: RuleRef<'_>, direction: Direction) -> NetworkPolicyEvaluationResponse {
    // A policy has no more rules than fit into an object.
    let place = i32::try_from(rule.rule).unwrap_or(ISOLATION - 1);
    response(rule.policy, place, direction)
}

fn response(policy: &ComputedPolicy, place: i32, direction: Direction) -> NetworkPolicyEvaluationResponse {
    let source = &policy.source;
    let policy_type = match source.kind {
        SourceKind::K8sNetworkPolicy => NetworkPolicyType::K8sNetworkPolicy,
    };
    let direction = match direction {
        Direction::In => WireDirection::In,
        Direction::Out => WireDirection::Out,
    };
    let action = (place != ISOLATION).then_some(RuleAction::Allow);
    NetworkPolicyEvaluationResponse {
        network_policy: NetworkPolicyReference {
            policy_type,
            namespace: source.namespace.to_string(),
            name: source.name.to_string(),
            uid: source.uid.to_string(),
        },
        rule_index: place,
        rule: WireRule { direction, name: String::new(), action },
    }
}

#[cfg(test)]
mod tests {
    use antrea_shared_api::controlplane::v1beta2::PodReference;
    use k8s_openapi::api::core::v1::Namespace;
    use k8s_openapi::api::networking::v1::NetworkPolicy;
    use serde_json::json;

    use super::*;

    /// The Pods x/a (10.0.0.1) and x/b (10.0.0.2), with labels `pod=NAME`.
    fn index(policies: &[(&str, serde_json::Value)]) -> Index {
        let mut index = Index::default();
        let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": "x"}})).unwrap();
        index.apply_namespace(&namespace);
        for (name, ip) in [("a", "10.0.0.1"), ("b", "10.0.0.2")] {
            let pod = json!({"metadata": {"namespace": "x", "name": name, "labels": {"pod": name}},
                "spec": {"nodeName": "n1", "containers": []}, "status": {"podIPs": [{"ip": ip}]}});
            index.apply_pod(&serde_json::from_value(pod).unwrap());
        }
        for (name, spec) in policies {
            let policy = json!({"metadata": {"namespace": "x", "name": name, "uid": name}, "spec": spec});
            let policy: NetworkPolicy = serde_json::from_value(policy).unwrap();
            assert_eq!(index.apply_network_policy(&policy), []);
        }
        index.settle(drop);
        index
    }

    /// Who decides about traffic from x/a to a Pod of x.
    fn check(policies: &[(&str, serde_json::Value)], to: &str) -> String {
        let pod = |name: &str| Entity { pod: Some(PodReference::new("x".to_owned(), name.to_owned())) };
        let request = NetworkPolicyEvaluationRequest { source: pod("a"), destination: pod(to) };
        match evaluate(&index(policies), &request) {
            Ok(None) => "nobody".to_owned(),
            Ok(Some(NetworkPolicyEvaluationResponse { network_policy, rule_index, rule })) => {
                let place = if rule_index == ISOLATION { "isolation".into() } else { rule_index.to_string() };
                format!("{} {:?} {place} {:?}", network_policy.name, rule.direction, rule.action)
            }
            Err(CannotEvaluate(why)) => why,
        }
    }

    #[test]
    fn traffic_that_no_policy_is_about_is_decided_by_none() {
        assert_eq!(check(&[], "b"), "nobody");
        let other = json!({"podSelector": {"matchLabels": {"pod": "a"}}, "policyTypes": ["Ingress"]});
        assert_eq!(check(&[("p", other.clone())], "b"), "nobody");
        assert_eq!(check(&[("p", other)], "a"), "nobody", "a Pod reaches itself");
    }

    #[test]
    fn isolation_denies_what_no_rule_admits_of_either_side() {
        let ingress = json!({"podSelector": {"matchLabels": {"pod": "b"}}, "policyTypes": ["Ingress"]});
        assert_eq!(check(&[("p", ingress.clone())], "b"), "p In isolation None");
        let egress = json!({"podSelector": {"matchLabels": {"pod": "a"}}, "policyTypes": ["Egress"]});
        assert_eq!(check(&[("p", ingress), ("q", egress)], "b"), "q Out isolation None");
    }

    #[test]
    fn a_rule_admits_by_labels_or_by_addresses() {
        let by_labels = json!({"podSelector": {}, "policyTypes": ["Ingress"],
            "ingress": [{"from": [{"ipBlock": {"cidr": "192.0.2.0/24"}}]},
                {"from": [{"podSelector": {"matchLabels": {"pod": "a"}}}]}]});
        assert_eq!(check(&[("p", by_labels)], "b"), "p In 1 Some(Allow)");
        let block = |except: &str| {
            json!({"podSelector": {}, "policyTypes": ["Egress"],
                "egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/24", "except": [except]}}]}]})
        };
        assert_eq!(check(&[("p", block("10.0.0.128/25"))], "b"), "p Out 0 Some(Allow)");
        assert_eq!(check(&[("p", block("10.0.0.2/32"))], "b"), "p Out isolation None");
    }

    #[test]
    fn a_pod_that_is_not_there_is_named() {
        assert_eq!(
            check(&[], "z"),
            "destination: Pod x/z is not there, has ended, or is in its Node's own network"
        );
    }
}
