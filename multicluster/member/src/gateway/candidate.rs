//! Nodes that may be the Gateway, and with which addresses.

use std::net::{IpAddr, Ipv4Addr};

use antrea_shared_api::addresses::unusable;
use antrea_shared_api::multicluster::well_known::annotation::{GATEWAY, GATEWAY_IP};
use antrea_shared_api::well_known::node_annotation::TRANSPORT_ADDRESSES;
use serde_json::Value;

use crate::objects::{annotation, is_leaving, text};

/// Which addresses of Nodes other clusters reach them at (`gatewayIPPrecedence`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeIpKind {
    /// `private`, `internal`: the InternalIP, else the ExternalIP.
    Internal,
    /// `public`, `external`: the ExternalIP, else the InternalIP.
    External,
}

/// A Node that can be the Gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// Where tunnels of other clusters go to.
    pub gateway_ip: Ipv4Addr,
    /// Where tunnels of the cluster's own Nodes go to.
    pub internal_ip: Ipv4Addr,
}

/// Why a Node cannot be the Gateway although its annotation says so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// The annotation says neither yes nor no.
    #[error("annotation {GATEWAY} is {0:?}; use \"true\" or \"false\"")]
    NeitherYesNorNo(String),
    /// The Node is not ready.
    #[error("it is not Ready")]
    NotReady,
    /// Nothing new is to run on it.
    #[error("it is cordoned")]
    Cordoned,
    /// The address in the annotation is none.
    #[error("annotation {GATEWAY_IP} is {0:?}, which is no IPv4 address; clusters are connected by IPv4")]
    GatewayIp(String),
    /// It has no address.
    #[error("it has no IPv4 address of type InternalIP or ExternalIP")]
    NoAddress,
    /// Its address is of no use to other hosts: webhooks refuse such a Gateway.
    #[error("{address} cannot be reached by other hosts, as no {kind} address can")]
    Unreachable {
        /// The address.
        address: Ipv4Addr,
        /// What it is.
        kind: &'static str,
    },
}

impl Candidate {
    /// Reads a Node; nothing where nobody wants it to be the Gateway.
    pub fn read(node: &Value, precedence: NodeIpKind) -> Option<(String, Result<Self, Unfit>)> {
        let name = text(node, "/metadata/name").to_owned();
        let wanted = annotation(node, GATEWAY)?;
        let candidate = match wanted.to_ascii_lowercase().as_str() {
            // Upstream's documents have `true`; an annotation without value means yes as well.
            "true" | "" => read(node, &name, precedence),
            "false" => return None,
            _ => Err(Unfit::NeitherYesNorNo(wanted.to_owned())),
        };
        Some((name, candidate))
    }
}

fn read(node: &Value, name: &str, precedence: NodeIpKind) -> Result<Candidate, Unfit> {
    if !is_ready(node) || is_leaving(node) {
        return Err(Unfit::NotReady);
    }
    if node.pointer("/spec/unschedulable").and_then(Value::as_bool) == Some(true) {
        return Err(Unfit::Cordoned);
    }
    let transport = transport_address(node);
    let internal_ip =
        transport.or_else(|| address(node, "InternalIP")).or_else(|| address(node, "ExternalIP"));
    let internal_ip = internal_ip.ok_or(Unfit::NoAddress)?;
    let gateway_ip = match annotation(node, GATEWAY_IP) {
        Some(text) => text.trim().parse().map_err(|_| Unfit::GatewayIp(text.to_owned()))?,
        None => transport.or_else(|| node_ip(node, precedence)).ok_or(Unfit::NoAddress)?,
    };
    match [gateway_ip, internal_ip].into_iter().find_map(unreachable) {
        Some(why) => Err(why),
        None => Ok(Candidate { name: name.to_owned(), gateway_ip, internal_ip }),
    }
}

fn unreachable(address: Ipv4Addr) -> Option<Unfit> {
    unusable(address.into()).map(|kind| Unfit::Unreachable { address, kind })
}

fn is_ready(node: &Value) -> bool {
    let conditions = node.pointer("/status/conditions").and_then(Value::as_array);
    let is_ready =
        |condition: &Value| text(condition, "/type") == "Ready" && text(condition, "/status") == "True";
    conditions.is_some_and(|conditions| conditions.iter().any(is_ready))
}

fn node_ip(node: &Value, precedence: NodeIpKind) -> Option<Ipv4Addr> {
    let (first, second) = match precedence {
        NodeIpKind::Internal => ("InternalIP", "ExternalIP"),
        NodeIpKind::External => ("ExternalIP", "InternalIP"),
    };
    address(node, first).or_else(|| address(node, second))
}

/// The first IPv4 address of a type.
fn address(node: &Value, kind: &str) -> Option<Ipv4Addr> {
    let addresses = node.pointer("/status/addresses")?.as_array()?;
    addresses
        .iter()
        .filter(|address| text(address, "/type") == kind)
        .find_map(|address| text(address, "/address").parse().ok())
}

fn transport_address(node: &Value) -> Option<Ipv4Addr> {
    annotation(node, TRANSPORT_ADDRESSES)?.split(',').find_map(|text| match text.trim().parse() {
        Ok(IpAddr::V4(address)) => Some(address),
        _ => None,
    })
}
