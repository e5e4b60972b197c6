//! Rules of policies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{L7Protocol, NetworkPolicyPeer, Service};
use crate::object::is_default;
use crate::protobuf::message;
use crate::word::closed_word;

/// What a policy says about some traffic. A rule with neither peers nor services nor action isolates: it lets nothing
/// through, others may.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkPolicyRule {
    /// Whether it is about traffic to or from what the policy is applied to.
    pub direction: Direction,
    /// The sources, of a rule about incoming traffic.
    #[serde(default)]
    pub from: NetworkPolicyPeer,
    /// The destinations, of a rule about outgoing traffic.
    #[serde(default)]
    pub to: NetworkPolicyPeer,
    /// Protocols and ports; all where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<Service>,
    /// The place among the rules of its policy: the lower number wins; -1 in policies of Kubernetes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub priority: i32,
    /// What becomes of the traffic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<RuleAction>,
    /// Whether packets are logged.
    #[serde(default)]
    pub enable_logging: bool,
    /// The AppliedToGroups of this rule, where the policy has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applied_to_groups: Vec<String>,
    /// Its name, unique in the policy.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// What the application protocol has to be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub l7_protocols: Vec<L7Protocol>,
    /// What log lines are marked with.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub log_label: String,
}

message!(NetworkPolicyRule {
    1 direction,
    2 from,
    3 to,
    4 services,
    5 priority,
    6 action,
    7 enable_logging,
    8 applied_to_groups,
    9 name,
    10 l7_protocols,
    11 log_label,
});

impl NetworkPolicyRule {
    /// The rule that isolates in one direction.
    pub fn isolation(direction: Direction) -> Self {
        Self {
            direction,
            from: NetworkPolicyPeer::default(),
            to: NetworkPolicyPeer::default(),
            services: Vec::new(),
            priority: 0,
            action: None,
            enable_logging: false,
            applied_to_groups: Vec::new(),
            name: String::new(),
            l7_protocols: Vec::new(),
            log_label: String::new(),
        }
    }

    /// The peers: what is at the other end.
    pub fn peers(&self) -> &NetworkPolicyPeer {
        match self.direction {
            Direction::In => &self.from,
            Direction::Out => &self.to,
        }
    }
}

closed_word!(
    /// Which way traffic goes, seen from what a policy is applied to.
    Direction "direction" {
        /// To it: ingress.
        In = "In",
        /// From it: egress.
        Out = "Out",
    }
);

closed_word!(
    /// What becomes of traffic that a rule is about.
    RuleAction "action" {
        /// It goes through.
        Allow = "Allow",
        /// It is dropped without a word.
        Drop = "Drop",
        /// It is refused: the sender is told.
        Reject = "Reject",
        /// Policies of lower tiers decide.
        Pass = "Pass",
    }
);
