//! `externalNode`: an agent on a machine outside the cluster.

use serde::{Deserialize, Serialize};

use crate::section::section;

/// Traffic that no policy applies to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PolicyBypassRule {
    direction: String,
    protocol: String,
    cidr: String,
    #[serde(default)]
    port: i64,
}

section! {
    /// As it stands in the file.
    ExternalNode {
        external_node_namespace: String = "externalNodeNamespace", "default";
        policy_bypass_rules: Vec<PolicyBypassRule> = "policyBypassRules", [];
    }
}
