//! The Pod CIDRs that kube-controller-manager gave to Nodes, and the control plane's routes to them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use antrea_types::DualStack;
use anyhow::{Context, Result};
use ipnet::IpNet;
use serde_json::Value;

use crate::command::{Run as _, command};
use crate::kubectl::Kubectl;
use crate::names::{LabName, NodeId, Place};
use crate::plan::{ClusterPlan, NodePlan};
use crate::wait;

/// The Pod CIDRs of a cluster's Nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodCidrs(BTreeMap<NodeId, DualStack<IpNet>>);

impl PodCidrs {
    /// Waits until every Node has registered and has its CIDRs.
    ///
    /// # Errors
    /// When one has not after a minute.
    pub fn wait_for(kubectl: &Kubectl, cluster: &ClusterPlan) -> Result<Self> {
        let what = format!("the Nodes of {} to register and get Pod CIDRs", cluster.id);
        wait::eventually(Duration::from_secs(60), &what, || {
            let found = Self::parse(&kubectl.json(&["get", "nodes"])?);
            let complete = |node: &NodePlan| {
                let cidrs = found.0.get(&node.id);
                cidrs.is_some_and(|cidrs| cluster.families_in(cidrs))
            };
            let all = cluster.nodes.iter().all(complete);
            Ok(all.then_some(found))
        })
    }

    /// What a list of Nodes says.
    pub fn parse(nodes: &Value) -> Self {
        let items = nodes["items"].as_array().into_iter().flatten();
        let one = |node: &Value| {
            let id = node["metadata"]["name"].as_str()?.parse().ok()?;
            let cidrs = node["spec"]["podCIDRs"].as_array()?.iter();
            Some((id, cidrs.filter_map(|cidr| cidr.as_str()?.parse::<IpNet>().ok()).collect()))
        };
        Self(items.filter_map(one).collect())
    }

    /// Those of one Node.
    ///
    /// # Errors
    /// When it has none.
    pub fn of(&self, node: NodeId) -> Result<&DualStack<IpNet>> {
        self.0.get(&node).with_context(|| format!("{node} has no Pod CIDR"))
    }

    /// Adds lines for `ip -batch` that lead to the Pods of a Node by way of its Node IPs.
    ///
    /// # Errors
    /// When the Node has no Pod CIDR.
    pub fn routes_to(&self, batch: &mut String, node: &NodePlan) -> Result<()> {
        let cidrs = self.of(node.id)?;
        for family in cidrs.families() {
            if let (Some(cidr), Some(address)) = (cidrs.get(family), node.node_ips.get(family)) {
                let _ = writeln!(batch, "route replace {cidr} via {address}");
            }
        }
        Ok(())
    }

    /// Gives the control plane routes to all Pods: the API server calls webhooks and aggregated APIs there.
    ///
    /// # Errors
    /// When the kernel refuses one.
    pub fn route_from_control_plane(&self, lab: &LabName, cluster: &ClusterPlan) -> Result<()> {
        let mut batch = String::new();
        cluster.nodes.iter().try_for_each(|node| self.routes_to(&mut batch, node))?;
        let namespace = lab.namespace(Place::Cluster(cluster.id));
        command("ip", &["-n", &namespace, "-batch", "-"]).feed(&batch).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pod_cidrs_are_read_from_nodes() {
        let nodes = serde_json::json!({ "items": [
            { "metadata": { "name": "c1-n1" }, "spec": { "podCIDRs": ["10.11.0.0/24", "fd00:10:1::/64"] } },
            { "metadata": { "name": "c1-n2" }, "spec": {} },
        ]});
        let found = PodCidrs::parse(&nodes);
        let own = found.of("c1-n1".parse().unwrap()).unwrap();
        assert_eq!(
            own.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["10.11.0.0/24", "fd00:10:1::/64"]
        );
        assert!(found.of("c1-n2".parse().unwrap()).is_err());
    }
}
