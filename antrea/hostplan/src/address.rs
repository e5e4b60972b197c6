//! Addresses of interfaces.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use antrea_types::IpFamily;
use ipnet::IpNet;

use crate::{InvalidNumber, Scope};

/// Whether the kernel makes the route to the prefix of an address (`IFA_F_NOPREFIXROUTE`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PrefixRoute {
    /// It does, with protocol `kernel`.
    Kernel,
    /// Somebody else does.
    None,
}

/// An address of an interface with the length of its prefix, printed as `ip address add` takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// The address (host bits kept) and its prefix length.
    pub net: IpNet,
    /// How far the address is valid.
    pub scope: Scope,
    /// Who makes the route to the prefix.
    pub prefix_route: PrefixRoute,
}

/// Text that is not an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAddress {
    /// The first word is not ADDRESS/LENGTH.
    #[error("{0:?} is not an address with a prefix length, such as 10.10.0.1/24")]
    Net(String),
    /// The scope is unknown.
    #[error("the scope of an address cannot be read")]
    Scope(#[source] InvalidNumber),
    /// A word that has no meaning for an address.
    #[error("{0:?} has no meaning in an address: `scope SCOPE` and `noprefixroute` are known")]
    Word(String),
}

impl Address {
    /// A global address with a prefix route made by the kernel.
    pub const fn global(net: IpNet) -> Self {
        Self { net, scope: Scope::GLOBAL, prefix_route: PrefixRoute::Kernel }
    }

    /// The address without its prefix.
    pub fn ip(&self) -> IpAddr {
        self.net.addr()
    }

    /// The family of the address.
    pub const fn family(&self) -> IpFamily {
        IpFamily::of_net(&self.net)
    }

    /// Whether the address is valid on its link only (RFC 3927, RFC 4291 §2.5.6), or on the Node only.
    pub fn is_local(&self) -> bool {
        match self.net.addr() {
            IpAddr::V4(ip) => ip.is_link_local() || ip.is_loopback(),
            IpAddr::V6(ip) => ip.is_unicast_link_local() || ip.is_loopback(),
        }
    }
}

impl From<IpNet> for Address {
    fn from(net: IpNet) -> Self {
        Self::global(net)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.net)?;
        if self.scope != Scope::GLOBAL {
            write!(f, " scope {}", self.scope)?;
        }
        match self.prefix_route {
            PrefixRoute::Kernel => Ok(()),
            PrefixRoute::None => f.write_str(" noprefixroute"),
        }
    }
}

impl FromStr for Address {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut words = text.split_whitespace();
        let first = words.next().unwrap_or_default();
        let net = first.parse().map_err(|_| InvalidAddress::Net(first.to_owned()))?;
        let mut address = Self::global(net);
        while let Some(word) = words.next() {
            match word {
                "scope" => {
                    address.scope =
                        words.next().unwrap_or_default().parse().map_err(InvalidAddress::Scope)?;
                }
                "noprefixroute" => address.prefix_route = PrefixRoute::None,
                other => return Err(InvalidAddress::Word(other.to_owned())),
            }
        }
        Ok(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_and_written_alike() {
        for text in
            ["10.10.0.1/24", "fd00:10::1/64", "169.254.1.1/32 scope link", "10.0.0.2/24 noprefixroute"]
        {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in ["", "10.10.0.1", "10.10.0.1/33", "10.10.0.1/24 scope", "10.10.0.1/24 brd +"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }

    #[test]
    fn link_local_and_loopback_addresses_are_local() {
        for (text, local) in [
            ("fe80::1/64", true),
            ("127.0.0.1/8", true),
            ("169.254.3.4/16", true),
            ("10.0.0.1/8", false),
            ("fd00::1/64", false),
        ] {
            assert_eq!(text.parse::<Address>().unwrap().is_local(), local, "{text}");
        }
    }
}
