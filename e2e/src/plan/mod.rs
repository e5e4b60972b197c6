//! What a lab consists of, computed from the command line alone: clusters, Nodes, addresses, CIDRs.

mod addresses;
mod check;
mod request;

use std::net::IpAddr;

use antrea_types::{DualStack, IpFamily};
use anyhow::{Context, Result, ensure};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};

pub use addresses::{BLOCKS, Block, address_in, families_of};
pub use request::{ClusterSetting, Families, Install, Request, ServiceProxy};

use crate::names::{ClusterId, LabName, NodeId, Place};

/// A whole lab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The lab's name.
    pub name: LabName,
    /// Which of the [`BLOCKS`] of addresses it uses.
    pub block: Block,
    /// c1, c2, …
    pub clusters: Vec<ClusterPlan>,
}

/// One cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterPlan {
    /// Its name.
    pub id: ClusterId,
    /// IP families of Nodes, Pods and Services.
    pub families: Families,
    /// Who serves Services.
    pub service_proxy: ServiceProxy,
    /// What is installed.
    pub install: Install,
    /// What Pod CIDRs of Nodes are cut from.
    pub pod_cidrs: DualStack<IpNet>,
    /// Prefix length of a Node's Pod CIDR.
    pub node_masks: DualStack<u8>,
    /// Where ClusterIPs come from.
    pub service_cidrs: DualStack<IpNet>,
    /// The subnet of eth0; the router has its first address.
    pub node_subnets: DualStack<IpNet>,
    /// The subnet of eth1; the router has its first address.
    pub transport_subnets: DualStack<IpNet>,
    /// Where the API server listens.
    pub control_plane: DualStack<IpAddr>,
    /// c1-n1, c1-n2, …
    pub nodes: Vec<NodePlan>,
}

/// One Node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodePlan {
    /// Its name.
    pub id: NodeId,
    /// Addresses of eth0: the Node IPs.
    pub node_ips: DualStack<IpAddr>,
    /// Addresses of eth1.
    pub transport_ips: DualStack<IpAddr>,
}

impl Plan {
    /// Every place of the lab, the router first.
    pub fn places(&self) -> Vec<Place> {
        let clusters = self.clusters.iter().flat_map(|cluster| {
            let nodes = cluster.nodes.iter().map(|node| Place::Node(node.id));
            std::iter::once(Place::Cluster(cluster.id)).chain(nodes)
        });
        [Place::Router, Place::Outside].into_iter().chain(clusters).collect()
    }

    /// Only the families that some cluster has: a lab without IPv6 works on a host without it.
    pub fn restrict<T>(&self, values: DualStack<T>) -> DualStack<T> {
        let used = |family| self.clusters.iter().any(|cluster| cluster.families.has(family));
        DualStack {
            v4: values.v4.filter(|_| used(IpFamily::V4)),
            v6: values.v6.filter(|_| used(IpFamily::V6)),
        }
    }

    /// The network namespace of a place, or an error that names the lab.
    pub fn namespace(&self, place: Place) -> Result<String> {
        if !self.places().contains(&place) {
            anyhow::bail!("there is no {place} in lab {}; it has {}", self.name, self.describe_places());
        }
        Ok(self.name.namespace(place))
    }

    /// A cluster by name.
    pub fn cluster(&self, id: ClusterId) -> Result<&ClusterPlan> {
        let found = self.clusters.iter().find(|cluster| cluster.id == id);
        found.with_context(|| {
            format!("there is no {id} in lab {}; it has {}", self.name, self.describe_places())
        })
    }

    /// A Node by name.
    pub fn node(&self, id: NodeId) -> Result<&NodePlan> {
        let found = self.clusters.iter().flat_map(|cluster| &cluster.nodes).find(|node| node.id == id);
        found.with_context(|| {
            format!("there is no {id} in lab {}; it has {}", self.name, self.describe_places())
        })
    }

    /// The same, with other addresses for a Node: the `offset`s of its cluster's subnets.
    ///
    /// # Errors
    /// When there is no such Node, or somebody has one of the addresses.
    pub fn renumbered(&self, node: NodeId, offset: u8) -> Result<Self> {
        let mut plan = self.clone();
        let cluster = plan.clusters.iter_mut().find(|cluster| cluster.id == node.cluster);
        let cluster = cluster.with_context(|| format!("there is no {}", node.cluster))?;
        let addresses = |subnets: &DualStack<IpNet>| -> DualStack<IpAddr> {
            subnets.iter().filter_map(|subnet| address_in(subnet, offset)).collect()
        };
        let (node_ips, transport_ips) =
            (addresses(&cluster.node_subnets), addresses(&cluster.transport_subnets));
        let taken = |other: &NodePlan| other.node_ips == node_ips;
        ensure!(offset > 2 && !cluster.nodes.iter().any(taken), "offset {offset} in {} is taken", cluster.id);
        let found = cluster.nodes.iter_mut().find(|other| other.id == node);
        let found = found.with_context(|| format!("there is no {node}"))?;
        *found = NodePlan { id: node, node_ips, transport_ips };
        Ok(plan)
    }

    fn describe_places(&self) -> String {
        self.places().iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}

impl ClusterPlan {
    /// The address that everything in the cluster reaches the API server at: IPv4 where there is one.
    pub fn api_address(&self) -> Result<IpAddr> {
        self.control_plane.iter().next().copied().with_context(|| format!("{} has no IP family", self.id))
    }

    /// `https://ADDRESS:6443`.
    pub fn api_url(&self) -> Result<String> {
        Ok(format!("https://{}", std::net::SocketAddr::new(self.api_address()?, 6443)))
    }

    /// Whether `values` has one for each IP family of the cluster.
    pub fn families_in<T>(&self, values: &DualStack<T>) -> bool {
        IpFamily::ALL.into_iter().all(|family| !self.families.has(family) || values.get(family).is_some())
    }

    /// The addresses of cluster DNS: the tenth of each Service CIDR.
    pub fn dns_addresses(&self) -> Vec<IpAddr> {
        self.service_cidrs.iter().filter_map(|cidr| address_in(cidr, 10)).collect()
    }

    /// The router's address in a subnet.
    pub fn gateway(subnet: &IpNet) -> Option<IpAddr> {
        address_in(subnet, 1)
    }
}
