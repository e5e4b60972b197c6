//! What stands of the claims of all members: who has which networks and Gateways.

use std::collections::BTreeMap;
use std::net::IpAddr;

use antrea_shared_api::addresses::{unusable, unusable_part};
use ipnet::IpNet;

use super::gateways::Gateways;
use super::ranges::Ranges;
use super::{AddressRefused, Claim, ClaimRefused, ClaimedNetwork, GatewayClaim, GatewayRefused};
use crate::export::{Export, by_age};
use crate::ids::ClusterId;

/// As many reasons are given why a member may not have a network.
const GIVEN: usize = 16;

/// The networks of all members that have announced some, and the Gateways of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// What stands of each claim.
    pub(super) standing: BTreeMap<ClusterId, Claim>,
    /// The same networks, but for those of Pods that are exported and not reached otherwise.
    pub(super) networks: Ranges,
    /// And these.
    pub(super) exported_pods: Ranges,
    pub(super) gateways: Gateways,
}

/// What is refused of the claims, by the claimant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Networks. Of these members nothing else stands either.
    pub networks: BTreeMap<ClusterId, Vec<ClaimRefused>>,
    /// Networks of Pods that are exported and not reached otherwise.
    pub pods: BTreeMap<ClusterId, Vec<ClaimRefused>>,
    /// Gateways.
    pub gateways: BTreeMap<ClusterId, Vec<GatewayRefused>>,
}

impl Claims {
    /// The claims of all members, and what is refused of them. The older claim of a network stands, but what an admin bound
    /// to a member goes before what members merely say; a member with a refused one has none of its networks, and is not
    /// taken for one that claims nothing. Of Gateways each counts for itself; none is in a network of another member, and no
    /// network is around the Gateway of an older one. Networks that are claimed for the export of Pods alone come after all
    /// others, each for itself.
    pub fn settle(claims: &[&Export<Claim>], gateways: &[GatewayClaim]) -> (Self, Refused) {
        let mut settled = Self { gateways: Gateways::settle(gateways), ..Self::default() };
        let mut refused = Refused::default();
        let by_age = by_age(claims);
        let mut claims = by_age.clone();
        // Those of one kind stay in the order of their age.
        claims.sort_by_key(|claim| !claim.payload.is_bound());
        for claim in claims {
            let mut problems = settled.problems(&claim.cluster, &claim.payload);
            let around = settled.gateways_in(&claim.cluster, &claim.payload).into_iter();
            problems.extend(around.filter(|problem| problem.is_older_than(claim.created, &claim.cluster)));
            let payload = &claim.payload;
            let accepted =
                if problems.is_empty() { payload.without_exported_pods() } else { payload.refused() };
            settled.accept(&claim.cluster, accepted);
            if !problems.is_empty() {
                refused.networks.insert(claim.cluster.clone(), problems);
            }
        }
        refused.pods = settled.settle_pods(&by_age);
        for claim in gateways {
            if let Err(problem) = settled.check_gateway(&claim.cluster, claim.address) {
                refused.gateways.entry(claim.cluster.clone()).or_default().push(problem);
            }
        }
        settled.leave_out_gateways();
        (settled, refused)
    }

    /// What stands of the claim of a member; nothing where it claims nothing.
    pub fn standing(&self, cluster: &ClusterId) -> Option<&Claim> {
        self.standing.get(cluster)
    }

    /// Whether a network is in one that the member claims and may not have.
    pub(crate) fn is_unapproved(&self, cluster: &ClusterId, network: &IpNet) -> bool {
        let is_in = |unapproved: &ClaimedNetwork| unapproved.cidr.contains(network);
        let own = self.standing.get(cluster).filter(|own| !own.has(network));
        own.is_some_and(|own| own.unapproved().iter().any(is_in))
    }

    /// The network of Pods that a member claims for their export, and does not have, around one.
    pub(crate) fn refused_pods(&self, cluster: &ClusterId, network: &IpNet) -> Option<&ClaimedNetwork> {
        let own = self.standing.get(cluster)?;
        own.refused_pods.iter().find(|refused| refused.cidr.contains(network) && !own.has(network))
    }

    /// Whether nothing stands of the claim of a member, because another one has part of it.
    pub(crate) fn is_refused(&self, cluster: &ClusterId) -> bool {
        self.standing.get(cluster).is_some_and(|own| own.is_refused)
    }

