//! Networks that members had a short time ago. For a while nobody else may have them: a claim that was refused would only have
//! to wait for the moment in which their owner does not claim them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use jiff::Timestamp;

use super::cover::Cover;
use super::settled::GIVEN;
use super::{AddressRefused, Claim, ClaimRefused, ClaimedNetwork, Claims};
use crate::ids::ClusterId;

/// A member had a network, and does not claim it any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormerNetwork {
    /// The member.
    pub cluster: ClusterId,
    /// The network.
    pub network: IpNet,
    /// Since when it was the member's, as the leader wrote it down.
    pub since: Timestamp,
    /// Since when the member is one.
    pub joined: Timestamp,
}

impl Claim {
    /// Of the networks that the member had, those that it does not claim any more.
    pub(crate) fn unclaimed<'a>(
        &self,
        had: &'a BTreeMap<IpNet, Timestamp>,
    ) -> impl Iterator<Item = (&'a IpNet, &'a Timestamp)> + use<'a> {
        let claimed = self.claimed.iter().chain(self.recorded.keys());
        let claimed = Cover::of(claimed.map(|network| &network.cidr));
        had.iter().filter(move |(network, _)| !claimed.has(network))
    }
}

impl Claims {
    /// A member had a network: no other one may have it, unless one has it already, because an admin bound it to that one.
    pub(super) fn keep_former(&mut self, cluster: &ClusterId, network: IpNet) {
        let is_free = self.networks.overlapping(&network).all(|(_, other)| other == cluster)
            && self.former.overlapping(&network).all(|(_, other)| other == cluster);
        if is_free {
            self.former.insert(network, cluster);
        }
    }

    /// Whether a member had a network, and no other one may have it.
    pub fn is_former(&self, cluster: &ClusterId, network: &IpNet) -> bool {
        self.former.is_of(cluster, network)
    }

    /// The networks that each member had, without those that lie within another.
    pub(crate) fn all_former(&self) -> BTreeMap<ClusterId, Vec<IpNet>> {
        self.former.by_cluster()
    }

    /// Networks that other members had, and of which `cluster` claims part.
    pub(super) fn former_of_others<'a>(
        &'a self,
        cluster: &'a ClusterId,
        claimed: ClaimedNetwork,
    ) -> impl Iterator<Item = ClaimRefused> + 'a {
        let of_others = self.former.overlapping(&claimed.cidr).filter(move |(_, other)| other != cluster);
        of_others.take(GIVEN).map(move |(had, other)| ClaimRefused::Former {
            claimed,
            cluster: other.clone(),
            had: *had,
        })
    }

    /// Whether a member that claims nothing may export an endpoint with an address that nobody has.
    pub(super) fn check_former(&self, cluster: &ClusterId, address: IpAddr) -> Result<(), AddressRefused> {
        match self.former.around(address).filter(|(_, owner)| owner != cluster) {
            Some((network, owner)) => {
                Err(AddressRefused::Former { address, owner: owner.clone(), network: *network })
            }
            None => Ok(()),
        }
    }
}
