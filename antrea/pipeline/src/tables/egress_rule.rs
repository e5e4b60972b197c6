//! EgressRule: lets packets of isolated Pods pass that a rule admits, and all packets of known connections.
//!
//! Stage EgressSecurity. Matches the clauses of rules ([`crate::policy`]): nw_src of a Pod (1), nw_dst of a peer (2), the
//! service (3); a packet that matches all of a rule's gets its conj_id. Commits with the rule's number in the label; next
//! table EgressMetric, for packets that no rule admits EgressDefaultRule. Filled by NetworkPolicy, and what it has in common
//! with IngressRule is in [`super::policy_rules`].

use std::net::IpAddr;

use antrea_openflow::{Flow, Match};

use crate::cookie::Category;
use crate::flow::HIGH;
use crate::layout::Layout;
use crate::order::Table;
use crate::tables::egress_metric;

/// The table.
pub const TABLE: Table = Table::pass("EgressRule");

/// From a Pod to itself, through a Service: no policy is about that.
pub fn to_oneself(layout: &Layout, pod: IpAddr) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let matching = Match::new().ip_src(pod).ip_dst(pod);
    let flow = table.flow(HIGH, Category::NetworkPolicy).matching(matching);
    Some(flow.goto(layout.id(&egress_metric::TABLE)))
}
