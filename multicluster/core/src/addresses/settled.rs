//! What stands of the claims of all members: who has which networks and Gateways.

use std::collections::BTreeMap;
use std::net::IpAddr;

use antrea_shared_api::addresses::{unusable, unusable_part};
use ipnet::IpNet;

use super::gateways::Gateways;
use super::order::{Item, What};
use super::pods::KnownPods;
use super::ranges::Ranges;
use super::{
    AddressRefused, Claim, ClaimRefused, ClaimedNetwork, FormerNetwork, GatewayBindings, GatewayClaim,
    GatewayRefused, HeldGateway,
};
use crate::export::{Export, by_age};
use crate::ids::ClusterId;

/// The most reasons that are given why a member may not have a network.
pub(super) const GIVEN: usize = 16;

/// The networks of all members that have announced some, and the Gateways of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// What stands of each claim.
    pub(super) standing: BTreeMap<ClusterId, Claim>,
    /// The same networks, but for those of Pods that are exported and not reached otherwise.
    pub(super) networks: Ranges<ClaimedNetwork>,
    /// And these.
    pub(super) exported_pods: Ranges<ClaimedNetwork>,
    /// Networks that members had a short time ago. They export nothing in these. No other member has them, or a Gateway
    /// in them.
    pub(super) former: Ranges<IpNet>,
    pub(super) gateways: Gateways,
    /// Where admins say that Gateways may be.
    bindings: GatewayBindings,
}

/// What is refused of the claims, by the claimant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Networks that others would use.
    pub networks: BTreeMap<ClusterId, Vec<ClaimRefused>>,
    /// Networks of Pods that are exported and not reached otherwise.
    pub pods: BTreeMap<ClusterId, Vec<ClaimRefused>>,
    /// Gateways.
    pub gateways: BTreeMap<ClusterId, Vec<GatewayRefused>>,
}

impl Claims {
    /// The claims of all members, and what is refused of them. No two members have one address, be it in a network or a
    /// Gateway's: what comes first in their order stands. A member of whose networks none stands is not taken for one that
    /// claims nothing. Networks that are claimed for the export of Pods alone come after all others, each
    /// for itself; Gateways that are in such a network, which was there before, come after that.
    pub fn settle(
        claims: &[&Export<Claim>],
        former: &[FormerNetwork],
        gateways: &[GatewayClaim],
        bindings: &GatewayBindings,
    ) -> (Self, Refused) {
        let by_age = by_age(claims);
        let mut settled = Self { bindings: bindings.clone(), ..Self::default() };
        let pods = KnownPods::of(&by_age);
        let may_be = |claim: &&GatewayClaim| {
            unusable(claim.address).is_none() && bindings.check(&claim.cluster, claim.address).is_ok()
        };
        let (late, early): (Vec<&GatewayClaim>, Vec<&GatewayClaim>) =
            gateways.iter().filter(may_be).partition(|claim| pods.are_around(claim, bindings));
        let networks = by_age.iter().flat_map(|claim| claim.payload.items(&claim.cluster, claim.created));
        let gateways_first = early.into_iter().map(|claim| claim.item(bindings));
        let former = former.iter().map(FormerNetwork::item);
        settled.look_at(networks.chain(former).chain(gateways_first).collect());
        for claim in &by_age {
            let standing = claim.payload.standing(|network| settled.has(&claim.cluster, network));
            settled.standing.insert(claim.cluster.clone(), standing);
        }
        settled.settle_pods(&by_age);
        settled.look_at(late.into_iter().map(|claim| claim.item(bindings)).collect());
        let refused = Refused {
            networks: settled.refused_networks(&by_age),
            pods: settled.refused_exports_of_pods(),
            gateways: settled.refused_gateways(gateways),
        };
        (settled, refused)
    }

    /// Gives members what goes together with what is given already, in the order of the ranks.
    fn look_at(&mut self, mut items: Vec<Item<'_>>) {
        items.sort_by_key(|item| item.rank);
        for Item { rank, what } in items {
            match what {
                What::Networks(networks) => {
                    if networks.iter().all(|network| self.has_room_for(rank.cluster, network)) {
                        networks.iter().for_each(|network| self.networks.insert(*network, rank.cluster));
                    }
                }
                What::Former(network) => self.keep_former(rank.cluster, network),
                What::Gateway(address, is_named) => {
                    // What is written down stays: leaders of the version before gave it to the member.
                    let is_free = !rank.is_new || self.former_around_gateway(rank.cluster, address).is_none();
                    if is_free && self.has_room_for_gateway(rank.cluster, address) {
                        self.gateways.insert(address, rank.cluster, is_named);
                    }
                }
            }
        }
    }

