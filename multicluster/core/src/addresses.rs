//! Which addresses a member may export: those in networks that it claims, and never those of others.
//!
//! A member of ours claims its networks; an upstream one claims nothing, and may export what nobody else has claimed.
//! Only networks that endpoints or Pod-to-Pod connectivity use are claimed: others may overlap. Where Pods are exported and
//! not reached otherwise, a network of Pods that another member has costs nothing but itself. What a member claims it has to
//! be approved for ([`crate::bindings`]).

mod bound;
mod cover;
mod former;
mod gateways;
mod order;
mod pods;
mod prefixes;
mod ranges;
mod settled;

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use antrea_shared_api::addresses::is_private;
use ipnet::IpNet;
use jiff::Timestamp;

use crate::bindings::{Approval, Approved};
use crate::ids::ClusterId;

pub(crate) use bound::BoundNetworks;
pub use cover::since_when;
pub use former::FormerNetwork;
pub(crate) use gateways::Held as HeldGateway;
pub use gateways::{GatewayBindings, GatewayClaim, GatewayRefused};
use pods::PodNetwork;
pub use settled::{Claims, Refused};

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

/// The networks of a member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// Those whose addresses other clusters use.
    claimed: Vec<ClaimedNetwork>,
    /// What of them an admin bound to the member.
    bound: Vec<ClaimedNetwork>,
    /// What of them the leader wrote down as the member's, or of what they contain, and since when it is.
    recorded: BTreeMap<ClaimedNetwork, Timestamp>,
    /// Those of Pods that are exported, and not reached otherwise.
    pods: Vec<PodNetwork>,
    /// Of those, what another member has.
    refused_pods: Vec<ClaimedNetwork>,
    /// The others: they may overlap with those of other clusters.
    unused: Vec<ClaimedNetwork>,
    /// Whether the member says which networks it has. Its endpoints are in these then.
    is_said: bool,
    /// Whether nothing of it stands, because another member has part of it.
    is_refused: bool,
    /// Those that it may not have: they are neither private nor bound to the member.
    unapproved: Vec<ClaimedNetwork>,
    /// Private ones that it may not have either, and that others would not use: nobody has to approve them.
    unneeded: Vec<ClaimedNetwork>,
    /// Of those that it may have: what it had before networks needed approval, and has only because of that.
    held: Vec<ClaimedNetwork>,
    /// Where endpoints may be of a member that claims nothing, and to which networks are bound.
    bound_endpoints: Vec<IpNet>,
}

impl Claim {
    /// What a member with these networks claims.
    pub fn new(
        service_cidrs: &[IpNet],
        pod_cidrs: &[IpNet],
        endpoints: EndpointAddresses,
        pods: PodConnectivity,
    ) -> Self {
        let mut claim = Self { is_said: true, ..Self::default() };
        let services = networks(NetworkUse::Service, service_cidrs);
        match endpoints {
            EndpointAddresses::ClusterIps => claim.claimed.extend(services),
            EndpointAddresses::PodIps => claim.unused.extend(services),
        }
        if endpoints == EndpointAddresses::PodIps || pods == PodConnectivity::On {
            claim.claimed.extend(networks(NetworkUse::Pod, pod_cidrs));
            claim
        } else {
            claim.and_exported_pods(pod_cidrs)
        }
    }

    /// What a member claims that names no networks, and to which an admin bound these.
    pub(crate) fn within(bound: &[IpNet]) -> Self {
        Self { bound_endpoints: bound.to_vec(), ..Self::default() }
    }

    /// The claim without networks that the member may not have.
    pub(crate) fn approved(mut self, approval: &Approval) -> Self {
        let (mut unapproved, mut unneeded, mut held) = (Vec::new(), Vec::new(), Vec::new());
        self.unused.retain(|network| {
            let is_unneeded = is_private(&network.cidr) && approval.of(&network.cidr) == Approved::No;
            unneeded.extend(is_unneeded.then_some(*network));
            !is_unneeded
        });
        let mut may_have = |network: &ClaimedNetwork| match approval.of(&network.cidr) {
            Approved::Bound | Approved::Private => true,
            Approved::Held => {
                held.push(*network);
                true
            }
            Approved::No => {
                unapproved.push(*network);
                false
            }
        };
        for networks in [&mut self.claimed, &mut self.unused] {
            networks.retain(&mut may_have);
        }
        self.pods.retain(|pods| may_have(&pods.network));
        let is_bound = |network: &ClaimedNetwork| approval.of(&network.cidr) == Approved::Bound;
        self.bound = self.claimed.iter().filter(|network| is_bound(network)).copied().collect();
        for pods in &mut self.pods {
            pods.is_bound = is_bound(&pods.network);
        }
        Self { unapproved, unneeded, held, ..self }
    }

    /// The claim without some networks.
    pub(crate) fn without(mut self, leave_out: impl Fn(&ClaimedNetwork) -> bool) -> Self {
        self.claimed.retain(|network| !leave_out(network));
        self
    }

    /// Networks that the member may not have.
    pub(crate) fn unapproved(&self) -> &[ClaimedNetwork] {
        &self.unapproved
    }

    /// Networks that it has because it had them before they needed approval.
    pub(crate) fn held(&self) -> &[ClaimedNetwork] {
        &self.held
    }

