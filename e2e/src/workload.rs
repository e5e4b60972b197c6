//! Pods on every Node and a Service over them: what every scenario of the product begins with.

use std::net::IpAddr;

use antrea_types::DualStack;
use anyhow::{Context, Result};
use serde_json::json;

use crate::kubectl::Kubectl;
use crate::names::NodeId;
use crate::plan::ClusterPlan;
use crate::pods::{PORT, Pod};

/// The Service over all Pods that [`Pod::create`] makes, on port 80 in both families.
pub const SERVICE: &str = "web";

/// The label that the Service selects by.
const SELECTOR: &str = "server=netexec";

/// Pods that are Ready, and the Service over them, in Namespace `default`.
#[derive(Debug, Clone)]
pub struct Workload {
    kubectl: Kubectl,
    pods: Vec<Pod>,
    cluster_ips: DualStack<IpAddr>,
}

impl Workload {
    /// Creates `pods_per_node` Pods on every Node, and the Service, and waits until all Pods are Ready.
    ///
    /// # Errors
    /// When the API server refuses them, a Pod is not Ready in time, or lacks an address of a family of the cluster.
    pub fn create(kubectl: &Kubectl, cluster: &ClusterPlan, pods_per_node: u8) -> Result<Self> {
        kubectl.apply(&service())?;
        let places = cluster.nodes.iter().flat_map(|node| (1..=pods_per_node).map(move |n| (n, node.id)));
        let names: Vec<(String, NodeId)> =
            places.map(|(number, node)| (format!("{node}-pod{number}"), node)).collect();
        let wanted: Vec<(&str, NodeId)> = names.iter().map(|(name, node)| (name.as_str(), *node)).collect();
        let pods = Pod::create(kubectl, &wanted)?;
        for pod in &pods {
            let complete = cluster.families_in(&pod.ips);
            anyhow::ensure!(complete, "Pod {} has not an address of each family: {:?}", pod.name, pod.ips);
        }
        Ok(Self { kubectl: kubectl.clone(), pods, cluster_ips: cluster_ips(kubectl)? })
    }

    /// Adds one more Pod on a Node and waits until it is Ready.
    ///
    /// # Errors
    /// As [`Workload::create`].
    pub fn add_pod(&mut self, name: &str, node: NodeId) -> Result<Pod> {
        let created = Pod::create(&self.kubectl, &[(name, node)])?;
        self.pods.extend(created.iter().cloned());
        created.into_iter().next().with_context(|| format!("Pod {name} was not created"))
    }

    /// Deletes one of its Pods and waits until the API server does not know it any more.
    ///
    /// # Errors
    /// When it stays.
    pub fn delete_pod(&mut self, name: &str) -> Result<()> {
        self.kubectl.text(&["delete", "pod", name, "--timeout=90s"])?;
        self.pods.retain(|pod| pod.name != name);
        Ok(())
    }

    /// Deletes it all and waits until the API server knows none of it.
    ///
    /// # Errors
    /// When something stays.
    pub fn delete(self) -> Result<()> {
        let all = ["delete", "pods,services", "-l", SELECTOR, "--timeout=90s"];
        self.kubectl.text(&all).map(|_| ())
    }

    /// The Pods, Node by Node.
    pub fn pods(&self) -> &[Pod] {
        &self.pods
    }

    /// The first Pod on a Node.
    ///
    /// # Errors
    /// When there is none.
    pub fn pod_on(&self, node: NodeId) -> Result<&Pod> {
        self.pods.iter().find(|pod| pod.node == node).with_context(|| format!("there is no Pod on {node}"))
    }

    /// The Service's addresses.
    pub fn cluster_ips(&self) -> DualStack<IpAddr> {
        self.cluster_ips
    }
}

fn service() -> String {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": SERVICE, "labels": { "server": "netexec" } },
        "spec": {
            "ipFamilyPolicy": "PreferDualStack",
            "selector": { "server": "netexec" },
            "ports": [{ "port": 80, "targetPort": PORT }],
        },
    })
    .to_string()
}

fn cluster_ips(kubectl: &Kubectl) -> Result<DualStack<IpAddr>> {
    let service = kubectl.json(&["get", "service", SERVICE])?;
    let addresses = service["spec"]["clusterIPs"].as_array().into_iter().flatten();
    Ok(addresses.filter_map(|address| address.as_str()?.parse::<IpAddr>().ok()).collect())
}
