//! Addresses and networks in ResourceExports: those of the exporter, and never those of others. Networks of a ClusterInfo that
//! the leader leaves out by itself are let in, because its Gateways have to be.

use std::collections::BTreeSet;
use std::net::IpAddr;

use antrea_mc_core::addresses::ClaimRefused;
use antrea_mc_core::claims::{Foreseen, Networks};
use antrea_mc_core::ids::ClusterId;
use antrea_shared_api::multicluster::v1alpha1::{ClusterInfo, ExportedEndpoints, ResourceExport};

use crate::area::Area;
use crate::denied::{Denied, forbid};

/// The most reasons that are told.
const TOLD: usize = 16;

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
        let (claims, announce) = (area.claims()?, area.announce_of(cluster));
        let (written, approval) = (as_it_will_be(old, new), area.approval_of(cluster));
        let of = |info| Networks::of(announce, info);
        let foreseen = claims.foresee(cluster, &approval, of(old), of(Some(&written)));
        refuse(&foreseen.refused_info())?;
        gateways_are_not_of_others(old, info, &foreseen)?;
    }
    Ok(())
}

/// # Errors
/// Where there is a problem.
pub(super) fn refuse(problems: &[ClaimRefused]) -> Result<(), Denied> {
    match problems {
        [] => Ok(()),
        problems => {
            forbid(problems.iter().take(TOLD).map(ToString::to_string).collect::<Vec<_>>().join("; "))
        }
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

/// Tunnels to a Gateway go to its Node, never to a Pod or Service of another cluster. What was there before is not looked at
/// again, so that a Gateway can be replaced.
fn gateways_are_not_of_others(
    old: Option<&ResourceExport>,
    info: &ClusterInfo,
    foreseen: &Foreseen<'_>,
) -> Result<(), Denied> {
    let before = old.and_then(|old| old.spec.cluster_info.as_ref()).map(gateways).unwrap_or_default();
    let mut added = gateways(info).into_iter().filter(|gateway| !before.contains(gateway));
    let foreign = added.find_map(|gateway| foreseen.refused_gateway(gateway));
    foreign.map_or(Ok(()), |problem| forbid(format!("gateway {problem}")))
}

fn gateways(info: &ClusterInfo) -> BTreeSet<IpAddr> {
    info.gateway_infos.iter().filter_map(|gateway| gateway.gateway_ip.parse().ok()).collect()
}

/// The API server says how old it is.
fn as_it_will_be(old: Option<&ResourceExport>, new: &ResourceExport) -> ResourceExport {
    let mut written = new.clone();
    written.metadata.creation_timestamp = old.and_then(|old| old.metadata.creation_timestamp.clone());
    written
}
