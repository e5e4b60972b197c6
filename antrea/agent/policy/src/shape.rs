//! What rules say, whatever they are called. Rules of one shape have the same members, are planned once and have the same
//! numbers: a flow of the switch has room for some 4,000 rules only, and there may be more policies that say the same.

use std::sync::Arc;

use antrea_shared_api::controlplane::v1beta2::NetworkPolicyRule;

use crate::Rule;
use crate::rule::json;

/// What a rule says, as JSON without what makes no difference to the switch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shape(Arc<[u8]>);

impl Shape {
    pub(crate) fn of(rule: &Rule) -> Self {
        let content = NetworkPolicyRule {
            name: String::new(),
            priority: 0,
            enable_logging: false,
            log_label: String::new(),
            ..rule.content.clone()
        };
        Self(json(&(rule.tier_priority.is_some(), content)).into())
    }
}
