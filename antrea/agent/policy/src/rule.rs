//! Rules: what a policy says, rule by rule.

use std::fmt;

use antrea_shared_api::controlplane::v1beta2::{NetworkPolicy, NetworkPolicyReference, NetworkPolicyRule};
use serde::Serialize;
use sha1::{Digest, Sha1};

/// A rule with what it has of its policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// The name of its policy, which is the UID of the policy's source.
    pub policy: String,
    /// What the policy was computed from.
    pub source_ref: Option<NetworkPolicyReference>,
    /// The priority of the policy in its tier; none in policies of Kubernetes.
    pub policy_priority: Option<f64>,
    /// The priority of the tier; none in policies of Kubernetes.
    pub tier_priority: Option<i32>,
    /// What the rule says. Its AppliedToGroups are those of the policy, where it has none of its own.
    #[serde(flatten)]
    pub content: NetworkPolicyRule,
}

impl Rule {
    /// The rules of a policy, in its order.
    pub(crate) fn of(policy: &NetworkPolicy) -> impl Iterator<Item = Self> {
        policy.rules.iter().map(|rule| Self {
            policy: policy.metadata.name.clone(),
            source_ref: policy.source_ref.clone(),
            policy_priority: policy.priority,
            tier_priority: policy.tier_priority,
            content: with_applied_to(rule, &policy.applied_to_groups),
        })
    }

    /// Its AddressGroups.
    pub(crate) fn address_groups(&self) -> &[String] {
        &self.content.peers().address_groups
    }

    /// Its AppliedToGroups.
    pub(crate) fn applied_to_groups(&self) -> &[String] {
        &self.content.applied_to_groups
    }
}

fn with_applied_to(rule: &NetworkPolicyRule, of_policy: &[String]) -> NetworkPolicyRule {
    let mut rule = rule.clone();
    if rule.applied_to_groups.is_empty() {
        rule.applied_to_groups = of_policy.to_vec();
    }
    rule
}

/// What a rule is known by: the first 16 hexadecimal digits of the SHA-1 of its JSON. A rule that changes is another one;
/// members of its groups are no part of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(String);

/// How many bytes of the digest count.
const BYTES: usize = 8;

impl RuleId {
    pub(crate) fn of(rule: &Rule) -> Self {
        Self(Sha1::digest(json(rule)).iter().take(BYTES).map(|byte| format!("{byte:02x}")).collect())
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Rules have no values that JSON lacks; if one had, it would be different from others all the same.
pub(crate) fn json<T: Serialize + fmt::Debug>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_else(|_| format!("{value:?}").into_bytes())
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
