//! The sets of flows that the switch has for a plan, by name.

use std::collections::BTreeMap;

use antrea_pipeline::multicluster::{GatewayRole, RemoteCluster};

use crate::plan::ClusterSetPlan;

/// What the flows of a set are made from. A set is replaced when this changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowSource {
    /// The Node's own part.
    Role(GatewayRole),
    /// Another cluster, as a Node with that part reaches it.
    Cluster(GatewayRole, RemoteCluster),
}

impl ClusterSetPlan {
    /// The sets: `multicluster` for the Node's own part, `multicluster/NAME` for the cluster of a ClusterInfoImport. None
    /// while the cluster has no Gateway.
    pub fn flow_sources(&self) -> BTreeMap<String, FlowSource> {
        let Some(role) = self.role else { return BTreeMap::new() };
        let cluster = |(name, cluster): (&String, &RemoteCluster)| {
            (format!("multicluster/{name}"), FlowSource::Cluster(role, cluster.clone()))
        };
        let own = ("multicluster".to_owned(), FlowSource::Role(role));
        self.clusters.iter().map(cluster).chain([own]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(role: Option<GatewayRole>, names: &[&str]) {
        let cluster = |gateway: &str| RemoteCluster {
            networks: vec!["10.111.0.0/16".parse().unwrap()],
            gateway: gateway.parse().unwrap(),
            former_gateways: Vec::new(),
        };
        let clusters = [("b", "172.18.1.1"), ("c", "172.18.2.1")];
        let clusters = clusters.map(|(name, gateway)| (name.to_owned(), cluster(gateway))).into();
        let plan = ClusterSetPlan { role, clusters, ..ClusterSetPlan::default() };
        assert_eq!(plan.flow_sources().into_keys().collect::<Vec<_>>(), names);
    }

    #[test]
    fn a_node_has_a_set_for_itself_and_one_for_each_other_cluster() {
        let gateway = "172.18.0.1".parse().unwrap();
        check(Some(GatewayRole::Regular { gateway }), &["multicluster", "multicluster/b", "multicluster/c"]);
    }

    #[test]
    fn nothing_goes_to_other_clusters_without_a_gateway() {
        check(None, &[]);
    }
}
