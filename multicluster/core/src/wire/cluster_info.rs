//! The networks that a member claims, in its announce and in its ClusterInfo.

use std::collections::BTreeSet;

use antrea_shared_api::multicluster::v1alpha1 as api;
use api::MOST_NAMED_NETWORKS;
use ipnet::IpNet;

use super::Problem;
use crate::addresses::{Claim, EndpointAddresses, PodConnectivity};

/// What a member claims in its announce; nothing where it names no network, as upstream members do. Networks of Pods are
/// claimed as those of Services where its endpoints are Pods, or `pods` says that they are reached otherwise; for the export
/// of Pods alone where neither is so, and where its Nodes name them.
pub fn claim_of_announce(
    announce: &api::MemberClusterAnnounce,
    pods: PodConnectivity,
) -> (Option<Claim>, Vec<Problem>) {
    let mut problems = Vec::new();
    let services = read(&announce.service_cidrs, "serviceCIDRs", &mut problems);
    let pod_cidrs = read(&announce.pod_cidrs, "podCIDRs", &mut problems);
    let of_nodes = read(&announce.node_pod_cidrs, "nodePodCIDRs", &mut problems);
    let named = [&announce.service_cidrs, &announce.pod_cidrs, &announce.node_pod_cidrs];
    if named.iter().all(|networks| networks.is_empty()) {
        return (None, problems);
    }
    let endpoints = match announce.endpoint_ip_type {
        Some(api::EndpointIpType::PodIP) => EndpointAddresses::PodIps,
        _ => EndpointAddresses::ClusterIps,
    };
    let claim = Claim::new(&services, &pod_cidrs, endpoints, pods).and_exported_pods(&of_nodes);
    (Some(claim), problems)
}

/// What a member claims by its ClusterInfo, whose announce claims nothing: all networks in it are reached by others, whether
/// they stand in the list or in upstream's one field.
pub fn claim_of_cluster_info(info: &api::ClusterInfo) -> (Option<Claim>, Vec<Problem>) {
    let mut problems = Vec::new();
    let mut services = read(&info.service_cidrs, "spec.clusterInfo.serviceCIDRs", &mut problems);
    if !info.service_cidr.is_empty() {
        let first = network(&info.service_cidr, "spec.clusterInfo.serviceCIDR", &mut problems);
        services.extend(first.map(|first| first.trunc()).filter(|first| !services.contains(first)));
    }
    let pods = read(&info.pod_cidrs, "spec.clusterInfo.podCIDRs", &mut problems);
    let claim = Claim::new(&services, &pods, EndpointAddresses::ClusterIps, PodConnectivity::On);
    ((!services.is_empty() || !pods.is_empty()).then_some(claim), problems)
}

/// Each network once. What is beyond the most that a member may name is nobody's.
fn read(texts: &[String], path: &str, problems: &mut Vec<Problem>) -> Vec<IpNet> {
    let mut seen = BTreeSet::new();
    let named = texts.iter().take(MOST_NAMED_NETWORKS).enumerate();
    let networks = named.filter_map(|(index, text)| network(text, &format!("{path}[{index}]"), problems));
    networks.map(|network| network.trunc()).filter(|network| seen.insert(*network)).collect()
}

fn network(text: &str, path: &str, problems: &mut Vec<Problem>) -> Option<IpNet> {
    let network = text.parse().ok();
    if network.is_none() {
        problems.push(Problem::new(path, format_args!("{text:?} is no network, as 10.0.0.0/16")));
    }
    network
}
