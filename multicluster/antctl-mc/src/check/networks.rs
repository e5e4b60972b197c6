//! CIDR overlap: an address that two clusters use leads to one of them only.

use antrea_shared_api::addresses::overlap;
use antrea_shared_api::multicluster::v1alpha1::{ClusterInfo, EndpointIpType, MemberClusterAnnounce};
use ipnet::IpNet;

use super::finding::Finding;

const CHECK: &str = "CIDR overlap";

/// The networks of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClusterNetworks {
    pub(crate) cluster: String,
    /// Those that other clusters send to.
    cidrs: Vec<IpNet>,
    /// Those that it names for the export of Pods alone.
    pods: Vec<IpNet>,
    /// Of these, what its Nodes name, wherever else it tells of them.
    of_nodes: Vec<IpNet>,
    /// Those of Services that others need not reach, since Pods are the endpoints.
    unused: Vec<IpNet>,
    /// Those that the leader has written down as its own.
    written: Vec<IpNet>,
}

impl ClusterNetworks {
    pub(crate) fn new<'a>(cluster: &str, cidrs: impl IntoIterator<Item = &'a String>) -> Self {
        Self { cluster: cluster.to_owned(), cidrs: parsed(cidrs), ..Self::default() }
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<IpNet> {
        sorted([self.cidrs.as_slice(), &self.pods].concat())
    }

    /// Whether others need not reach a network.
    pub(crate) fn is_unused(&self, network: &IpNet) -> bool {
        self.unused.contains(network)
    }

    /// What of all that the cluster names it has, as far as the leader has written that down; where it has written down nothing,
    /// as leaders of the version before do, it may have all that others use.
    pub(crate) fn had(&self) -> Vec<IpNet> {
        let mut named = self.all();
        named.retain(|network| !self.is_unused(network));
        if self.written.is_empty() {
            return named;
        }
        let is_named = |had: &&IpNet| named.iter().any(|named| named.contains(*had));
        self.written.iter().filter(is_named).copied().collect()
    }

    /// That another cluster names part of a network, or has it. One that the leader has written down as that of this
    /// cluster is no other's.
    pub(crate) fn of_another(&self, network: &IpNet, all: &[Self]) -> Option<String> {
        if self.written.iter().any(|own| own.contains(network)) {
            return None;
        }
        let mut others = all.iter().filter(|other| other.cluster != self.cluster);
        others.find_map(|other| {
            let known = [other.all(), other.written.clone()].concat();
            let theirs = known.iter().find(|theirs| overlap(theirs, network))?;
            Some(format!("{network} overlaps {theirs} of cluster {}", other.cluster))
        })
    }

    /// What a cluster says of itself. It names its Pods' networks only where others may send there.
    pub(crate) fn of_info(info: &ClusterInfo) -> Self {
        let service = [&info.service_cidr].into_iter().chain(&info.service_cidrs);
        Self::new(&info.cluster_id, service.chain(&info.pod_cidrs))
    }

    /// What a member claims in its announce: its Pods are sent to where they are the endpoints.
    pub(crate) fn of_announce(announce: &MemberClusterAnnounce) -> Self {
        let sends_to_pods = announce.endpoint_ip_type == Some(EndpointIpType::PodIP);
        let sent_to = announce.pod_cidrs.iter().filter(|_| sends_to_pods);
        let exported = announce.pod_cidrs.iter().filter(|_| !sends_to_pods);
        let status = announce.status.iter();
        let written = status.flat_map(|of| of.networks.iter().map(|held| &held.cidr).chain(&of.pod_cidrs));
        Self {
            written: parsed(written),
            pods: parsed(exported.chain(&announce.node_pod_cidrs)),
            of_nodes: parsed(&announce.node_pod_cidrs),
            unused: parsed(announce.service_cidrs.iter().filter(|_| sends_to_pods)),
            ..Self::new(&announce.cluster_id, announce.service_cidrs.iter().chain(sent_to))
        }
    }

    /// Adds what another source knows of the cluster.
    fn add(&mut self, other: &mut Self) {
        for (own, others) in [
            (&mut self.cidrs, &mut other.cidrs),
            (&mut self.pods, &mut other.pods),
            (&mut self.of_nodes, &mut other.of_nodes),
            (&mut self.unused, &mut other.unused),
            (&mut self.written, &mut other.written),
        ] {
            others.append(own);
            *own = sorted(std::mem::take(others));
        }
    }
}

fn parsed<'a>(cidrs: impl IntoIterator<Item = &'a String>) -> Vec<IpNet> {
    sorted(cidrs.into_iter().filter_map(|cidr| cidr.parse().ok()).collect())
}

