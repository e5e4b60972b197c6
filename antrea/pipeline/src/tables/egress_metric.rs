//! EgressMetric: counts connections, packets and bytes of each egress rule.
//!
//! Stage EgressSecurity. Matches the rule in the connection's label, first packets apart from later ones; next table: that of
//! stage Routing. Filled by NetworkPolicy with [`super::policy_rules`].

use crate::order::Table;

/// The table.
pub const TABLE: Table = Table::pass("EgressMetric");
