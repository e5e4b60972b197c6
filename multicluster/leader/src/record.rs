//! What the leader writes down of a member in its announce: which networks and Gateways it has, and since when. The next
//! leader, and every webhook, goes by that.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use antrea_mc_core::addresses::{Claim, since_when};
use antrea_mc_core::claims::ClaimBook;
use antrea_mc_core::ids::ClusterId;
use antrea_shared_api::multicluster::v1alpha1::{
    HeldGateway, HeldNetwork, MOST_HELD_GATEWAYS, MOST_POD_NETWORKS, MOST_WRITTEN_NETWORKS,
    MemberClusterAnnounceStatus,
};
use ipnet::IpNet;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::condition::whole_seconds;

/// How long an address stays a member's where it has no Gateway any more, and a network that it does not claim any more: both
/// may come back.
const FORMER: SignedDuration = SignedDuration::from_hours(24);

/// The Gateways of a member, each since when it was first written down, and those that it had, of which the last ones stay
/// where there are too many.
pub(crate) fn gateways(
    claims: &ClaimBook,
    cluster: &ClusterId,
    before: &[HeldGateway],
    now: Timestamp,
) -> Vec<HeldGateway> {
    let settled = claims.settled();
    let mut all: Vec<HeldGateway> =
        settled.gateways_of(cluster).map(|address| named(address, before, now)).collect();
    let former = settled.former_gateways_of(cluster).filter_map(|address| former(address, before, now));
    let mut former: Vec<HeldGateway> = former.collect();
    former.sort_by_key(|held| Reverse(held.former_since.as_ref().map(|since| since.0)));
    former.truncate(MOST_HELD_GATEWAYS.saturating_sub(all.len()));
    all.extend(former);
    all.sort_by_key(|held| held.gateway_ip.parse::<IpAddr>().ok());
    all
}

fn named(address: IpAddr, before: &[HeldGateway], now: Timestamp) -> HeldGateway {
    let since = known(address, before).map_or_else(|| whole_seconds(now), |held| held.since.clone());
    HeldGateway { gateway_ip: address.to_string(), since, former_since: None }
}

/// Nothing where the member had it for the last time long ago.
fn former(address: IpAddr, before: &[HeldGateway], now: Timestamp) -> Option<HeldGateway> {
    let known = known(address, before)?;
    let since = former_since(known.former_since.as_ref(), now)?;
    Some(HeldGateway { former_since: Some(since), ..known.clone() })
}

/// Since when something is a former one; nothing where that is long ago.
fn former_since(known: Option<&Time>, now: Timestamp) -> Option<Time> {
    let since = known.cloned().unwrap_or_else(|| whole_seconds(now));
    let is_over = now.duration_since(since.0) >= FORMER;
    (!is_over).then_some(since)
}

fn known(address: IpAddr, before: &[HeldGateway]) -> Option<&HeldGateway> {
    before.iter().find(|held| held.gateway_ip.parse() == Ok(address))
}

/// The networks of a member that others reach, each since when it, or one around it, was first written down, and those that it
/// had, of which the last ones stay where there are too many.
pub(crate) fn networks(
    claims: &ClaimBook,
    cluster: &ClusterId,
    before: &[HeldNetwork],
    now: Timestamp,
) -> Vec<HeldNetwork> {
    let known = before.iter().filter_map(|held| Some((held.cidr.parse::<IpNet>().ok()?.trunc(), held)));
    let known: BTreeMap<IpNet, &HeldNetwork> = known.collect();
    let standing = claims.settled().standing(cluster).into_iter().flat_map(Claim::networks);
    let standing: BTreeSet<IpNet> = standing.map(|network| network.cidr).collect();
    let mut all = claimed(&standing, &known, now);
    let is_former = |(cidr, _): &(&IpNet, &&HeldNetwork)| {
        !standing.contains(*cidr) && claims.settled().is_former(cluster, cidr)
    };
    let former = known.iter().filter(is_former).filter_map(|(cidr, held)| {
        let former_since = Some(former_since(held.former_since.as_ref(), now)?);
        Some((*cidr, HeldNetwork { former_since, ..(*held).clone() }))
    });
    let mut former: Vec<(IpNet, HeldNetwork)> = former.collect();
    former.sort_by_key(|(_, held)| Reverse(held.former_since.as_ref().map(|since| since.0)));
    former.truncate(MOST_WRITTEN_NETWORKS.saturating_sub(all.len()));
    all.extend(former);
    all.into_values().collect()
}

/// Networks that stand, as they are written down.
fn claimed(
    standing: &BTreeSet<IpNet>,
    known: &BTreeMap<IpNet, &HeldNetwork>,
    now: Timestamp,
) -> BTreeMap<IpNet, HeldNetwork> {
    let record = known.iter().map(|(cidr, held)| (*cidr, held.since.0)).collect();
    let since = since_when(standing.iter().copied(), &record);
    let held = |network: &IpNet| {
        let since = since.get(network).map_or_else(|| whole_seconds(now), |since| Time(*since));
        (*network, HeldNetwork { cidr: network.to_string(), since, former_since: None })
    };
    standing.iter().take(MOST_WRITTEN_NETWORKS).map(held).collect()
}

/// The networks of Pods of a member: it has them still when the next leader begins.
pub(crate) fn pod_networks(claims: &ClaimBook, cluster: &ClusterId) -> Vec<String> {
    claims.pod_networks(cluster).take(MOST_POD_NETWORKS).map(ToString::to_string).collect()
}

/// Whether something else is written down of a member than before. Lists are replaced as a whole: who adds something to
/// one would remove what another leader has added.
pub(crate) fn is_other(before: &MemberClusterAnnounceStatus, after: &MemberClusterAnnounceStatus) -> bool {
    (&before.networks, &before.gateways, &before.pod_cidrs)
        != (&after.networks, &after.gateways, &after.pod_cidrs)
}
