//! EgressDefaultRule: drops what isolated Pods send and no rule has admitted.
//!
//! Stage EgressSecurity. Matches nw_src of the Pod, and link-local sources from its port; next table EgressMetric. Filled by
//! NetworkPolicy with [`super::policy_rules`].

use crate::order::Table;

/// The table.
pub const TABLE: Table = Table::pass("EgressDefaultRule");