    fn has_room_for(&self, cluster: &ClusterId, network: &ClaimedNetwork) -> bool {
        unusable_part(&network.cidr).is_none()
            && self.networks.overlapping(&network.cidr).all(|(_, other)| other == cluster)
            && self.former.overlapping(&network.cidr).all(|(_, other)| other == cluster)
            && self.gateways.within(&network.cidr).all(|(_, other)| other == cluster)
    }

    fn has_room_for_gateway(&self, cluster: &ClusterId, address: IpAddr) -> bool {
        self.gateways.holder(address).is_none_or(|held| held.cluster == *cluster)
            && self.around(address).is_none_or(|(_, owner)| owner == cluster)
    }

    /// The network around a Gateway that another member had a short time ago, and may claim again. An admin may bind
    /// one there.
    fn former_around_gateway(&self, cluster: &ClusterId, address: IpAddr) -> Option<&(IpNet, ClusterId)> {
        let former = self.former.around(address).filter(|(_, owner)| owner != cluster);
        former.filter(|_| !self.bindings.is_bound(cluster, address))
    }

    /// Whether a member has a network that others use.
    pub(crate) fn has(&self, cluster: &ClusterId, network: &ClaimedNetwork) -> bool {
        self.networks.is_of(cluster, &network.cidr)
    }

    fn refused_networks(&self, claims: &[&Export<Claim>]) -> BTreeMap<ClusterId, Vec<ClaimRefused>> {
        let of_claim = |claim: &&Export<Claim>| {
            let claimed = claim.payload.networks();
            let fallen: Vec<ClaimedNetwork> =
                claimed.filter(|network| !self.has(&claim.cluster, network)).copied().collect();
            let problems = self.all_problems(&claim.cluster, &fallen);
            (!problems.is_empty()).then(|| (claim.cluster.clone(), problems))
        };
        claims.iter().filter_map(of_claim).collect()
    }

    fn refused_gateways(&self, claims: &[GatewayClaim]) -> BTreeMap<ClusterId, Vec<GatewayRefused>> {
        let mut refused = BTreeMap::<ClusterId, Vec<GatewayRefused>>::new();
        for claim in claims.iter().filter(|claim| claim.is_named) {
            if let Err(problem) = self.check_gateway(&claim.cluster, claim.address) {
                refused.entry(claim.cluster.clone()).or_default().push(problem);
            }
        }
        refused
    }

    /// What stands of the claim of a member; nothing where it claims nothing.
    pub fn standing(&self, cluster: &ClusterId) -> Option<&Claim> {
        self.standing.get(cluster)
    }

