//! Which addresses a member may export: those in networks that it claims, and never those of others.
//!
//! A member of ours claims its networks; an upstream one claims nothing, and may export what nobody else has claimed.
//! Only networks that endpoints or Pod-to-Pod connectivity use are claimed: others may overlap.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::ops::Bound::{Excluded, Included};

use antrea_shared_api::addresses::{unusable, unusable_part};
use ipnet::IpNet;

use crate::export::{Export, by_age};
use crate::ids::ClusterId;

/// Which addresses a member exports as endpoints (`endpointIPType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointAddresses {
    /// ClusterIPs of its Services.
    ClusterIps,
    /// IPs of its Pods.
    PodIps,
}

/// Whether Pods of other clusters reach a member's Pods at their own addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodConnectivity {
    /// They do not.
    Off,
    /// They do.
    On,
}

/// What a network is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NetworkUse {
    /// ClusterIPs.
    Service,
    /// Pods.
    Pod,
}

/// A network that a cluster claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClaimedNetwork {
    /// What for.
    pub network_use: NetworkUse,
    /// The network.
    pub cidr: IpNet,
}

/// The networks of a member whose addresses other clusters use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim(Vec<ClaimedNetwork>);

impl Claim {
    /// What a member with these networks claims.
    pub fn new(
        service_cidrs: &[IpNet],
        pod_cidrs: &[IpNet],
        endpoints: EndpointAddresses,
        pods: PodConnectivity,
    ) -> Self {
        let claimed = |network_use, cidrs: &[IpNet]| -> Vec<ClaimedNetwork> {
            cidrs.iter().map(|cidr| ClaimedNetwork { network_use, cidr: cidr.trunc() }).collect()
        };
        let mut networks = Vec::new();
        if endpoints == EndpointAddresses::ClusterIps {
            networks.extend(claimed(NetworkUse::Service, service_cidrs));
        }
        if endpoints == EndpointAddresses::PodIps || pods == PodConnectivity::On {
            networks.extend(claimed(NetworkUse::Pod, pod_cidrs));
        }
        Self(networks)
    }

    /// The networks.
    pub fn networks(&self) -> impl Iterator<Item = &ClaimedNetwork> {
        self.0.iter()
    }

    /// Whether an endpoint with this address may be exported; a member that claims nothing may export any.
    pub fn allows(&self, address: IpAddr) -> bool {
        self.0.is_empty() || self.0.iter().any(|network| network.cidr.contains(&address))
    }
}

/// Why a member may not have a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClaimRefused {
    /// Another member has part of it.
    #[error(
        "{claimed} overlaps {others} of cluster {cluster}: clusters of a ClusterSet need networks of their own"
    )]
    Overlap {
        /// What is claimed.
        claimed: ClaimedNetwork,
        /// The other member.
        cluster: ClusterId,
        /// What that has.
        others: ClaimedNetwork,
    },
    /// It contains addresses that no cluster can have.
    #[error(
        "{0} contains loopback, link-local, multicast or reserved addresses: name the networks of the cluster"
    )]
    Unusable(ClaimedNetwork),
}

impl ClaimRefused {
    /// Whose network it is, and what that member is told of `claimant`; nothing where it is nobody's.
    pub(crate) fn told_to_owner(&self, claimant: &ClusterId) -> Option<(&ClusterId, String)> {
        let Self::Overlap { claimed, cluster, others } = self else { return None };
        let told = format!(
            "{others} overlaps {claimed} of cluster {claimant}, which is refused: clusters of a ClusterSet need networks \
             of their own"
        );
        Some((cluster, told))
    }
}

/// Why an address is not imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressRefused {
    /// The exporter does not have it.
    #[error("{address} is in no network that cluster {cluster} has announced")]
    NotOwn {
        /// The exporter.
        cluster: ClusterId,
        /// The address.
        address: IpAddr,
    },
    /// Another member has it.
    #[error("{address} is in {network} of cluster {owner}")]
    Foreign {
        /// The address.
        address: IpAddr,
        /// The other member.
        owner: ClusterId,
        /// What that has.
        network: ClaimedNetwork,
    },
    /// No cluster can have it.
    #[error("{0} is a loopback, link-local, multicast or reserved address")]
    Unusable(IpAddr),
}

