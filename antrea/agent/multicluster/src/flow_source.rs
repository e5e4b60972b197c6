//! The sets of flows that the switch has for a plan, by name.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use antrea_pipeline::multicluster::{GatewayRole, RemoteCluster};
use ipnet::Ipv4Net;

use crate::plan::ClusterSetPlan;

/// What the flows of a set are made from. A set is replaced when this changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowSource {
    /// The Node's own part.
    Role(GatewayRole),
    /// What other clusters may open connections to, on a Gateway whose role says that this is listed.
    Exported(BTreeSet<Ipv4Net>),
    /// A Gateway of this cluster on another Node, by the addresses that it sends from.
    OwnGateway(BTreeSet<Ipv4Addr>),
    /// Another cluster, as a Node with that part reaches it.
    Cluster(GatewayRole, RemoteCluster),
}

impl FlowSource {
    /// The Gateways whose packets may come to this Node through the tunnel.
    pub fn far_ends(&self) -> Vec<Ipv4Addr> {
        match self {
            Self::Cluster(_, RemoteCluster { gateway, former_gateways, .. }) => {
                [gateway].into_iter().chain(former_gateways).copied().collect()
            }
            Self::OwnGateway(addresses) => addresses.iter().copied().collect(),
            Self::Role(_) | Self::Exported(_) => Vec::new(),
        }
    }
}

impl ClusterSetPlan {
    /// The sets: `multicluster` for the Node's own part, `exported` for what the Gateway admits, `multicluster/NAME` for the
    /// cluster of a ClusterInfoImport, `gateway/NAME` for each other Gateway of this cluster. None while the cluster has no
    /// Gateway. In the order of their names what is exported is admitted before all else is dropped.
    pub fn flow_sources(&self) -> BTreeMap<String, FlowSource> {
        let Some(role) = self.role else { return BTreeMap::new() };
        let cluster = |(name, cluster): (&String, &RemoteCluster)| {
            (format!("multicluster/{name}"), FlowSource::Cluster(role, cluster.clone()))
        };
        let gateway = |(name, addresses): (&String, &BTreeSet<Ipv4Addr>)| {
            (format!("gateway/{name}"), FlowSource::OwnGateway(addresses.clone()))
        };
        let own = ("multicluster".to_owned(), FlowSource::Role(role));
        let exported =
            |networks: &BTreeSet<Ipv4Net>| ("exported".to_owned(), FlowSource::Exported(networks.clone()));
        let gateways = self.gateways.iter().map(gateway);
        let sets = self.clusters.iter().map(cluster).chain(gateways).chain([own]);
        sets.chain(self.exported.iter().map(exported)).collect()
    }
}

#[cfg(test)]
mod tests {
    use antrea_pipeline::multicluster::Admits;

    use super::*;

    #[track_caller]
    fn check(role: Option<GatewayRole>, exported: Option<BTreeSet<Ipv4Net>>, names: &[&str]) {
        let cluster = |gateway: &str| RemoteCluster {
            networks: vec!["10.111.0.0/16".parse().unwrap()],
            gateway: gateway.parse().unwrap(),
            former_gateways: Vec::new(),
        };
        let clusters = [("b", "172.18.1.1"), ("c", "172.18.2.1")];
        let clusters = clusters.map(|(name, gateway)| (name.to_owned(), cluster(gateway))).into();
        let gateways = [("node-2".to_owned(), [Ipv4Addr::new(172, 18, 0, 2)].into())].into();
        let plan = ClusterSetPlan { role, exported, gateways, clusters, ..ClusterSetPlan::default() };
        assert_eq!(plan.flow_sources().into_keys().collect::<Vec<_>>(), names);
    }

    #[test]
    fn a_node_has_a_set_for_itself_and_one_for_each_gateway_and_other_cluster() {
        let gateway = "172.18.0.1".parse().unwrap();
        let sets = ["gateway/node-2", "multicluster", "multicluster/b", "multicluster/c"];
        check(Some(GatewayRole::Regular { gateway }), None, &sets);
    }

    /// The switch gets sets in the order of their names.
    #[test]
    fn a_gateway_admits_what_is_exported_before_it_drops_the_rest() {
        let role = GatewayRole::Gateway { address: Ipv4Addr::new(172, 18, 0, 1), admits: Admits::Listed };
        let sets = ["exported", "gateway/node-2", "multicluster", "multicluster/b", "multicluster/c"];
        check(Some(role), Some(BTreeSet::new()), &sets);
    }

    #[test]
    fn all_gateways_are_far_ends_of_the_tunnel() {
        let gateway = Ipv4Addr::new(172, 18, 1, 1);
        let former_gateways = vec![Ipv4Addr::new(172, 18, 1, 2)];
        let cluster = RemoteCluster { networks: Vec::new(), gateway, former_gateways };
        let role = GatewayRole::Gateway { address: Ipv4Addr::new(172, 18, 0, 1), admits: Admits::Everything };
        let far_ends = FlowSource::Cluster(role, cluster).far_ends();
        assert_eq!(far_ends, ["172.18.1.1", "172.18.1.2"].map(|text| text.parse::<Ipv4Addr>().unwrap()));
        assert!(FlowSource::Role(role).far_ends().is_empty());
        let own = FlowSource::OwnGateway([gateway].into());
        assert_eq!(own.far_ends(), [gateway], "also of a Node whose Pods nobody reaches");
    }

    #[test]
    fn nothing_goes_to_other_clusters_without_a_gateway() {
        check(None, None, &[]);
    }
}
