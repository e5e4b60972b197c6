//! What other clusters are told of the networks and Gateways of one: those that are its own.

use antrea_shared_api::multicluster::v1alpha1::{ClusterInfo, GatewayInfo, MOST_GATEWAYS};
use ipnet::IpNet;

use crate::addresses::{ClaimedNetwork, Claims, NetworkUse};
use crate::ids::ClusterId;
use crate::wire::{Problem, claim_of_cluster_info};

/// What is imported of the ClusterInfo of a cluster, and what is left out of it: networks that it may not have, or that are
/// another's, as long as it has any.
///
/// # Errors
/// Why nothing is imported: networks that are those of others, of a cluster that has none of its own, or nothing but Gateways
/// that are.
pub(super) fn cluster_info(
    cluster: &ClusterId,
    info: &ClusterInfo,
    claims: &Claims,
) -> Result<(ClusterInfo, Vec<String>), String> {
    let (claim, problems) = claim_of_cluster_info(info);
    let has_networks = claims.has_some(cluster);
    let is_left_out = |network: &ClaimedNetwork| has_networks || claims.is_unapproved(cluster, &network.cidr);
    let counted = claim.unwrap_or_default().without(is_left_out);
    let refused = claims.problems(cluster, &counted).into_iter().map(|refused| refused.to_string());
    let reasons: Vec<String> = problems.iter().map(Problem::to_string).chain(refused).collect();
    if !reasons.is_empty() {
        return Err(reasons.join("; "));
    }
    let mut left_out = Vec::new();
    let mut kept = info.clone();
    if kept.gateway_infos.len() > MOST_GATEWAYS {
        left_out
            .push(format!("{} Gateways are named, and {MOST_GATEWAYS} imported", kept.gateway_infos.len()));
        kept.gateway_infos.truncate(MOST_GATEWAYS);
    }
    kept.gateway_infos.retain(|gateway| keep(gateway_problem(cluster, gateway, claims), &mut left_out));
    if kept.gateway_infos.is_empty() && !info.gateway_infos.is_empty() {
        return Err(left_out.join("; "));
    }
    let problem = |network: &str, network_use| network_problem(cluster, (network, network_use), claims);
    kept.service_cidrs.retain(|network| keep(problem(network, NetworkUse::Service), &mut left_out));
    kept.pod_cidrs.retain(|network| keep(problem(network, NetworkUse::Pod), &mut left_out));
    if let Some(problem) = problem(&info.service_cidr, NetworkUse::Service) {
        if !left_out.contains(&problem) {
            left_out.push(problem);
        }
        kept.service_cidr = kept.service_cidrs.first().cloned().unwrap_or_default();
    }
    Ok((kept, left_out))
}

fn keep(problem: Option<String>, left_out: &mut Vec<String>) -> bool {
    let is_fine = problem.is_none();
    left_out.extend(problem);
    is_fine
}

/// An address that is none is somebody else's concern: agents say so.
fn gateway_problem(cluster: &ClusterId, gateway: &GatewayInfo, claims: &Claims) -> Option<String> {
    let address = gateway.gateway_ip.parse().ok()?;
    claims.check_gateway(cluster, address).err().map(|refused| refused.to_string())
}

/// Why others are not told of a network. A member that has announced networks tells of these alone; of those that
/// others do not use, only while nobody else has part of them; and of none that needs an admin's approval and lacks it.
fn network_problem(
    cluster: &ClusterId,
    (network, network_use): (&str, NetworkUse),
    claims: &Claims,
) -> Option<String> {
    let network: IpNet = network.parse().ok()?;
    if claims.is_unapproved(cluster, &network) {
        return Some(format!("no admin of the leader has bound {network} to cluster {cluster}"));
    }
    if let Some(refused) = claims.refused_pods(cluster, &network) {
        return Some(format!("{network} is in {refused}, which cluster {cluster} does not have"));
    }
    let own = claims.standing(cluster)?;
    if own.exported().any(|own| own.cidr.contains(&network)) {
        return None;
    }
    let told = ClaimedNetwork { network_use, cidr: network.trunc() };
    let drawn = claims.drawn(cluster, told).map(|problem| problem.to_string());
    if own.has(&network) {
        return drawn;
    }
    Some(drawn.unwrap_or_else(|| format!("{network} is in no network that cluster {cluster} has announced")))
}
