//! The networks and Gateways that members claim: networks in their announces, or else, as upstream members do, in their
//! ClusterInfo, where all Gateways are.

mod foreseen;
mod said;
#[cfg(test)]
mod tests;
mod unapproved;

use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;

use crate::addresses::{BoundNetworks, Claim, Claims, GatewayBindings, Refused};
use crate::bindings::{Approval, GatewayBinding};
use crate::ids::ClusterId;

pub use foreseen::Foreseen;
use said::Said;
pub use said::{Networks, recorded, to_be_held};
pub use unapproved::Unapproved;

/// The most refusals of one member that its neighbours are told.
const TOLD_TO_OWNERS: usize = 64;

/// What all members claim.
#[derive(Clone, Debug, Default)]
pub struct ClaimBook {
    said: BTreeMap<ClusterId, Said>,
    /// Where admins say that Gateways may be, also those of clusters that are no members yet.
    bound: BTreeMap<ClusterId, GatewayBinding>,
    /// And which networks they have bound to clusters.
    bound_networks: BTreeMap<ClusterId, Vec<IpNet>>,
    settled: Claims,
    /// What each member is told of claims that do not stand: its own, and those of others for what it has.
    refused: Told,
    contested: Told,
    unapproved: BTreeMap<ClusterId, Unapproved>,
    /// Whether members have said something else since claims were settled.
    is_outdated: bool,
}

/// Sentences about claims that do not stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Objections {
    /// Of networks.
    pub networks: Vec<String>,
    /// Of networks of Pods that are exported and not reached otherwise.
    pub pods: Vec<String>,
    /// Of Gateways.
    pub gateways: Vec<String>,
}

/// What is different once claims are settled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Concerned {
    /// Clusters whose networks, or those that they had a short time ago, are others than before.
    pub networks: BTreeSet<ClusterId>,
    /// Clusters whose Gateways are others than before.
    pub gateways: BTreeSet<ClusterId>,
    /// Clusters that are told something else.
    pub told: BTreeSet<ClusterId>,
}

impl ClaimBook {
    /// Who may export what.
    pub const fn settled(&self) -> &Claims {
        &self.settled
    }

    /// What does not stand of a member's claims.
    pub fn refused(&self, cluster: &ClusterId) -> Option<&Objections> {
        self.refused.get(cluster)
    }

    /// What is refused to others, as a member has it.
    pub fn contested(&self, cluster: &ClusterId) -> Option<&Objections> {
        self.contested.get(cluster)
    }

    /// The networks that a member has for its Pods: where others reach them, or it exports some in them.
    pub fn pod_networks(&self, cluster: &ClusterId) -> impl Iterator<Item = &IpNet> {
        self.settled.standing(cluster).into_iter().flat_map(Claim::pod_networks)
    }

    /// Why a member does not have some of the networks that it names for the export of Pods alone; nothing where it names
    /// none, or where no network of it stands.
    pub fn refused_pods(&self, cluster: &ClusterId) -> Option<&[String]> {
        let claim = self.said.get(cluster).and_then(|said| said.networks.as_ref());
        let names_some = claim.is_some_and(|claim| claim.payload.names_exported_pods());
        let refused = || self.refused(cluster).map(|refused| refused.pods.as_slice()).unwrap_or_default();
        (names_some && !self.settled.is_refused(cluster)).then(refused)
    }

    /// Networks of a member that no admin has bound to it, where it needs that; nothing where it does not.
    pub fn unapproved(&self, cluster: &ClusterId) -> Option<&Unapproved> {
        self.unapproved.get(cluster)
    }

    /// Takes in what a cluster says of itself, and which networks it may have. Nothing is different before claims are
    /// settled.
    pub fn update(&mut self, cluster: &ClusterId, networks: Networks<'_>, approval: Approval) {
        let bound = approval.binding.gateways.clone();
        let bound = Some(bound).filter(|bound| *bound != GatewayBinding::default());
        let bound_networks = approval.binding.networks.clone();
        let bound_networks = Some(bound_networks).filter(|networks| !networks.is_empty());
        let said = Said::new(cluster, networks, approval);
        self.is_outdated |= set(&mut self.bound, cluster, bound)
            | set(&mut self.bound_networks, cluster, bound_networks)
            | set(&mut self.said, cluster, said);
    }

    /// Whether nobody has said anything else since claims were settled, as no heartbeat does.
    pub const fn is_settled(&self) -> bool {
        !self.is_outdated
    }