    /// All networks that the member names and has, or would have if they were approved.
    pub(crate) fn all(&self) -> impl Iterator<Item = &ClaimedNetwork> {
        let pods = self.pods.iter().filter(|pods| !pods.is_part).map(|pods| &pods.network);
        self.claimed.iter().chain(pods).chain(&self.unused).chain(&self.unapproved)
    }

    /// The networks that others use, but for those of Pods that are exported and not reached otherwise.
    pub fn networks(&self) -> impl Iterator<Item = &ClaimedNetwork> {
        self.claimed.iter()
    }

    /// The networks that endpoints of the member may be in.
    pub fn exported(&self) -> impl Iterator<Item = &ClaimedNetwork> {
        self.claimed.iter().chain(self.pods.iter().map(|pods| &pods.network))
    }

    /// Whether a network is one of the member's, used by others or not.
    pub fn has(&self, network: &IpNet) -> bool {
        self.exported().chain(&self.unused).any(|own| own.cidr.contains(network))
    }

    /// Whether the member may export an endpoint with an address that nobody has.
    fn check_unclaimed(&self, cluster: &ClusterId, address: IpAddr) -> Result<(), AddressRefused> {
        if self.bound_endpoints.iter().any(|bound| bound.contains(&address)) {
            return Ok(());
        }
        let cluster = cluster.clone();
        let around =
            |networks: &[ClaimedNetwork]| networks.iter().find(|of| of.cidr.contains(&address)).copied();
        Err(match (around(&self.unapproved), around(&self.refused_pods)) {
            (Some(network), _) => AddressRefused::NotBound { cluster, address, network },
            (None, Some(network)) => AddressRefused::NotGranted { cluster, address, network },
            (None, None) => AddressRefused::NotOwn { cluster, address },
        })
    }

    /// Whether an endpoint with this address may be exported; a member that says nothing of its networks may export any.
    pub fn allows(&self, address: IpAddr) -> bool {
        !self.is_said || self.exported().any(|network| network.cidr.contains(&address))
    }
}

fn networks<'a>(
    network_use: NetworkUse,
    cidrs: impl IntoIterator<Item = &'a IpNet>,
) -> impl Iterator<Item = ClaimedNetwork> {
    cidrs.into_iter().map(move |cidr| ClaimedNetwork { network_use, cidr: cidr.trunc() })
}

/// Why a member may not have a network.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
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
    /// Another member had part of it a short time ago.
    #[error(
        "{claimed} overlaps {had}, which was that of cluster {cluster} less than a day ago: an admin of the leader may bind it"
    )]
    Former {
        /// What is claimed.
        claimed: ClaimedNetwork,
        /// The other member.
        cluster: ClusterId,
        /// What that had.
        had: IpNet,
    },
    /// It contains addresses that no cluster can have.
    #[error(
        "{0} contains loopback, link-local, multicast or reserved addresses: name the networks of the cluster"
    )]
    Unusable(ClaimedNetwork),
    /// The Gateway of another member is in it.
    #[error("{claimed} contains {address}, a Gateway of cluster {cluster}: name the networks of the cluster")]
    Gateway {
        /// What is claimed.
        claimed: ClaimedNetwork,
        /// The other member.
        cluster: ClusterId,
        /// Its Gateway.
        address: IpAddr,
    },
}

impl ClaimRefused {
    /// What is claimed.
    pub const fn claimed(&self) -> &ClaimedNetwork {
        match self {
            Self::Overlap { claimed, .. }
            | Self::Former { claimed, .. }
            | Self::Unusable(claimed)
            | Self::Gateway { claimed, .. } => claimed,
        }
    }

    /// Whose it is, and what that member is told of `claimant`; nothing where it is nobody's.
    pub(crate) fn told_to_owner(&self, claimant: &ClusterId) -> Option<(&ClusterId, String)> {
        match self {
            Self::Overlap { claimed, cluster, others } => {
                let told = format!(
                    "{others} overlaps {claimed} of cluster {claimant}, which is refused: clusters of a ClusterSet need \
                     networks of their own"
                );
                Some((cluster, told))
            }
            Self::Gateway { claimed, cluster, address, .. } => {
                let told =
                    format!("Gateway {address} is in {claimed} of cluster {claimant}, which is refused");
                Some((cluster, told))
            }
            Self::Former { .. } | Self::Unusable(_) => None,
        }
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
    /// It is in a network of the exporter that it may not have.
    #[error("{address} is in {network}, which no admin of the leader has bound to cluster {cluster}")]
    NotBound {
        /// The exporter.
        cluster: ClusterId,
        /// The address.
        address: IpAddr,
        /// What it is in.
        network: ClaimedNetwork,
    },
    /// It is in a network of Pods that the exporter names, and of which another member has part.
    #[error("{address} is in {network}, which cluster {cluster} does not have")]
    NotGranted {
        /// The exporter.
        cluster: ClusterId,
        /// The address.
        address: IpAddr,
        /// What it is in.
        network: ClaimedNetwork,
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
    /// Another member had it a short time ago.
    #[error("{address} is in {network}, which was that of cluster {owner} less than a day ago")]
    Former {
        /// The address.
        address: IpAddr,
        /// The other member.
        owner: ClusterId,
        /// What that had.
        network: IpNet,
    },
    /// No cluster can have it.
    #[error("{0} is a loopback, link-local, multicast or reserved address")]
    Unusable(IpAddr),
}

impl From<ClaimedNetwork> for IpNet {
    fn from(network: ClaimedNetwork) -> Self {
        network.cidr
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
