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
        match read(field, at, peer) {
            Ok(peer) => usable.push(peer),
            Err(problem) => problems.push(problem),
        }
    }
    (!usable.is_empty()).then_some(PeersSpec::Some(usable))
}

/// All addresses of both families.
pub(crate) fn everywhere() -> [IpBlock; 2] {
    let all = [IpNet::V4(Ipv4Net::default()), IpNet::V6(Ipv6Net::default())];
    all.map(|cidr| IpBlock { cidr, except: Box::default() })
}

fn read<'a>(field: &str, at: usize, peer: &'a NetworkPolicyPeer) -> Result<PeerSpec<'a>, Problem> {
    let field = |name: &str| format!("{field}[{at}]{name}");
    let pods = |selector| Selector::from_resource(&field(".podSelector"), selector);
    let namespaces = |selector| Selector::from_resource(&field(".namespaceSelector"), selector);
    match (&peer.ip_block, &peer.namespace_selector, &peer.pod_selector) {
        (Some(ip_block), None, None) => {
            let read = block(ip_block);
            read.map(PeerSpec::Block)
                .map_err(|(name, reason)| Problem::new(field(&format!(".ipBlock.{name}")), reason))
        }
        (Some(_), _, _) => {
            Err(Problem::new(field(""), "ipBlock and selectors are both there: admits nobody"))
        }
        (None, None, Some(selector)) => Ok(PeerSpec::Pods(pods(selector)?)),
        (None, Some(namespace), selector) => {
            Ok(PeerSpec::Namespaces(namespaces(namespace)?, selector.as_ref().map(pods).transpose()?))
        }
        (None, None, None) => {
            Err(Problem::new(field(""), "none of ipBlock, namespaceSelector, podSelector: admits nobody"))
        }
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
