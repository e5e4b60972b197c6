//! Addresses and networks in ResourceExports: those of the exporter, and never those of others.

use std::collections::BTreeSet;
use std::net::IpAddr;

use antrea_mc_core::addresses::{AddressRefused, ClaimRefused, Claims, NetworkUse};
use antrea_mc_core::claims::{Networks, new_problems};
use antrea_mc_core::ids::ClusterId;
use antrea_mc_core::wire::claim_of_cluster_info;
use antrea_shared_api::multicluster::v1alpha1::{
    ClusterInfo, ExportedEndpoints, MemberClusterAnnounce, ResourceExport,
};
use ipnet::IpNet;

use crate::area::Area;
use crate::denied::{Denied, forbid};

/// # Errors
/// Where the export has addresses that are not the member's. What it had before is not looked at again: the leader
/// leaves out what it may not have.
pub(super) fn review(
    old: Option<&ResourceExport>,
    new: &ResourceExport,
    cluster: &ClusterId,
    area: &Area,
) -> Result<(), Denied> {
    if let Some(endpoints) = &new.spec.endpoints {
        let before = old.and_then(|old| old.spec.endpoints.as_ref()).map(addresses).unwrap_or_default();
        let claims = area.claims()?.settled();
        let problem = addresses(endpoints)
            .difference(&before)
            .find_map(|address| claims.check(cluster, *address).err());
        problem.map_or(Ok(()), |problem| forbid(problem.to_string()))?;
    }
    if let Some(info) = &new.spec.cluster_info {
        let others = area.claims()?.settled_without(cluster);
        claims_nothing_of_others(old, new, cluster, &others, area)?;
        is_announced(old, info, area.announce_of(cluster))?;
        gateways_are_not_of_others(info, cluster, &others)?;
    }
    Ok(())
}

/// # Errors
/// Where there is a problem.
pub(super) fn refuse(problems: &[ClaimRefused]) -> Result<(), Denied> {
    match problems {
        [] => Ok(()),
        problems => forbid(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
    }
}

fn addresses(endpoints: &ExportedEndpoints) -> BTreeSet<IpAddr> {
    let subsets = endpoints.subsets.iter().flat_map(|subset| {
        let listed = [&subset.addresses, &subset.not_ready_addresses];
        listed.into_iter().flatten().flatten().map(|address| address.ip.as_str())
    });
    let slices = endpoints.endpoint_slices.iter().flat_map(|slice| &slice.endpoints);
    let of_slices = slices.flat_map(|endpoint| endpoint.addresses.iter().map(String::as_str));
    // What is none was found when the object was validated.
    subsets.chain(of_slices).filter_map(|text| text.parse().ok()).collect()
}

/// As a claim of the member, and each network on its own: routes to them are made whatever the member exports. Those of Pods
/// that its Nodes name the leader leaves out where another member has them.
fn claims_nothing_of_others(
    old: Option<&ResourceExport>,
    new: &ResourceExport,
    cluster: &ClusterId,
    others: &Claims,
    area: &Area,
) -> Result<(), Denied> {
    let announce = area.announce_of(cluster);
    let with = |announce, info| Networks { announce, info };
    refuse(&new_problems(others, cluster, with(announce, old), with(announce, Some(new))))?;
    let of_nodes = parsed(announce.into_iter().flat_map(|announce| &announce.node_pod_cidrs));
    let mut problems = new_problems(others, cluster, with(None, old), with(None, Some(new)));
    problems.retain(|problem| {
        let claimed = problem.claimed();
        claimed.network_use == NetworkUse::Service || !of_nodes.iter().any(|of| of.contains(&claimed.cidr))
    });
    refuse(&problems)
}

fn parsed<'a>(cidrs: impl Iterator<Item = &'a String>) -> Vec<IpNet> {
    cidrs.filter_map(|cidr| cidr.parse().ok()).collect()
}

/// A member that has announced networks tells others of no more than these.
fn is_announced(
    old: Option<&ResourceExport>,
    info: &ClusterInfo,
    announce: Option<&MemberClusterAnnounce>,
) -> Result<(), Denied> {
    let announced = parsed(announce.into_iter().flat_map(|announce| {
        announce.service_cidrs.iter().chain(&announce.pod_cidrs).chain(&announce.node_pod_cidrs)
    }));
    if announced.is_empty() {
        return Ok(());
    }
    let before = old.and_then(|old| old.spec.cluster_info.as_ref()).map(networks).unwrap_or_default();
    let is_foreign = |network: &&IpNet| !announced.iter().any(|announced| announced.contains(*network));
    match networks(info).difference(&before).find(is_foreign) {
        Some(network) => {
            forbid(format!("{network} is in no network that cluster {} has announced", info.cluster_id))
        }
        None => Ok(()),
    }
}

fn networks(info: &ClusterInfo) -> BTreeSet<IpNet> {
    let (claim, _) = claim_of_cluster_info(info);
    let claim = claim.unwrap_or_default();
    claim.networks().map(|network| network.cidr).collect()
}

/// Tunnels to a Gateway go to its Node, never to a Pod or Service of another cluster.
fn gateways_are_not_of_others(
    info: &ClusterInfo,
    cluster: &ClusterId,
    others: &Claims,
) -> Result<(), Denied> {
    let addresses = info.gateway_infos.iter().filter_map(|gateway| gateway.gateway_ip.parse().ok());
    let foreign = addresses.map(|address| others.check(cluster, address)).find_map(|checked| match checked {
        Err(problem @ AddressRefused::Foreign { .. }) => Some(problem),
        _ => None,
    });
    foreign.map_or(Ok(()), |problem| forbid(format!("gateway {problem}")))
}