    /// Whether a network is in one that the member claims and may not have.
    pub(crate) fn is_unapproved(&self, cluster: &ClusterId, network: &IpNet) -> bool {
        let is_in = |unapproved: &ClaimedNetwork| unapproved.cidr.contains(network);
        let own = self.standing.get(cluster).filter(|own| !own.has(network));
        own.is_some_and(|own| own.unapproved.iter().chain(&own.unneeded).any(is_in))
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

    /// Whether a member claims networks, of which some stand or none needed to. What it may not have is then left out of its
    /// ClusterInfo, network by network.
    pub(crate) fn has_some(&self, cluster: &ClusterId) -> bool {
        self.standing(cluster).is_some() && !self.is_refused(cluster)
    }

    /// The claims without the networks that Pods are exported in: those cost other members nothing.
    pub(crate) fn without_exported_pods(self) -> Self {
        Self { exported_pods: Ranges::default(), ..self }
    }

    /// What stands of the claim of each member.
    pub(crate) const fn all_standing(&self) -> &BTreeMap<ClusterId, Claim> {
        &self.standing
    }

    /// The Gateways of a member.
    pub fn gateways_of(&self, cluster: &ClusterId) -> impl Iterator<Item = IpAddr> {
        self.gateways.of(cluster, true)
    }

    /// Where a member had Gateways, and no other one may have any.
    pub fn former_gateways_of(&self, cluster: &ClusterId) -> impl Iterator<Item = IpAddr> {
        self.gateways.of(cluster, false)
    }

    /// Whether a member has, or had, a Gateway at an address.
    pub(crate) fn has_address(&self, cluster: &ClusterId, address: IpAddr) -> bool {
        self.gateways.holder(address).is_some_and(|held| held.cluster == *cluster)
    }

    /// The Gateways of each member, that it has or had.
    pub(crate) fn all_gateways(&self) -> BTreeMap<ClusterId, Vec<(IpAddr, HeldGateway)>> {
        self.gateways.by_cluster()
    }

    /// Why `cluster` may not claim that now, as far as networks of others are concerned; nothing where it may.
    pub fn problems(&self, cluster: &ClusterId, claim: &Claim) -> Vec<ClaimRefused> {
        let claimed: Vec<ClaimedNetwork> = claim.networks().copied().collect();
        self.problems_with(cluster, &claimed)
    }

    fn problems_with(&self, cluster: &ClusterId, networks: &[ClaimedNetwork]) -> Vec<ClaimRefused> {
        let unusable = networks.iter().filter(|network| unusable_part(&network.cidr).is_some());
        let unusable = unusable.copied().map(ClaimRefused::Unusable);
        let former = networks.iter().flat_map(|network| self.former_of_others(cluster, *network));
        let overlaps = networks.iter().flat_map(|network| self.overlaps(cluster, *network));
        unusable.chain(overlaps).chain(former).collect()
    }

    /// The same, and Gateways of other members in these networks.
    pub(crate) fn all_problems(&self, cluster: &ClusterId, networks: &[ClaimedNetwork]) -> Vec<ClaimRefused> {
        let mut problems = self.problems_with(cluster, networks);
        problems.extend(networks.iter().flat_map(|network| self.gateways_in(cluster, *network)));
        problems
    }

    /// Why a member may not tell others of a network of its own that they do not use: part of it is another member's, who
    /// would lose what others send there.
    pub(crate) fn drawn(&self, cluster: &ClusterId, claimed: ClaimedNetwork) -> Option<ClaimRefused> {
        let pods = self.exported_pods.overlapping(&claimed.cidr);
        let pods = overlaps(pods, cluster, claimed);
        let former = self.former_of_others(cluster, claimed);
        let gateways = self.gateways_in(cluster, claimed);
        self.overlaps(cluster, claimed).chain(pods).chain(former).chain(gateways).next()
    }

    /// Why an admin had better not bind a network to a member: another one has part of it, or no cluster can have it.
    pub(crate) fn not_to_be_bound(
        &self,
        cluster: &ClusterId,
        claimed: ClaimedNetwork,
    ) -> Option<ClaimRefused> {
        let unusable = unusable_part(&claimed.cidr).map(|_| ClaimRefused::Unusable(claimed));
        unusable.or_else(|| self.drawn(cluster, claimed))
    }

    fn overlaps<'a>(
        &'a self,
        cluster: &'a ClusterId,
        claimed: ClaimedNetwork,
    ) -> impl Iterator<Item = ClaimRefused> + 'a {
        overlaps(self.networks.overlapping(&claimed.cidr), cluster, claimed).take(GIVEN)
    }

    /// Gateways of other members in a network.
    pub(super) fn gateways_in<'a>(
        &'a self,
        cluster: &'a ClusterId,
        claimed: ClaimedNetwork,
    ) -> impl Iterator<Item = ClaimRefused> + 'a {
        let of_others = self.gateways.within(&claimed.cidr).filter(move |(_, other)| *other != cluster);
        of_others.take(GIVEN).map(move |(address, other)| ClaimRefused::Gateway {
            claimed,
            cluster: other.clone(),
            address,
        })
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
            None => match self.standing.get(cluster) {
                Some(own) => own.check_unclaimed(cluster, address),
                None => self.check_former(cluster, address),
            },
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
        self.bindings.check(cluster, address)?;
        let holder = self.gateways.holder(address);
        if let Some(held) = holder.filter(|held| held.cluster != *cluster) {
            let owner = held.cluster.clone();
            return Err(match held.is_named {
                true => GatewayRefused::Taken { address, owner },
                false => GatewayRefused::Former { address, owner },
            });
        }
        if let Some((network, owner)) = self.around(address).filter(|(_, owner)| owner != cluster) {
            return Err(GatewayRefused::InNetwork { address, owner: owner.clone(), network: *network });
        }
        // A Gateway that the member has stays until the network is claimed again.
        match self.former_around_gateway(cluster, address).filter(|_| holder.is_none()) {
            Some((network, owner)) => {
                Err(GatewayRefused::InFormer { address, owner: owner.clone(), network: *network })
            }
            None => Ok(()),
        }
    }

    /// The network that contains an address, and whose it is.
    fn around(&self, address: IpAddr) -> Option<&(ClaimedNetwork, ClusterId)> {
        self.networks.around(address).or_else(|| self.exported_pods.around(address))
    }
}

/// Networks of other members among these, which overlap what `cluster` claims.
pub(super) fn overlaps<'a>(
    networks: impl Iterator<Item = &'a (ClaimedNetwork, ClusterId)>,
    cluster: &'a ClusterId,
    claimed: ClaimedNetwork,
) -> impl Iterator<Item = ClaimRefused> {
    let of_others = networks.filter(move |(_, other)| other != cluster);
    of_others.map(move |(others, other)| ClaimRefused::Overlap {
        claimed,
        cluster: other.clone(),
        others: *others,
    })
}
