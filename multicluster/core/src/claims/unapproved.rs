//! Networks that a member claims and that no admin has bound to it, where it needs that.

use ipnet::IpNet;

use super::Said;
use crate::addresses::{Claim, ClaimedNetwork};

/// Networks of a member that an admin may bind to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unapproved {
    /// The member does not have these.
    pub left_out: Vec<ClaimedNetwork>,
    /// It has these because it had them before networks needed approval.
    pub held: Vec<ClaimedNetwork>,
    /// What is bound to it and is no network.
    pub unreadable: Vec<String>,
    /// The networks that would have to be bound, for the member to have all that it claims.
    pub wanted: Vec<IpNet>,
    /// The ServiceAccount that they would be bound to, where the member has one.
    pub account: Option<String>,
}

impl Unapproved {
    /// Nothing where a member may have all that it claims.
    pub(super) fn of(said: &Said) -> Option<Self> {
        let claim = said.networks.as_ref().map(|claim| &claim.payload);
        let left_out = claim.map(Claim::unapproved).unwrap_or_default().to_vec();
        let held = claim.map(Claim::held).unwrap_or_default().to_vec();
        let binding = &said.approval.binding;
        if left_out.is_empty() && held.is_empty() && binding.unreadable.is_empty() {
            return None;
        }
        let claimed = claim.into_iter().flat_map(Claim::all).map(|network| network.cidr);
        let mut wanted: Vec<IpNet> = claimed.filter(|network| !binding.has(network)).collect();
        wanted.extend(&binding.networks);
        wanted.sort();
        wanted.dedup();
        let unreadable = binding.unreadable.clone();
        Some(Self { left_out, held, unreadable, wanted, account: binding.accounts.first().cloned() })
    }
}
