//! Rules with the members of their groups.

use std::collections::BTreeSet;
use std::net::IpAddr;

use antrea_shared_api::controlplane::v1beta2::GroupMember;

use crate::Rule;
use crate::groups::Group;

/// A rule that is about something on this Node.
///
/// What of its AddressGroups has not come yet is in [`Self::missing`]. Policies come on a connection of their own, so that
/// this happens. A rule that allows is safe to realize without: a missing group lets nobody through, and what the rule is
/// applied to is isolated, as it has to be. One that drops is not.
#[derive(Clone, Debug)]
pub struct CompletedRule<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// The names of AddressGroups that have not come.
    pub missing: Vec<&'a str>,
    pub(crate) targets: Vec<&'a Group>,
    pub(crate) peers: Vec<&'a Group>,
}

impl<'a> CompletedRule<'a> {
    /// What it is applied to, on this Node.
    pub fn targets(&self) -> BTreeSet<&'a GroupMember> {
        self.target_members().collect()
    }

    /// The members of its AddressGroups.
    pub fn peers(&self) -> BTreeSet<&'a GroupMember> {
        self.peer_members().collect()
    }

    /// The addresses of the members of its AddressGroups, in order, each once.
    pub fn peer_addresses(&self) -> Vec<IpAddr> {
        let mut addresses: Vec<_> = self.peer_members().flat_map(|member| &member.ips).copied().collect();
        addresses.sort_unstable();
        addresses.dedup();
        addresses
    }

    /// What it is applied to, as often as groups have it.
    pub(crate) fn target_members(&self) -> impl Iterator<Item = &'a GroupMember> {
        self.targets.iter().flat_map(|group| group.members())
    }

    /// The members of its AddressGroups, as often as groups have them.
    pub(crate) fn peer_members(&self) -> impl Iterator<Item = &'a GroupMember> {
        self.peers.iter().flat_map(|group| group.members())
    }
}