fn sorted(mut cidrs: Vec<IpNet>) -> Vec<IpNet> {
    cidrs.sort();
    cidrs.dedup();
    cidrs
}

/// All that several sources know of each cluster, in the order of the clusters.
pub(crate) fn merged(mut networks: Vec<ClusterNetworks>) -> Vec<ClusterNetworks> {
    networks.sort_by(|a, b| a.cluster.cmp(&b.cluster));
    networks.dedup_by(|next, kept| {
        let same = next.cluster == kept.cluster;
        if same {
            kept.add(next);
        }
        same
    });
    for ClusterNetworks { cidrs, of_nodes, .. } in &mut networks {
        cidrs.retain(|network| !of_nodes.iter().any(|of_node| of_node.contains(network)));
    }
    networks
}

/// Compares each cluster with each other one.
pub(crate) fn check(networks: &[ClusterNetworks]) -> Vec<Finding> {
    let known: Vec<&ClusterNetworks> = networks.iter().filter(|of| !of.all().is_empty()).collect();
    if known.len() < 2 {
        return vec![Finding::skipped(CHECK, "fewer than two clusters say which networks they have")];
    }
    let mut findings = Vec::new();
    for (index, one) in known.iter().enumerate() {
        for other in &known[index + 1..] {
            findings.extend(compare(one, other));
        }
    }
    if findings.is_empty() {
        let names: Vec<&str> = known.iter().map(|of| of.cluster.as_str()).collect();
        findings.push(Finding::passed(CHECK, format!("networks of {} are apart", names.join(", "))));
    }
    findings
}

fn compare(one: &ClusterNetworks, other: &ClusterNetworks) -> Option<Finding> {
    let both = |a: IpNet, b: IpNet| {
        format!("{a} of cluster {} and {b} of cluster {} overlap", one.cluster, other.cluster)
    };
    if let Some((a, b)) = shared(&one.cidrs, &other.cidrs) {
        return Some(Finding::failed(
            CHECK,
            both(a, b),
            "Give one of the clusters other networks: Services' with --service-cluster-ip-range of its API server, or leave \
             podCIDRs out of its Multi-cluster controller's configuration if Pods are not sent to directly.",
        ));
    }
    let (a, b) = shared(&one.all(), &other.all())?;
    Some(Finding::failed(
        CHECK,
        format!(
            "{}: of the two that is later headless Services and PodIP exports are not imported, all else is",
            both(a, b)
        ),
        "Give Nodes of one of the clusters other Pod CIDRs, or leave podCIDRs out of its Multi-cluster controller's \
         configuration.",
    ))
}

/// The first networks of both that have addresses in common.
fn shared(some: &[IpNet], others: &[IpNet]) -> Option<(IpNet, IpNet)> {
    some.iter().find_map(|a| {
        let overlaps = |b: &&IpNet| a.contains(&b.network()) || b.contains(&a.network());
        others.iter().find(overlaps).map(|b| (*a, *b))
    })
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

    /// Members with networks of Services of their own, and these networks of Pods by their Nodes, of which the ClusterInfo of
    /// the second one tells.
    fn with_nodes(nodes: [&str; 2]) -> Vec<ClusterNetworks> {
        let announce = |(cluster, nodes): (&str, &str)| {
            let mut announce = MemberClusterAnnounce::new("mc", cluster);
            announce.cluster_id = cluster.to_owned();
            announce.service_cidrs = vec![format!("10.9{}.0.0/16", cluster.len())];
            announce.node_pod_cidrs = vec![nodes.to_owned()];
            ClusterNetworks::of_announce(&announce)
        };
        let info = ClusterInfo {
            cluster_id: "bb".to_owned(),
            pod_cidrs: vec![nodes[1].to_owned()],
            ..ClusterInfo::default()
        };
        let announces = ["a", "bb"].into_iter().zip(nodes).map(announce);
        merged(announces.chain([ClusterNetworks::of_info(&info)]).collect())
    }

    #[test]
    fn networks_of_nodes_that_overlap_cost_headless_services_alone() {
        assert!(!text(&check(&with_nodes(["10.10.0.0/24", "10.10.1.0/24"]))).contains("FAILED"));
        let text = text(&check(&with_nodes(["10.10.0.0/23", "10.10.1.0/24"])));
        let failed = "CIDR overlap: FAILED: 10.10.0.0/23 of cluster a and 10.10.1.0/24 of cluster bb overlap: of the two that is \
                      later headless Services and PodIP exports are not imported, all else is\n";
        assert!(text.starts_with(failed), "{text}");
    }
}
