//! Where an end of a connection is: which Pod, on which Node, with which address.

use std::net::IpAddr;

use k8s_openapi::api::core::v1::{Node, Pod};

use crate::cluster::Cluster;
use crate::object::name;
use crate::question::{Endpoint, Family};

/// An end of a connection as policies see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// A Pod with a network of its own; `None` for a Node, for Pods in a Node's network, and outside.
    pub(crate) pod: Option<&'a Pod>,
    pub(crate) node: Option<&'a str>,
    pub(crate) address: IpAddr,
}

/// Why a question has no answer: there is no such connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unasked {
    #[error("{0} does not exist")]
    Missing(Endpoint),
    #[error("{0} has ended and has no connections any more")]
    Ended(Endpoint),
    #[error("{0} has no address of {1}")]
    NoAddress(Endpoint, Family),
    #[error("{0} is an address of {1}, not one outside")]
    NotOutside(IpAddr, String),
    #[error("{0} and {1} both have the address {2}")]
    Shared(Endpoint, String, IpAddr),
    #[error("no end of the connection from {0} to {1} is a Pod")]
    NoPod(Endpoint, Endpoint),
}

/// The address that an end has in packets of a family.
pub fn address(cluster: &Cluster, end: &Endpoint, family: Family) -> Result<IpAddr, Unasked> {
    find(cluster, end, family).map(|place| place.address)
}

/// The end of a connection of a family.
pub(crate) fn find<'a>(cluster: &'a Cluster, end: &Endpoint, family: Family) -> Result<Place<'a>, Unasked> {
    match end {
        Endpoint::Pod { .. } => find_pod(cluster, end, family),
        Endpoint::Node(wanted) => {
            let node = cluster.nodes.iter().find(|node| name(*node) == *wanted);
            let node = node.ok_or_else(|| Unasked::Missing(end.clone()))?;
            let address = of_family(&node_addresses(node), family);
            let address = address.ok_or_else(|| Unasked::NoAddress(end.clone(), family))?;
            Ok(Place { pod: None, node: node.metadata.name.as_deref(), address })
        }
        Endpoint::Outside(address) if Family::of(*address) != family => {
            Err(Unasked::NoAddress(end.clone(), family))
        }
        Endpoint::Outside(address) => match owner(cluster, *address, end) {
            Some(owner) => Err(Unasked::NotOutside(*address, owner)),
            None => Ok(Place { pod: None, node: None, address: *address }),
        },
    }
}

fn find_pod<'a>(cluster: &'a Cluster, end: &Endpoint, family: Family) -> Result<Place<'a>, Unasked> {
    let pod = cluster.pods.iter().find(|pod| name(*pod) == end.to_string());
    let pod = pod.ok_or_else(|| Unasked::Missing(end.clone()))?;
    if has_ended(pod) {
        return Err(Unasked::Ended(end.clone()));
    }
    let address = of_family(&pod_addresses(pod), family);
    let address = address.ok_or_else(|| Unasked::NoAddress(end.clone(), family))?;
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
    if in_node_network(pod) {
        return Ok(Place { pod: None, node, address });
    }
    match owner(cluster, address, end) {
        Some(other) => Err(Unasked::Shared(end.clone(), other, address)),
        None => Ok(Place { pod: Some(pod), node, address }),
    }
}

/// Who but `end` has the address.
fn owner(cluster: &Cluster, address: IpAddr, end: &Endpoint) -> Option<String> {
    let mut pods = cluster.pods.iter().filter(|pod| !has_ended(pod) && !in_node_network(pod));
    let pod = pods.find(|pod| pod_addresses(pod).contains(&address) && name(*pod) != end.to_string());
    let node = || cluster.nodes.iter().find(|node| node_addresses(node).contains(&address));
    pod.map(name).or_else(|| node().map(name))
}

/// Whether the Pod's containers have ended for good.
pub(crate) fn has_ended(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

pub(crate) fn in_node_network(pod: &Pod) -> bool {
    pod.spec.as_ref().and_then(|spec| spec.host_network) == Some(true)
}

/// `podIPs`, and `podIP` of those who write that alone.
pub(crate) fn pod_addresses(pod: &Pod) -> Vec<IpAddr> {
    let Some(status) = &pod.status else { return Vec::new() };
    let several = status.pod_ips.iter().flatten().map(|address| address.ip.as_str());
    several.chain(status.pod_ip.as_deref()).filter_map(|text| text.parse().ok()).collect()
}

fn node_addresses(node: &Node) -> Vec<IpAddr> {
    let addresses = node.status.as_ref().and_then(|status| status.addresses.as_ref());
    addresses.into_iter().flatten().filter_map(|address| address.address.parse().ok()).collect()
}

fn of_family(addresses: &[IpAddr], family: Family) -> Option<IpAddr> {
    addresses.iter().copied().find(|address| Family::of(*address) == family)
}
