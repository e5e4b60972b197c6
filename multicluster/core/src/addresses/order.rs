//! In which order claims are looked at: what comes first stands, and what does not go together with it falls.
//!
//! First comes what admins bound to members; then what the leader wrote down as theirs, by the time since when it is; then
//! what is new, by the time since when they are members. What stands is written down. So it is looked at before all that
//! fell because of it, and stands again: no outcome changes because it was written down.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;
use jiff::Timestamp;

use super::cover::{Cover, outermost, since_when};
use super::{Claim, ClaimedNetwork, FormerNetwork, GatewayBindings, GatewayClaim, NetworkUse};
use crate::ids::ClusterId;

/// What stands or falls as a whole.
#[derive(Clone, Debug)]
pub(super) struct Item<'a> {
    pub(super) rank: Rank<'a>,
    pub(super) what: What,
}

/// What is claimed.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// Networks that others use.
    Networks(Vec<ClaimedNetwork>),
    /// A network that the member does not claim any more.
    Former(IpNet),
    /// A Gateway, and whether the member names it now.
    Gateway(IpAddr, bool),
}

/// When something is looked at. The order of the fields is that in which they count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank<'a> {
    is_unbound: bool,
    /// Whether the leader has not written it down yet.
    pub(super) is_new: bool,
    since: Option<Timestamp>,
    joined: Timestamp,
    pub(super) cluster: &'a ClusterId,
}

impl<'a> Rank<'a> {
    fn new(is_bound: bool, since: Option<Timestamp>, joined: Timestamp, cluster: &'a ClusterId) -> Self {
        Self { is_unbound: !is_bound, is_new: since.is_none(), since, joined, cluster }
    }
}

impl GatewayClaim {
    pub(super) fn item(&self, bindings: &GatewayBindings) -> Item<'_> {
        let is_bound = bindings.is_bound(&self.cluster, self.address);
        Item {
            rank: Rank::new(is_bound, self.recorded, self.joined, &self.cluster),
            what: What::Gateway(self.address, self.is_named),
        }
    }
}

impl FormerNetwork {
    pub(super) fn item(&self) -> Item<'_> {
        Item {
            rank: Rank::new(false, Some(self.since), self.joined, &self.cluster),
            what: What::Former(self.network),
        }
    }
}

impl Claim {
    /// The claim of a member that has had these networks since then. It keeps what it had of a network that has grown, and
    /// networks of Pods that others reached while it had a Gateway.
    pub(crate) fn recorded(mut self, record: &BTreeMap<IpNet, Timestamp>) -> Self {
        let since = since_when(self.exported().map(|network| network.cidr), record);
        for pods in &self.pods {
            if let Some(since) = since.get(&pods.network.cidr) {
                self.recorded.insert(pods.network, *since);
                self.bound.extend(pods.is_bound.then_some(pods.network));
            }
        }
        let of_pods: BTreeSet<IpNet> = self.pods.iter().map(|pods| pods.network.cidr).collect();
        for network in &self.claimed {
            self.recorded.extend(since.get(&network.cidr).map(|since| (*network, *since)));
        }
        for network_use in [NetworkUse::Service, NetworkUse::Pod] {
            let of_use = self.claimed.iter().filter(|network| network.network_use == network_use);
            let claimed = Cover::of(of_use.map(|network| &network.cidr));
            // Also of one that is written down itself: whether the whole or a part is the older, each stands by itself. What is
            // named for Pods is no part of others.
            let parts = record.keys().filter(|had| claimed.has(had) && !of_pods.contains(had));
            let part = |had: &IpNet| Some((ClaimedNetwork { network_use, cidr: *had }, *since.get(had)?));
            self.recorded.extend(parts.filter_map(part));
        }
        self
    }

    /// What is claimed of networks that others use. What an admin bound, and what the member has had, stands or falls each
    /// for itself, all that is new together.
    pub(super) fn items<'a>(&self, cluster: &'a ClusterId, joined: Timestamp) -> Vec<Item<'a>> {
        let bound = Cover::of(self.bound.iter().map(|network| &network.cidr));
        let is_bound = |network: &ClaimedNetwork| bound.has(&network.cidr);
        let since = |network: &ClaimedNetwork| self.recorded.get(network).copied();
        let claimed: BTreeSet<&ClaimedNetwork> = self.claimed.iter().collect();
        let parts = self.recorded.keys().filter(|part| !claimed.contains(part));
        let (known, new): (Vec<ClaimedNetwork>, Vec<ClaimedNetwork>) = self
            .claimed
            .iter()
            .chain(parts)
            .partition(|network| is_bound(network) || since(network).is_some());
        let item = |is_bound, since, networks| Item {
            rank: Rank::new(is_bound, since, joined, cluster),
            what: What::Networks(networks),
        };
        let mut items: Vec<Item<'a>> = known
            .into_iter()
            .map(|network| item(is_bound(&network), since(&network), vec![network]))
            .collect();
        if !new.is_empty() {
            items.push(item(false, None, outermost(new, |network| network.cidr)));
        }
        items
    }

    /// What stands of the claim before it is known which networks the member may export Pods in; `has` tells which
    /// networks the member has.
    pub(super) fn standing(&self, has: impl Fn(&ClaimedNetwork) -> bool) -> Self {
        let mut claimed: Vec<ClaimedNetwork> =
            self.claimed.iter().copied().filter(|network| has(network)).collect();
        let mut known = Cover::of(claimed.iter().map(|network| &network.cidr));
        let mut parts: Vec<ClaimedNetwork> = self.recorded.keys().copied().filter(|part| has(part)).collect();
        parts.sort_by_key(|part| part.cidr);
        parts.retain(|part| known.insert(part.cidr));
        claimed.append(&mut parts);
        if claimed.is_empty() && !self.claimed.is_empty() {
            let (unapproved, unneeded) = (self.unapproved.clone(), self.unneeded.clone());
            return Self { unapproved, unneeded, is_said: self.is_said, is_refused: true, ..Self::default() };
        }
        // What stands is the same however it came to that.
        Self {
            claimed,
            bound: Vec::new(),
            recorded: BTreeMap::new(),
            pods: Vec::new(),
            refused_pods: Vec::new(),
            ..self.clone()
        }
    }
}
