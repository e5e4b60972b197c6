//! Entries of `from` and `to`.

use std::net::IpAddr;

use ipnet::IpNet;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::api::networking::v1::{IPBlock, NetworkPolicyPeer};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::cluster::Cluster;
use crate::object::name;
use crate::place::Place;
use crate::selector::{BadSelector, selects};

/// Whether a peer of a policy in Namespace `own` is what the place is. One that the API forbids is nobody.
pub(crate) fn is(peer: &NetworkPolicyPeer, own: &str, place: &Place<'_>, cluster: &Cluster) -> bool {
    match (&peer.ip_block, &peer.namespace_selector, &peer.pod_selector) {
        (Some(block), None, None) => contains(block, place.address),
        (None, None, None) | (Some(_), _, _) => false,
        (None, namespaces, pods) => place.pod.is_some_and(|pod| {
            is_selected(pod, own, namespaces.as_ref(), pods.as_ref(), cluster).unwrap_or(false)
        }),
    }
}

/// Without a selector of Namespaces only the policy's own is meant; without one of Pods all that are there.
fn is_selected(
    pod: &Pod,
    own: &str,
    namespaces: Option<&LabelSelector>,
    pods: Option<&LabelSelector>,
    cluster: &Cluster,
) -> Result<bool, BadSelector> {
    let in_namespace = match namespaces {
        None => pod.metadata.namespace.as_deref().unwrap_or_default() == own,
        Some(selector) => match namespace(pod, cluster) {
            Some(object) => selects(selector, object.metadata.labels.as_ref())?,
            None => false,
        },
    };
    let in_pods = pods.map_or(Ok(true), |selector| selects(selector, pod.metadata.labels.as_ref()))?;
    Ok(in_namespace && in_pods)
}

/// The Namespace that the Pod is in, if it is there.
pub(crate) fn namespace<'a>(pod: &Pod, cluster: &'a Cluster) -> Option<&'a Namespace> {
    let wanted = pod.metadata.namespace.as_deref().unwrap_or_default();
    cluster.namespaces.iter().find(|namespace| name(*namespace) == wanted)
}

/// Whether the block has the address. One with an `except` outside of it has none: "Except values will be rejected if
/// they are outside the cidr range".
fn contains(block: &IPBlock, address: IpAddr) -> bool {
    let Ok(cidr) = block.cidr.parse::<IpNet>() else { return false };
    let excepts: Result<Vec<IpNet>, _> = block.except.iter().flatten().map(|text| text.parse()).collect();
    let Ok(excepts) = excepts else { return false };
    let all_inside = excepts.iter().all(|except| cidr.contains(except));
    all_inside && cidr.contains(&address) && !excepts.iter().any(|except| except.contains(&address))
}