    /// The same without the networks that Pods are exported in: those cost other members nothing.
    pub(crate) fn without_exported_pods(self) -> Self {
        Self { exported_pods: Ranges::default(), ..self }
    }

    /// What stands of the claim of each member.
    pub(crate) const fn all_standing(&self) -> &BTreeMap<ClusterId, Claim> {
        &self.standing
    }

    /// The Gateways of a member.
    pub fn gateways_of(&self, cluster: &ClusterId) -> impl Iterator<Item = IpAddr> {
        self.gateways.of(cluster)
    }

    /// The Gateways of each member.
    pub(crate) fn all_gateways(&self) -> BTreeMap<ClusterId, Vec<IpAddr>> {
        self.gateways.by_cluster()
    }

    /// Why `cluster` may not claim that now; nothing where it may.
    pub fn problems(&self, cluster: &ClusterId, claim: &Claim) -> Vec<ClaimRefused> {
        let unusable = claim.networks().filter(|network| unusable_part(&network.cidr).is_some());
        let mut problems: Vec<ClaimRefused> = unusable.copied().map(ClaimRefused::Unusable).collect();
        for claimed in claim.networks() {
            let overlaps = self.networks.overlapping(&claimed.cidr).filter(|(_, other)| other != cluster);
            problems.extend(overlaps.take(GIVEN).map(|(others, other)| ClaimRefused::Overlap {
                claimed: *claimed,
                cluster: other.clone(),
                others: *others,
            }));
        }
        problems
    }

    /// Why a member may not tell others of a network of its own that they do not use: part of it is another member's, who
    /// would lose what others send there.
    pub(crate) fn drawn(&self, cluster: &ClusterId, network: ClaimedNetwork) -> Option<ClaimRefused> {
        let claimed = network;
        let networks = self.networks.overlapping(&claimed.cidr);
        let all = networks.chain(self.exported_pods.overlapping(&claimed.cidr));
        let mut of_others = all.filter(|(_, other)| other != cluster).map(|(others, other)| {
            ClaimRefused::Overlap { claimed, cluster: other.clone(), others: *others }
        });
        let mut gateways = self.gateways.within(&claimed.cidr).filter(|(_, other, _)| *other != cluster);
        of_others.next().or_else(|| {
            let (address, other, joined) = gateways.next()?;
            Some(ClaimRefused::Gateway { claimed, cluster: other.clone(), address, joined })
        })
    }

    /// Gateways of other members in networks of a claim.
    pub(crate) fn gateways_in(&self, cluster: &ClusterId, claim: &Claim) -> Vec<ClaimRefused> {
        let mut problems = Vec::new();
        for claimed in claim.networks() {
            let of_others = self.gateways.within(&claimed.cidr).filter(|(_, other, _)| *other != cluster);
            problems.extend(of_others.map(|(address, other, joined)| ClaimRefused::Gateway {
                claimed: *claimed,
                cluster: other.clone(),
                address,
                joined,
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
            None => self.standing.get(cluster).map_or(Ok(()), |own| own.check_unclaimed(cluster, address)),
        }
    }

    /// Whether `cluster` may have a Gateway at this address.
    ///
    /// # Errors
    /// Why it may not.
    pub fn check_gateway(&self, cluster: &ClusterId, address: IpAddr) -> Result<(), GatewayRefused> {
        if unusable(address).is_some() {
            return Err(GatewayRefused::Unusable(address));
        }
        if let Some(owner) = self.gateways.owner(address).filter(|owner| *owner != cluster) {
            return Err(GatewayRefused::Taken { address, owner: owner.clone() });
        }
        match self.around(address).filter(|(_, owner)| owner != cluster) {
            Some((network, owner)) => {
                Err(GatewayRefused::InNetwork { address, owner: owner.clone(), network: *network })
            }
            None => Ok(()),
        }
    }

    fn accept(&mut self, cluster: &ClusterId, claim: Claim) {
        for network in claim.networks() {
            self.networks.insert(*network, cluster);
        }
        self.standing.insert(cluster.clone(), claim);
    }

    fn leave_out_gateways(&mut self) {
        let mut gateways = std::mem::take(&mut self.gateways);
        gateways.retain(|address, cluster| self.check_gateway(cluster, address).is_ok());
        self.gateways = gateways;
    }

    /// The network that contains an address, and whose it is.
    fn around(&self, address: IpAddr) -> Option<&(ClaimedNetwork, ClusterId)> {
        self.networks.around(address).or_else(|| self.exported_pods.around(address))
    }
}
