//! Faults of policies that an API server refuses, and that may come by nevertheless.

use k8s_openapi::api::networking::v1::{
    IPBlock, NetworkPolicy, NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicyPeer,
    NetworkPolicyPort, NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::Random;

/// Peers that are nobody.
const PEERS: [(usize, fn() -> NetworkPolicyPeer); 8] = [
    (60, NetworkPolicyPeer::default),
    (8, || block("10.10.1.0/33", &[])),
    (4, || block("0.0.0.0/0", &["10.10.1.0/24", "10.10.2.x/32"])),
    (4, || block("10.10.0.0/16", &["203.0.113.64/26"])),
    (8, || NetworkPolicyPeer { pod_selector: Some(LabelSelector::default()), ..block("0.0.0.0/0", &[]) }),
    (8, || NetworkPolicyPeer { pod_selector: Some(requires("app", "Matches", &["web"])), ..<_>::default() }),
    (4, || NetworkPolicyPeer { namespace_selector: Some(requires("team", "In", &[])), ..<_>::default() }),
    (4, || NetworkPolicyPeer {
        namespace_selector: Some(requires("", "DoesNotExist", &[])),
        ..<_>::default()
    }),
];

/// Entries that are no port.
const PORTS: [(usize, fn() -> NetworkPolicyPort); 6] = [
    (1, || port(None, None, Some(90))),
    (1, || port(None, Some(IntOrString::Int(81)), Some(80))),
    (1, || port(None, Some(IntOrString::String("http".to_owned())), Some(8080))),
    (1, || port(Some("ICMP"), Some(IntOrString::Int(80)), None)),
    (1, || port(Some("tcp"), None, None)),
    (1, || port(None, Some(IntOrString::Int(65_536 + 80)), None)),
];

/// Gives the policy one fault.
pub(super) fn spoil(random: &mut Random, policy: &mut NetworkPolicy) {
    let Some(spec) = &mut policy.spec else { return };
    match random.weighted(&[(60, 0), (25, 1), (8, 2), (7, 3)]) {
        0 => {
            let peer = random.weighted(&PEERS)();
            lists(random, spec).0.push(peer);
        }
        1 => {
            let port = random.weighted(&PORTS)();
            lists(random, spec).1.push(port);
        }
        2 => spec.pod_selector = Some(requires("app", "Exists", &["web"])),
        _ => spec.policy_types = Some(vec!["Ingress".to_owned(), "Both".to_owned()]),
    }
}

/// Peers and ports of a rule of the policy; of a new one when it has none.
fn lists<'a>(
    random: &mut Random,
    spec: &'a mut NetworkPolicySpec,
) -> (&'a mut Vec<NetworkPolicyPeer>, &'a mut Vec<NetworkPolicyPort>) {
    if let Some(rules) = spec.egress.as_mut().filter(|rules| !rules.is_empty() && random.chance(50)) {
        let index = random.below(rules.len());
        let NetworkPolicyEgressRule { to, ports } = &mut rules[index];
        return (to.get_or_insert_default(), ports.get_or_insert_default());
    }
    let rules = spec.ingress.get_or_insert_default();
    if rules.is_empty() {
        rules.push(NetworkPolicyIngressRule::default());
    }
    let index = random.below(rules.len());
    let NetworkPolicyIngressRule { from, ports } = &mut rules[index];
    (from.get_or_insert_default(), ports.get_or_insert_default())
}

fn block(cidr: &str, except: &[&str]) -> NetworkPolicyPeer {
    let except = Some(except.iter().map(|one| (*one).to_owned()).collect());
    let block = IPBlock { cidr: cidr.to_owned(), except };
    NetworkPolicyPeer { ip_block: Some(block), ..NetworkPolicyPeer::default() }
}

fn requires(key: &str, operator: &str, values: &[&str]) -> LabelSelector {
    let requirement = LabelSelectorRequirement {
        key: key.to_owned(),
        operator: operator.to_owned(),
        values: Some(values.iter().map(|value| (*value).to_owned()).collect()),
    };
    LabelSelector { match_expressions: Some(vec![requirement]), match_labels: None }
}

fn port(protocol: Option<&str>, port: Option<IntOrString>, end_port: Option<i32>) -> NetworkPolicyPort {
    NetworkPolicyPort { protocol: protocol.map(str::to_owned), port, end_port }
}
