//! Members of groups.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use antrea_types::Protocol;

use crate::Text;

/// What can be in a group. AddressGroups and AppliedToGroups have the same members, but look at other fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupMember {
    /// A Pod, shared by all groups that it is in.
    Pod(Arc<Pod>),
}

/// What policies need to know about a Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// Its Namespace.
    pub namespace: Text,
    /// Its name.
    pub name: Box<str>,
    /// Its addresses, as it reports them.
    pub ips: PodIps,
    /// The ports of its containers that have a name, in the order of the containers.
    pub ports: Option<Arc<[NamedPort]>>,
    /// Where it runs; nothing until it is scheduled.
    pub node: Option<Text>,
}

impl Pod {
    /// Whether an AddressGroup says the same about both.
    pub fn has_same_address(&self, other: &Self) -> bool {
        self.ips == other.ips && self.ports == other.ports
    }

    /// Whether an AppliedToGroup says the same about both.
    pub fn has_same_place(&self, other: &Self) -> bool {
        self.node == other.node && self.ports == other.ports
    }
}

/// The addresses of a Pod: mostly one, of IPv4, which takes no allocation.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum PodIps {
    /// It has none yet.
    #[default]
    None,
    /// One of IPv4.
    V4(Ipv4Addr),
    /// Anything else.
    Several(Box<[IpAddr]>),
}

impl PodIps {
    /// Whether there is no address.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::None)
    }

    /// All addresses.
    pub fn iter(&self) -> impl Iterator<Item = IpAddr> + '_ {
        let (one, several): (Option<IpAddr>, &[IpAddr]) = match self {
            Self::None => (None, &[]),
            Self::V4(ip) => (Some(IpAddr::V4(*ip)), &[]),
            Self::Several(ips) => (None, ips),
        };
        one.into_iter().chain(several.iter().copied())
    }
}

impl FromIterator<IpAddr> for PodIps {
    fn from_iter<I: IntoIterator<Item = IpAddr>>(ips: I) -> Self {
        let mut ips = ips.into_iter();
        match (ips.next(), ips.next()) {
            (None, _) => Self::None,
            (Some(IpAddr::V4(ip)), None) => Self::V4(ip),
            (first, second) => Self::Several(first.into_iter().chain(second).chain(ips).collect()),
        }
    }
}

/// A port of a Pod that policies can name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamedPort {
    /// Its name.
    pub name: Box<str>,
    /// Its number.
    pub port: u16,
    /// Its protocol.
    pub protocol: Protocol,
}

impl fmt::Display for NamedPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}/{}", self.name, self.port, self.protocol)
    }
}

impl fmt::Display for GroupMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Pod(pod) = self;
        write!(f, "{}/{}", pod.namespace, pod.name)?;
        for ip in pod.ips.iter() {
            write!(f, " {ip}")?;
        }
        for port in pod.ports.iter().flat_map(|ports| ports.iter()) {
            write!(f, " {port}")?;
        }
        pod.node.iter().try_for_each(|node| write!(f, " on {node}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_out_as_they_went_in() {
        for text in ["", "10.0.0.1", "fd00::1", "10.0.0.1 fd00::1", "10.0.0.1 fd00::1 10.0.0.2"] {
            let ips: PodIps = text.split_whitespace().map(|ip| ip.parse::<IpAddr>().unwrap()).collect();
            let back: Vec<String> = ips.iter().map(|ip| ip.to_string()).collect();
            assert_eq!((back.join(" ").as_str(), ips.is_empty()), (text, text.is_empty()));
        }
    }
}
