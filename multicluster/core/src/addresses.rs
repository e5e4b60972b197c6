//! Which addresses a member may export: those in networks that it claims, and never those of others.
//!
//! A member of ours claims its networks; an upstream one claims nothing, and may export what nobody else has claimed.
//! Only networks that endpoints or Pod-to-Pod connectivity use are claimed: others may overlap.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

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
        self.0.is_empty() || self.network_of(address).is_some()
    }

    fn network_of(&self, address: IpAddr) -> Option<ClaimedNetwork> {
        self.0.iter().find(|network| network.cidr.contains(&address)).copied()
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
        "{0} contains loopback, link-local, multicast or unspecified addresses: name the networks of the cluster"
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
    #[error("{0} is a loopback, link-local, multicast or unspecified address")]
    Unusable(IpAddr),
}

/// The networks of all members that have announced some.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims(BTreeMap<ClusterId, Claim>);

impl Claims {
    /// The claims of all members, and what is refused of them: the older claim of a network stands. A member with a
    /// refused claim has none of its networks; it is not taken for one that claims nothing.
    pub fn settle(claims: &[&Export<Claim>]) -> (Self, BTreeMap<ClusterId, Vec<ClaimRefused>>) {
        let (mut settled, mut refused) = (Self::default(), BTreeMap::new());
        for claim in by_age(claims) {
            let problems = settled.problems(&claim.cluster, &claim.payload);
            let accepted = if problems.is_empty() { claim.payload.clone() } else { Claim::default() };
            settled.0.insert(claim.cluster.clone(), accepted);
            if !problems.is_empty() {
                refused.insert(claim.cluster.clone(), problems);
            }
        }
        (settled, refused)
    }

    /// Why `cluster` may not claim that now; nothing where it may.
    pub fn problems(&self, cluster: &ClusterId, claim: &Claim) -> Vec<ClaimRefused> {
        let mut problems: Vec<ClaimRefused> = claim
            .0
            .iter()
            .filter(|network| !is_usable(&network.cidr))
            .copied()
            .map(ClaimRefused::Unusable)
            .collect();
        for (other, theirs) in self.0.iter().filter(|(other, _)| *other != cluster) {
            for claimed in &claim.0 {
                let overlaps = theirs.0.iter().filter(|network| overlap(&network.cidr, &claimed.cidr));
                problems.extend(overlaps.map(|others| ClaimRefused::Overlap {
                    claimed: *claimed,
                    cluster: other.clone(),
                    others: *others,
                }));
            }
        }
        problems
    }

    /// Whether `cluster` may export an endpoint with this address.
    ///
    /// # Errors
    /// Why it may not.
    pub fn check(&self, cluster: &ClusterId, address: IpAddr) -> Result<(), AddressRefused> {
        if !is_usable_address(address) {
            return Err(AddressRefused::Unusable(address));
        }
        if self.0.get(cluster).is_some_and(|own| own.network_of(address).is_some()) {
            return Ok(());
        }
        let owner = self
            .0
            .iter()
            .filter(|(other, _)| *other != cluster)
            .find_map(|(other, claim)| claim.network_of(address).map(|network| (other.clone(), network)));
        match owner {
            Some((owner, network)) => Err(AddressRefused::Foreign { address, owner, network }),
            None if self.0.contains_key(cluster) => {
                Err(AddressRefused::NotOwn { cluster: cluster.clone(), address })
            }
            None => Ok(()),
        }
    }
}

fn overlap(one: &IpNet, other: &IpNet) -> bool {
    one.contains(other) || other.contains(one)
}

/// Networks whose addresses are no endpoints, as Kubernetes' validation of EndpointSlices has it.
const UNUSABLE: [&str; 9] = [
    "0.0.0.0/32",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "224.0.0.0/4",
    "255.255.255.255/32",
    "::/128",
    "::1/128",
    "fe80::/10",
    "ff00::/8",
];

fn unusable() -> impl Iterator<Item = IpNet> {
    UNUSABLE.iter().filter_map(|text| text.parse().ok())
}

fn is_usable(cidr: &IpNet) -> bool {
    !unusable().any(|unusable| overlap(&unusable, cidr))
}

fn is_usable_address(address: IpAddr) -> bool {
    let mapped = matches!(address, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some());
    !mapped && !unusable().any(|unusable| unusable.contains(&address))
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
