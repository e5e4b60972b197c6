//! CIDR overlap: an address that two clusters use leads to one of them only.

use antrea_shared_api::multicluster::v1alpha1::{ClusterInfo, EndpointIpType, MemberClusterAnnounce};
use ipnet::IpNet;

use super::finding::Finding;

const CHECK: &str = "CIDR overlap";

/// The networks of a cluster that other clusters send to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClusterNetworks {
    pub(crate) cluster: String,
    pub(crate) cidrs: Vec<IpNet>,
}

impl ClusterNetworks {
    pub(crate) fn new<'a>(cluster: &str, cidrs: impl IntoIterator<Item = &'a String>) -> Self {
        let mut cidrs: Vec<IpNet> = cidrs.into_iter().filter_map(|cidr| cidr.parse().ok()).collect();
        cidrs.sort();
        cidrs.dedup();
        Self { cluster: cluster.to_owned(), cidrs }
    }

    /// What a cluster says of itself. It names its Pods' networks only where others may send there.
    pub(crate) fn of_info(info: &ClusterInfo) -> Self {
        let service = [&info.service_cidr].into_iter().chain(&info.service_cidrs);
        Self::new(&info.cluster_id, service.chain(&info.pod_cidrs))
    }

    /// What a member claims in its announce: its Pods are sent to where they are the endpoints.
    pub(crate) fn of_announce(announce: &MemberClusterAnnounce) -> Self {
        let sends_to_pods = announce.endpoint_ip_type == Some(EndpointIpType::PodIP);
        let pods = announce.pod_cidrs.iter().filter(|_| sends_to_pods);
        Self::new(&announce.cluster_id, announce.service_cidrs.iter().chain(pods))
    }
}

/// All that several sources know of each cluster, in the order of the clusters.
pub(crate) fn merged(mut networks: Vec<ClusterNetworks>) -> Vec<ClusterNetworks> {
    networks.sort_by(|a, b| a.cluster.cmp(&b.cluster));
    networks.dedup_by(|next, kept| {
        let same = next.cluster == kept.cluster;
        if same {
            kept.cidrs.append(&mut next.cidrs);
            kept.cidrs.sort();
            kept.cidrs.dedup();
        }
        same
    });
    networks
}

/// Compares each cluster with each other one.
pub(crate) fn check(networks: &[ClusterNetworks]) -> Vec<Finding> {
    let known: Vec<&ClusterNetworks> = networks.iter().filter(|of| !of.cidrs.is_empty()).collect();
    if known.len() < 2 {
        return vec![Finding::skipped(CHECK, "fewer than two clusters say which networks they have")];
    }
    let mut findings = Vec::new();
    for (index, one) in known.iter().enumerate() {
        for other in &known[index + 1..] {
            findings.extend(overlap(one, other));
        }
    }
    if findings.is_empty() {
        let names: Vec<&str> = known.iter().map(|of| of.cluster.as_str()).collect();
        findings.push(Finding::passed(CHECK, format!("networks of {} are apart", names.join(", "))));
    }
    findings
}

fn overlap(one: &ClusterNetworks, other: &ClusterNetworks) -> Option<Finding> {
    let shared = one.cidrs.iter().find_map(|a| {
        let overlaps = |b: &&IpNet| a.contains(&b.network()) || b.contains(&a.network());
        other.cidrs.iter().find(overlaps).map(|b| (a, b))
    });
    let (a, b) = shared?;
    Some(Finding::failed(
        CHECK,
        format!("{a} of cluster {} and {b} of cluster {} overlap", one.cluster, other.cluster),
        "Give one of the clusters other networks: Services' with --service-cluster-ip-range of its API server, or leave \
         podCIDRs out of its Multi-cluster controller's configuration if Pods are not sent to directly.",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::finding::text;

    #[track_caller]
    fn check_text(clusters: &[(&str, &str)], expected: &str) {
        let networks = clusters.iter().map(|(cluster, cidrs)| {
            let cidrs: Vec<String> = cidrs.split_whitespace().map(str::to_owned).collect();
            ClusterNetworks::new(cluster, &cidrs)
        });
        let text = text(&check(&merged(networks.collect())));
        assert_eq!(
            text.lines().filter(|line| !line.starts_with("  ")).collect::<Vec<_>>().join("\n"),
            expected
        );
    }

    #[test]
    fn networks_that_are_apart_pass() {
        check_text(
            &[("east", "10.96.0.0/16 fd00:1::/108"), ("west", "10.97.0.0/16")],
            "CIDR overlap: passed: networks of east, west are apart",
        );
    }

    #[test]
    fn each_pair_that_overlaps_is_named() {
        check_text(
            &[("a", "10.96.0.0/12"), ("b", "10.100.0.0/16"), ("c", "10.11.0.0/16"), ("c", "10.100.3.0/24")],
            "CIDR overlap: FAILED: 10.96.0.0/12 of cluster a and 10.100.0.0/16 of cluster b overlap\n\
             CIDR overlap: FAILED: 10.96.0.0/12 of cluster a and 10.100.3.0/24 of cluster c overlap\n\
             CIDR overlap: FAILED: 10.100.0.0/16 of cluster b and 10.100.3.0/24 of cluster c overlap",
        );
    }

    #[test]
    fn a_cluster_alone_cannot_overlap() {
        let skipped = "CIDR overlap: skipped: fewer than two clusters say which networks they have";
        check_text(&[("a", "10.96.0.0/12"), ("b", "")], skipped);
        check_text(&[("a", "10.96.0.0/12"), ("a", "10.96.0.0/16")], skipped);
    }

    #[test]
    fn networks_of_pods_count_where_others_send_to_them() {
        let mut announce = MemberClusterAnnounce::new("mc", "a");
        announce.service_cidrs = vec!["10.96.0.0/16".to_owned()];
        announce.pod_cidrs = vec!["10.10.0.0/16".to_owned()];
        assert_eq!(ClusterNetworks::of_announce(&announce).cidrs.len(), 1);
        announce.endpoint_ip_type = Some(EndpointIpType::PodIP);
        assert_eq!(ClusterNetworks::of_announce(&announce).cidrs.len(), 2);
    }
}
