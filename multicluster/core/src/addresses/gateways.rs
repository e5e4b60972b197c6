//! Whose an address of a Gateway is: the member that had it first.

use std::collections::BTreeMap;
use std::net::IpAddr;

use antrea_shared_api::addresses::unusable;
use ipnet::IpNet;
use jiff::Timestamp;

use super::ClaimedNetwork;
use crate::ids::ClusterId;

/// A member says in its ClusterInfo that it has a Gateway at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayClaim {
    /// The member.
    pub cluster: ClusterId,
    /// Where tunnels go.
    pub address: IpAddr,
    /// Since when it is the member's, as the leader wrote it down; nothing for what the leader has not seen yet.
    pub recorded: Option<Timestamp>,
    /// Since when the member is one.
    pub joined: Timestamp,
}

impl GatewayClaim {
    /// What the leader wrote down goes before what it sees for the first time: else an older member could take the address
    /// of a younger one.
    fn seniority(&self) -> (bool, Option<Timestamp>, Timestamp, &ClusterId) {
        (self.recorded.is_none(), self.recorded, self.joined, &self.cluster)
    }
}

/// Why a Gateway is left out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GatewayRefused {
    /// Another member had the address before.
    #[error("Gateway {address} is that of cluster {owner}")]
    Taken {
        /// The address.
        address: IpAddr,
        /// The other member.
        owner: ClusterId,
    },
    /// It is an address of another member's Services or Pods.
    #[error("Gateway {address} is in {network} of cluster {owner}")]
    InNetwork {
        /// The address.
        address: IpAddr,
        /// The other member.
        owner: ClusterId,
        /// What that has.
        network: ClaimedNetwork,
    },
    /// No Gateway can have it.
    #[error("Gateway {0} is a loopback, link-local, multicast or reserved address")]
    Unusable(IpAddr),
}

impl GatewayRefused {
    /// Whose the address is, and what that member is told of `claimant`; nothing where it is nobody's.
    pub(crate) fn told_to_owner(&self, claimant: &ClusterId) -> Option<(&ClusterId, String)> {
        match self {
            Self::Taken { address, owner } => Some((
                owner,
                format!("Gateway {address} is refused to cluster {claimant}, which names it as well"),
            )),
            Self::InNetwork { address, owner, network } => Some((
                owner,
                format!(
                    "{network} has the address {address}, which is refused to cluster {claimant} as a Gateway"
                ),
            )),
            Self::Unusable(_) => None,
        }
    }
}

/// The Gateways of all members by their addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Gateways(BTreeMap<IpAddr, Held>);

/// Whose a Gateway is, and since when that is a member. Networks are as old as their member, so it is this that they are
/// compared by: what the leader wrote down comes and goes with the outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Held {
    cluster: ClusterId,
    joined: Timestamp,
}

impl Gateways {
    /// The first that claims an address has it.
    pub(super) fn settle(claims: &[GatewayClaim]) -> Self {
        let mut claims: Vec<&GatewayClaim> =
            claims.iter().filter(|claim| unusable(claim.address).is_none()).collect();
        claims.sort_by_key(|claim| claim.seniority());
        let mut settled = Self::default();
        for claim in claims {
            let held = || Held { cluster: claim.cluster.clone(), joined: claim.joined };
            settled.0.entry(claim.address).or_insert_with(held);
        }
        settled
    }

    /// Whose an address is.
    pub(super) fn owner(&self, address: IpAddr) -> Option<&ClusterId> {
        self.0.get(&address).map(|held| &held.cluster)
    }

    /// Those in a network, whose they are and since when that is a member.
    pub(super) fn within(&self, network: &IpNet) -> impl Iterator<Item = (IpAddr, &ClusterId, Timestamp)> {
        let gateways = self.0.range(network.network()..=network.broadcast());
        gateways.map(|(address, held)| (*address, &held.cluster, held.joined))
    }

    /// Those of a member.
    pub(super) fn of(&self, cluster: &ClusterId) -> impl Iterator<Item = IpAddr> {
        self.0.iter().filter(move |(_, held)| held.cluster == *cluster).map(|(address, _)| *address)
    }

    /// Those of each member.
    pub(super) fn by_cluster(&self) -> BTreeMap<ClusterId, Vec<IpAddr>> {
        let mut all = BTreeMap::<ClusterId, Vec<IpAddr>>::new();
        for (address, held) in &self.0 {
            all.entry(held.cluster.clone()).or_default().push(*address);
        }
        all
    }

    /// Leaves out what is not to be.
    pub(super) fn retain(&mut self, keep: impl Fn(IpAddr, &ClusterId) -> bool) {
        self.0.retain(|address, held| keep(*address, &held.cluster));
    }
}
