//! Whose an address of a Gateway is: the member that had it first.

use std::collections::BTreeMap;
use std::net::IpAddr;

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
pub(super) struct Gateways(BTreeMap<IpAddr, ClusterId>);

impl Gateways {
    /// The member has the address, which no other one has.
    pub(super) fn insert(&mut self, address: IpAddr, cluster: &ClusterId) {
        self.0.insert(address, cluster.clone());
    }

    /// Whose an address is.
    pub(super) fn owner(&self, address: IpAddr) -> Option<&ClusterId> {
        self.0.get(&address)
    }

    /// Those in a network, and whose they are.
    pub(super) fn within<'a>(
        &'a self,
        network: &IpNet,
    ) -> impl Iterator<Item = (IpAddr, &'a ClusterId)> + use<'a> {
        let gateways = self.0.range(network.network()..=network.broadcast());
        gateways.map(|(address, cluster)| (*address, cluster))
    }

    /// Those of a member.
    pub(super) fn of(&self, cluster: &ClusterId) -> impl Iterator<Item = IpAddr> {
        self.0.iter().filter(move |(_, owner)| *owner == cluster).map(|(address, _)| *address)
    }

    /// Those of each member.
    pub(super) fn by_cluster(&self) -> BTreeMap<ClusterId, Vec<IpAddr>> {
        let mut all = BTreeMap::<ClusterId, Vec<IpAddr>>::new();
        for (address, cluster) in &self.0 {
            all.entry(cluster.clone()).or_default().push(*address);
        }
        all
    }
}