/// The networks of all members that have announced some.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// What stands of each claim.
    standing: BTreeMap<ClusterId, Claim>,
    /// The same networks by their first address, without those that lie within another: no two overlap, since networks of
    /// different clusters do not.
    by_start: BTreeMap<IpAddr, (ClaimedNetwork, ClusterId)>,
}

impl Claims {
    /// The claims of all members, and what is refused of them: the older claim of a network stands. A member with a
    /// refused claim has none of its networks; it is not taken for one that claims nothing.
    pub fn settle(claims: &[&Export<Claim>]) -> (Self, BTreeMap<ClusterId, Vec<ClaimRefused>>) {
        let (mut settled, mut refused) = (Self::default(), BTreeMap::new());
        for claim in by_age(claims) {
            let problems = settled.problems(&claim.cluster, &claim.payload);
            let accepted = if problems.is_empty() { claim.payload.clone() } else { Claim::default() };
            settled.accept(&claim.cluster, accepted);
            if !problems.is_empty() {
                refused.insert(claim.cluster.clone(), problems);
            }
        }
        (settled, refused)
    }

    fn accept(&mut self, cluster: &ClusterId, claim: Claim) {
        for network in claim.networks() {
            let within = self
                .around(network.cidr.network())
                .is_some_and(|(wider, _)| wider.cidr.contains(&network.cidr));
            if within {
                continue;
            }
            let inner: Vec<IpAddr> = self.inside(&network.cidr).map(|(start, _)| *start).collect();
            for start in inner {
                self.by_start.remove(&start);
            }
            self.by_start.insert(network.cidr.network(), (*network, cluster.clone()));
        }
        self.standing.insert(cluster.clone(), claim);
    }

    /// The network that contains an address, and whose it is.
    fn around(&self, address: IpAddr) -> Option<&(ClaimedNetwork, ClusterId)> {
        let (_, before) = self.by_start.range(..=address).next_back()?;
        before.0.cidr.contains(&address).then_some(before)
    }

    /// Networks that begin within another.
    fn inside(&self, network: &IpNet) -> impl Iterator<Item = (&IpAddr, &(ClaimedNetwork, ClusterId))> {
        self.by_start.range((Included(network.network()), Included(network.broadcast())))
    }

    /// Networks that have addresses of another, and whose they are.
    fn overlapping(&self, network: &IpNet) -> impl Iterator<Item = &(ClaimedNetwork, ClusterId)> {
        let first = network.network();
        let later = self.by_start.range((Excluded(first), Included(network.broadcast())));
        self.around(first).into_iter().chain(later.map(|(_, claimed)| claimed))
    }

    /// Why `cluster` may not claim that now; nothing where it may.
    pub fn problems(&self, cluster: &ClusterId, claim: &Claim) -> Vec<ClaimRefused> {
        let unusable = claim.networks().filter(|network| unusable_part(&network.cidr).is_some());
        let mut problems: Vec<ClaimRefused> = unusable.copied().map(ClaimRefused::Unusable).collect();
        for claimed in claim.networks() {
            let overlaps = self.overlapping(&claimed.cidr).filter(|(_, other)| other != cluster);
            problems.extend(overlaps.map(|(others, other)| ClaimRefused::Overlap {
                claimed: *claimed,
                cluster: other.clone(),
                others: *others,
            }));
        }
        problems
    }

    /// Whether `cluster` may export an endpoint with this address.
    ///
    /// # Errors
    /// Why it may not.
    pub fn check(&self, cluster: &ClusterId, address: IpAddr) -> Result<(), AddressRefused> {
        if unusable(address).is_some() {
            return Err(AddressRefused::Unusable(address));
        }
        match self.around(address) {
            Some((_, owner)) if owner == cluster => Ok(()),
            Some((network, owner)) => {
                Err(AddressRefused::Foreign { address, owner: owner.clone(), network: *network })
            }
            None if self.standing.contains_key(cluster) => {
                Err(AddressRefused::NotOwn { cluster: cluster.clone(), address })
            }
            None => Ok(()),
        }
    }
}

impl fmt::Display for ClaimedNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let network_use = match self.network_use {
            NetworkUse::Service => "Service",
            NetworkUse::Pod => "Pod",
        };
        write!(f, "{network_use} CIDR {}", self.cidr)
    }
}
