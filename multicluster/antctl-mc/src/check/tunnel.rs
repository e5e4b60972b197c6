//! Tunnel: Gateways of all clusters have to use the same tunnel, or none of their packets arrive.

use std::collections::BTreeMap;

use antrea_shared_api::multicluster::v1alpha1::{ClusterInfo, Gateway, TunnelInfo};

use super::finding::Finding;

const CHECK: &str = "tunnel";

/// A cluster, and the tunnel of its Gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClusterTunnel {
    cluster: String,
    tunnel: TunnelInfo,
}

impl ClusterTunnel {
    /// What a cluster says of itself, if it does: one without a Gateway, with older agents or of upstream's does not.
    pub(crate) fn of_info(info: &ClusterInfo) -> Option<Self> {
        Some(Self { cluster: info.cluster_id.clone(), tunnel: info.tunnel.clone()? })
    }

    /// What the agent of a Gateway says.
    pub(crate) fn of_gateway(cluster: &str, gateway: &Gateway) -> Option<Self> {
        Some(Self { cluster: cluster.to_owned(), tunnel: tunnel_of(gateway)?.clone() })
    }
}

/// The tunnel of a Gateway, if its agent says that.
pub(crate) fn tunnel_of(gateway: &Gateway) -> Option<&TunnelInfo> {
    gateway.status.as_ref()?.tunnel.as_ref()
}

/// Compares the tunnels of all clusters that say which they have.
pub(crate) fn check(tunnels: &[ClusterTunnel]) -> Finding {
    let mut clusters: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for ClusterTunnel { cluster, tunnel } in tunnels {
        clusters.entry(tunnel.to_string()).or_default().push(cluster);
    }
    let each: Vec<String> =
        clusters.iter().map(|(tunnel, clusters)| format!("{tunnel} in {}", clusters.join(", "))).collect();
    if tunnels.len() < 2 {
        return Finding::skipped(CHECK, "fewer than two clusters say which tunnel their Gateways have");
    }
    let differs = |one: &ClusterTunnel| tunnels.iter().any(|other| one.tunnel.differs_from(&other.tunnel));
    if !tunnels.iter().any(differs) {
        return Finding::passed(CHECK, each.join("; "));
    }
    Finding::failed(
        CHECK,
        format!("Gateways have different tunnels: {}", each.join("; ")),
        "Set one tunnelType and one tunnelPort in antrea-agent.conf of all clusters (values of the chart antrea).",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::finding::text;

    /// Clusters with what they say of their tunnels.
    #[track_caller]
    fn check_text(clusters: &[(&str, &str)], expected: &str) {
        let tunnels = clusters.iter().filter_map(|(cluster, tunnel)| {
            let info = format!("{{clusterID: {cluster}{tunnel}}}");
            ClusterTunnel::of_info(&serde_saphyr::from_str(&info).unwrap())
        });
        let text = text(&[check(&tunnels.collect::<Vec<_>>())]);
        assert_eq!(text.lines().next().unwrap(), expected);
    }

    const GENEVE: &str = ", tunnel: {type: geneve, port: 6081}";

    #[test]
    fn clusters_with_different_tunnels_are_named() {
        let vxlan = ", tunnel: {type: vxlan, port: 4789}";
        check_text(
            &[("a", GENEVE), ("b", vxlan), ("c", GENEVE)],
            "tunnel: FAILED: Gateways have different tunnels: geneve on port 6081 in a, c; vxlan on port 4789 in b",
        );
        check_text(
            &[("a", GENEVE), ("b", ", tunnel: {type: geneve, port: 6082}")],
            "tunnel: FAILED: Gateways have different tunnels: geneve on port 6081 in a; geneve on port 6082 in b",
        );
    }

    #[test]
    fn one_that_does_not_say_is_skipped() {
        check_text(&[("a", GENEVE), ("b", ""), ("c", GENEVE)], "tunnel: passed: geneve on port 6081 in a, c");
        let skipped = "tunnel: skipped: fewer than two clusters say which tunnel their Gateways have";
        check_text(&[("a", GENEVE), ("b", "")], skipped);
        check_text(&[], skipped);
    }
}