    /// Decides who has what, unless that is known; says what is different.
    pub fn settle(&mut self) -> Concerned {
        if !std::mem::take(&mut self.is_outdated) {
            return Concerned::default();
        }
        let (settled, refused) = settle(self.said.values(), &self.bound);
        let (refused, contested) = self.objections(refused);
        let bound = BoundNetworks::of(&self.bound_networks);
        let of_member = |(cluster, said): (&ClusterId, &Said)| {
            Some((cluster.clone(), Unapproved::of(cluster, said, &settled, &bound)?))
        };
        let unapproved: BTreeMap<ClusterId, Unapproved> = self.said.iter().filter_map(of_member).collect();
        let mut told = &differing(&self.refused, &refused) | &differing(&self.contested, &contested);
        told.extend(differing(&self.unapproved, &unapproved));
        let concerned = Concerned {
            networks: &differing(self.settled.all_standing(), settled.all_standing())
                | &differing(&self.settled.all_former(), &settled.all_former()),
            gateways: differing(&self.settled.all_gateways(), &settled.all_gateways()),
            told,
        };
        (self.settled, self.refused, self.contested) = (settled, refused, contested);
        self.unapproved = unapproved;
        concerned
    }

    /// Whether what a member exports depends on the networks of others: it has none of its own, or tells of further ones.
    pub fn depends_on_others(&self, cluster: &ClusterId) -> bool {
        let Some(standing) = self.settled.standing(cluster) else { return true };
        let mut told = self.said.get(cluster).map(|said| said.told.as_slice()).unwrap_or_default().iter();
        let claimed = |network: &IpNet| standing.exported().any(|claimed| claimed.cidr.contains(network));
        standing.exported().next().is_none() || !told.all(claimed)
    }

    fn objections(&self, refused: Refused) -> (Told, Told) {
        let unreadable = |(cluster, said): (&ClusterId, &Said)| {
            let (networks, gateways) = (&said.unreadable, &said.approval.binding.gateways.unreadable);
            let objections = Objections {
                networks: networks.clone(),
                gateways: gateways.clone(),
                ..Objections::default()
            };
            (objections != Objections::default()).then(|| (cluster.clone(), objections))
        };
        let mut reasons: Told = self.said.iter().filter_map(unreadable).collect();
        let mut contested = Told::new();
        for (cluster, refused) in refused.networks {
            let told = refused.iter().take(TOLD_TO_OWNERS);
            for (owner, told) in told.filter_map(|problem| problem.told_to_owner(&cluster)) {
                contested.entry(owner.clone()).or_default().networks.push(told);
            }
            let own = refused.iter().map(ToString::to_string);
            reasons.entry(cluster).or_default().networks.extend(own);
        }
        for (cluster, refused) in refused.pods {
            let own = refused.iter().map(ToString::to_string);
            reasons.entry(cluster).or_default().pods.extend(own);
        }
        for (cluster, refused) in refused.gateways {
            let told = refused.iter().take(TOLD_TO_OWNERS);
            for (owner, told) in told.filter_map(|problem| problem.told_to_owner(&cluster)) {
                contested.entry(owner.clone()).or_default().gateways.push(told);
            }
            let own = refused.iter().map(ToString::to_string);
            reasons.entry(cluster).or_default().gateways.extend(own);
        }
        (reasons, contested)
    }
}

type Told = BTreeMap<ClusterId, Objections>;

/// Puts a value in the place of the one that is there. Whether it is another one.
fn set<T: PartialEq>(values: &mut BTreeMap<ClusterId, T>, cluster: &ClusterId, value: Option<T>) -> bool {
    if values.get(cluster) == value.as_ref() {
        return false;
    }
    match value {
        Some(value) => drop(values.insert(cluster.clone(), value)),
        None => drop(values.remove(cluster)),
    }
    true
}

/// Settles the claims of members.
fn settle<'a>(
    said: impl Iterator<Item = &'a Said>,
    bound: &BTreeMap<ClusterId, GatewayBinding>,
) -> (Claims, Refused) {
    let (mut networks, mut former, mut gateways) = (Vec::new(), Vec::new(), Vec::new());
    for said in said {
        networks.extend(&said.networks);
        former.extend(said.former.iter().cloned());
        gateways.extend(said.gateways.iter().cloned());
    }
    Claims::settle(&networks, &former, &gateways, &GatewayBindings::of(bound))
}

/// The keys of what is not the same in both.
fn differing<T: PartialEq>(
    old: &BTreeMap<ClusterId, T>,
    new: &BTreeMap<ClusterId, T>,
) -> BTreeSet<ClusterId> {
    let keys = old.keys().chain(new.keys());
    keys.filter(|key| old.get(*key) != new.get(*key)).cloned().collect()
}
