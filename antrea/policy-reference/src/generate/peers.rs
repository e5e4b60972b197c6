//! Peers, selectors and blocks of random policies.

use std::collections::BTreeMap;

use k8s_openapi::api::networking::v1::{IPBlock, NetworkPolicyPeer};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use super::places::{NAMESPACE_LABELS, POD_LABELS};
use super::{Families, Random};
use crate::question::Family;

/// Labels and their values.
type Alphabet = [(&'static str, &'static [&'static str])];

/// Selects Namespaces of random clusters by name.
const NAMES: (&str, &[&str]) = ("kubernetes.io/metadata.name", &["a", "b", "c"]);

/// A block, and what may be excepted from it.
type Block = (&'static str, &'static [&'static str]);

const BLOCKS_V4: [Block; 6] = [
    ("0.0.0.0/0", &["10.10.1.0/24", "10.10.2.4/30", "203.0.113.64/26"]),
    ("10.10.0.0/16", &["10.10.1.0/24", "10.10.2.4/30"]),
    ("10.10.1.0/24", &["10.10.1.4/30", "10.10.1.2/32"]),
    ("192.168.0.0/24", &["192.168.0.12/32"]),
    ("203.0.113.0/24", &["203.0.113.64/26"]),
    ("10.10.2.3/32", &[]),
];

const BLOCKS_V6: [Block; 6] = [
    ("::/0", &["fd00:10:10:1::/64", "fd00:10:10:2::4/126", "2001:db8:0:1::/64"]),
    ("fd00:10:10::/48", &["fd00:10:10:1::/64", "fd00:10:10:2::4/126"]),
    ("fd00:10:10:1::/64", &["fd00:10:10:1::4/126", "fd00:10:10:1::2/128"]),
    ("fd00:192::/64", &["fd00:192::12/128"]),
    ("2001:db8::/32", &["2001:db8:0:1::/64"]),
    ("fd00:10:10:2::3/128", &[]),
];

#[derive(Clone, Copy)]
enum Kind {
    Pods,
    Namespaces,
    PodsInNamespaces,
    Block,
}

/// One peer, or a block of each family.
pub(super) fn peers(random: &mut Random, families: Families) -> Vec<NetworkPolicyPeer> {
    let kinds = [(25, Kind::Pods), (20, Kind::Namespaces), (25, Kind::PodsInNamespaces), (30, Kind::Block)];
    let none = NetworkPolicyPeer::default();
    match random.weighted(&kinds) {
        Kind::Pods => vec![NetworkPolicyPeer { pod_selector: Some(pod_selector(random)), ..none }],
        Kind::Namespaces => {
            vec![NetworkPolicyPeer { namespace_selector: Some(namespace_selector(random)), ..none }]
        }
        Kind::PodsInNamespaces => vec![NetworkPolicyPeer {
            namespace_selector: Some(namespace_selector(random)),
            pod_selector: Some(pod_selector(random)),
            ..none
        }],
        Kind::Block => blocks(random, families),
    }
}

fn blocks(random: &mut Random, families: Families) -> Vec<NetworkPolicyPeer> {
    let all = families.each();
    let count = if random.chance(60) { all.len() } else { 1 };
    let some = random.some(&all, count);
    some.into_iter()
        .map(|family| NetworkPolicyPeer {
            ip_block: Some(block(random, family)),
            ..NetworkPolicyPeer::default()
        })
        .collect()
}

fn block(random: &mut Random, family: Family) -> IPBlock {
    let blocks = match family {
        Family::V4 => &BLOCKS_V4,
        Family::V6 => &BLOCKS_V6,
    };
    let (cidr, excepts) = random.pick(blocks);
    let count = random.weighted(&[(40, 0), (40, 1), (20, 2)]);
    let except: Vec<String> = random.some(excepts, count).into_iter().map(str::to_owned).collect();
    IPBlock { cidr: cidr.to_owned(), except: Some(except).filter(|except| !except.is_empty()) }
}

pub(super) fn pod_selector(random: &mut Random) -> LabelSelector {
    selector(random, &POD_LABELS)
}

fn namespace_selector(random: &mut Random) -> LabelSelector {
    let [team, env] = NAMESPACE_LABELS;
    selector(random, &[team, env, NAMES])
}

fn selector(random: &mut Random, alphabet: &Alphabet) -> LabelSelector {
    let (pairs, requirements) =
        random.weighted(&[(22, (0, 0)), (38, (1, 0)), (30, (0, 1)), (5, (0, 2)), (5, (1, 1))]);
    let mut match_labels = BTreeMap::new();
    for (key, values) in random.some(alphabet, pairs) {
        match_labels.insert(key.to_owned(), random.pick(values).to_owned());
    }
    let requirements = random.some(alphabet, requirements);
    let requirements: Vec<_> = requirements.into_iter().map(|label| requirement(random, label)).collect();
    LabelSelector {
        match_labels: Some(match_labels).filter(|pairs| !pairs.is_empty()),
        match_expressions: Some(requirements).filter(|requirements| !requirements.is_empty()),
    }
}

fn requirement(random: &mut Random, (key, values): (&str, &[&str])) -> LabelSelectorRequirement {
    let operator = random.weighted(&[(30, "In"), (30, "NotIn"), (20, "Exists"), (20, "DoesNotExist")]);
    let values = match operator {
        "In" | "NotIn" => {
            let count = 1 + random.below(2);
            Some(random.some(values, count).into_iter().map(str::to_owned).collect())
        }
        _ => None,
    };
    LabelSelectorRequirement { key: key.to_owned(), operator: operator.to_owned(), values }
}
