//! Peers of a rule.

use std::net::IpAddr;

use antrea_policy::IpBlock;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use k8s_openapi::api::networking::v1::{IPBlock, NetworkPolicyPeer};

use super::selector::Selector;
use crate::Problem;

/// One peer.
#[derive(Debug)]
pub(crate) enum PeerSpec<'a> {
    /// Pods of the policy's own Namespace.
    Pods(Selector<'a>),
    /// Pods of other Namespaces: all of them, or those that are selected.
    Namespaces(Selector<'a>, Option<Selector<'a>>),
    /// Addresses.
    Block(IpBlock),
}

/// Whom a rule admits.
#[derive(Debug)]
pub(crate) enum PeersSpec<'a> {
    /// Nothing is said of peers.
    Everybody,
    /// The union of these; at least one.
    Some(Vec<PeerSpec<'a>>),
}

impl PeersSpec<'_> {
    /// How many groups and blocks they mostly are.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let Self::Some(peers) = self else { return (0, 2) };
        let blocks = peers.iter().filter(|peer| matches!(peer, PeerSpec::Block(_))).count();
        (peers.len() - blocks, blocks)
    }
}

/// Peers of a rule. Nothing if there are some and none can be used: no peers at all would mean everybody.
pub(crate) fn peers<'a>(
    field: &str,
    peers: Option<&'a Vec<NetworkPolicyPeer>>,
    problems: &mut Vec<Problem>,
) -> Option<PeersSpec<'a>> {
    let peers = peers.map(Vec::as_slice).unwrap_or_default();
    if peers.is_empty() {
        return Some(PeersSpec::Everybody);
    }
    let mut usable = Vec::with_capacity(peers.len());
    for (at, peer) in peers.iter().enumerate() {
        match read(peer) {
            Ok(peer) => usable.push(peer),
            Err((name, reason)) => problems.push(Problem::new(format!("{field}[{at}]{name}"), reason)),
        }
    }
    (!usable.is_empty()).then_some(PeersSpec::Some(usable))
}

/// All addresses of both families.
pub(crate) fn everywhere() -> [IpBlock; 2] {
    let all = [IpNet::V4(Ipv4Net::default()), IpNet::V6(Ipv6Net::default())];
    all.map(|cidr| IpBlock { cidr, except: Box::default() })
}

/// A peer, or which of its fields is wrong, with a dot before it, and why.
fn read(peer: &NetworkPolicyPeer) -> Result<PeerSpec<'_>, (String, String)> {
    let selector = |name: &str, selector| {
        Selector::from_resource(selector).map_err(|(field, reason)| (format!(".{name}.{field}"), reason))
    };
    let nobody = |reason: &str| Err((String::new(), format!("{reason}: admits nobody")));
    match (&peer.ip_block, &peer.namespace_selector, &peer.pod_selector) {
        (Some(ip_block), None, None) => block(ip_block)
            .map(PeerSpec::Block)
            .map_err(|(field, reason)| (format!(".ipBlock.{field}"), reason)),
        (Some(_), _, _) => nobody("ipBlock and selectors are both there"),
        (None, None, Some(pods)) => Ok(PeerSpec::Pods(selector("podSelector", pods)?)),
        (None, Some(namespaces), pods) => Ok(PeerSpec::Namespaces(
            selector("namespaceSelector", namespaces)?,
            pods.as_ref().map(|pods| selector("podSelector", pods)).transpose()?,
        )),
        (None, None, None) => nobody("none of ipBlock, namespaceSelector, podSelector"),
    }
}

/// A block without one of its exceptions would admit what it must not, so all of it has to be right.
fn block(block: &IPBlock) -> Result<IpBlock, (String, String)> {
    let wrong = |field: &str, text: &str| (field.to_owned(), format!("{text:?} is no CIDR: admits nobody"));
    let cidr = cidr(&block.cidr).ok_or_else(|| wrong("cidr", &block.cidr))?;
    let excepts = block.except.iter().flatten().enumerate().map(|(at, text)| {
        let field = format!("except[{at}]");
        let except = self::cidr(text).ok_or_else(|| wrong(&field, text))?;
        if cidr.contains(&except) && except != cidr {
            return Ok(except);
        }
        Err((field, format!("{text:?} is not a part of {}: admits nobody", block.cidr)))
    });
    Ok(IpBlock { cidr, except: excepts.collect::<Result<_, _>>()? })
}

/// A prefix in the usual notation. IPv4 in IPv6 clothing is refused: nobody can say what is meant.
fn cidr(text: &str) -> Option<IpNet> {
    let cidr: IpNet = text.parse().ok()?;
    match cidr.addr() {
        IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some() => None,
        _ => Some(cidr),
    }
}
