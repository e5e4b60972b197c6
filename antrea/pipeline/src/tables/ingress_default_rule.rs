//! IngressDefaultRule: drops what is sent to isolated Pods and no rule has admitted.
//!
//! Stage IngressSecurity. Matches TargetOFPort of the Pod; next table IngressMetric. Filled by NetworkPolicy with
//! [`super::policy_rules`].

use crate::order::Table;

/// The table.
pub const TABLE: Table = Table::pass("IngressDefaultRule");
