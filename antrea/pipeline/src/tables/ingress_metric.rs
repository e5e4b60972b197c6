//! IngressMetric: counts connections, packets and bytes of each ingress rule.
//!
//! Stage IngressSecurity. Matches the rule in the connection's label, first packets apart from later ones; next table: that
//! of stage Conntrack. Filled by NetworkPolicy with [`super::policy_rules`].

use crate::order::Table;

/// The table.
pub const TABLE: Table = Table::pass("IngressMetric");
