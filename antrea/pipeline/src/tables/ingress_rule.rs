//! IngressRule: lets packets to isolated Pods pass that a rule admits, and all packets of known connections.
//!
//! Stage IngressSecurity. Matches the clauses of rules ([`crate::policy`]): nw_src or in_port of a peer (1), TargetOFPort of
//! a Pod (2), the service (3); a packet that matches all of a rule's gets its conj_id. Commits with the rule's number in the
//! label; next table IngressMetric, for packets that no rule admits IngressDefaultRule. Filled by NetworkPolicy with
//! [`super::policy_rules`].

use crate::order::Table;

/// The table.
pub const TABLE: Table = Table::pass("IngressRule");
