//! Whose an address of a Gateway is: the member that an admin bound it to, or else the one that had it first.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;
use jiff::Timestamp;

use super::ClaimedNetwork;
use super::prefixes::Prefixes;
use crate::bindings::GatewayBinding;
use crate::ids::ClusterId;

/// A member says in its ClusterInfo that it has a Gateway at an address, or had one a short time ago.
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
    /// Whether it names the address now. One that it had stays its own for a while: it may take it over again.
    pub is_named: bool,
}

/// Where the Gateways of all members may be, as far as admins say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GatewayBindings {
    bound: Prefixes<ClusterId>,
    exact: BTreeSet<ClusterId>,
}

impl GatewayBindings {
    /// What is bound to these members.
    pub fn of<'a>(bindings: impl IntoIterator<Item = (&'a ClusterId, &'a GatewayBinding)>) -> Self {
        let mut all = Self::default();
        for (cluster, binding) in bindings {
            binding.networks.iter().for_each(|network| all.bound.insert(*network, cluster.clone()));
            all.exact.extend(binding.is_exact.then(|| cluster.clone()));
        }
        all
    }

    /// Whether an admin bound an address to a member.
    pub(super) fn is_bound(&self, cluster: &ClusterId, address: IpAddr) -> bool {
        self.bound.around(address).any(|owner| owner == cluster)
    }

    /// Whether a member may have a Gateway at an address, as far as admins say.
    pub(super) fn check(&self, cluster: &ClusterId, address: IpAddr) -> Result<(), GatewayRefused> {
        if self.is_bound(cluster, address) {
            return Ok(());
        }
        if self.exact.contains(cluster) {
            return Err(GatewayRefused::NotBound { address, cluster: cluster.clone() });
        }
        match self.bound.around(address).next() {
            Some(owner) => Err(GatewayRefused::Bound { address, owner: owner.clone() }),
            None => Ok(()),
        }
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
    /// Another member had the address until lately.
    #[error(
        "Gateway {address} was that of cluster {owner} less than a day ago: an admin of the leader may bind it"
    )]
    Former {
        /// The address.
        address: IpAddr,
        /// The other member.
        owner: ClusterId,
    },
    /// An admin bound the address to another member.
    #[error("Gateway {address} is bound to cluster {owner} by an admin of the leader")]
    Bound {
        /// The address.
        address: IpAddr,
        /// The other member.
        owner: ClusterId,
    },
    /// Admins bound others to the member, and not this one.
    #[error("Gateway {address} is none of those that an admin of the leader has bound to cluster {cluster}")]
    NotBound {
        /// The address.
        address: IpAddr,
        /// The member.
        cluster: ClusterId,
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
    /// It is in a network that another member had until lately.
    #[error(
        "Gateway {address} is in {network}, which was that of cluster {owner} less than a day ago: an admin of the leader may \
         bind the Gateway"
    )]
    InFormer {
        /// The address.
        address: IpAddr,
        /// The other member.
        owner: ClusterId,
        /// What that had.
        network: IpNet,
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
            Self::Bound { address, owner } => Some((
                owner,
                format!("Gateway {address}, which is bound to it, is refused to cluster {claimant}"),
            )),
            Self::Former { .. } | Self::InFormer { .. } | Self::NotBound { .. } | Self::Unusable(_) => None,
        }
    }
}

/// The Gateways of all members by their addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Gateways(BTreeMap<IpAddr, Held>);

/// Whose an address is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(super) cluster: ClusterId,
    /// Whether that has a Gateway there now.
    pub(super) is_named: bool,
}

impl Gateways {
    /// The member has the address, which no other one has.
    pub(super) fn insert(&mut self, address: IpAddr, cluster: &ClusterId, is_named: bool) {
        self.0.insert(address, Held { cluster: cluster.clone(), is_named });
    }

    /// Whose an address is.
    pub(super) fn holder(&self, address: IpAddr) -> Option<&Held> {
        self.0.get(&address)
    }

    /// Those in a network, and whose they are.
    pub(super) fn within<'a>(
        &'a self,
        network: &IpNet,
    ) -> impl Iterator<Item = (IpAddr, &'a ClusterId)> + use<'a> {
        let gateways = self.0.range(network.network()..=network.broadcast());
        gateways.map(|(address, held)| (*address, &held.cluster))
    }

    /// Those of a member, that it has now or had before.
    pub(super) fn of(&self, cluster: &ClusterId, is_named: bool) -> impl Iterator<Item = IpAddr> {
        let own =
            self.0.iter().filter(move |(_, held)| held.cluster == *cluster && held.is_named == is_named);
        own.map(|(address, _)| *address)
    }

    /// Those of each member.
    pub(super) fn by_cluster(&self) -> BTreeMap<ClusterId, Vec<(IpAddr, Held)>> {
        let mut all = BTreeMap::<ClusterId, Vec<(IpAddr, Held)>>::new();
        for (address, held) in &self.0 {
            all.entry(held.cluster.clone()).or_default().push((*address, held.clone()));
        }
        all
    }
}
