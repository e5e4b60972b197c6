//! Permanent entries of the neighbour tables (ARP and ND).

use std::fmt;
use std::net::IpAddr;

use antrea_types::{InterfaceName, MacAddr};

/// A permanent neighbour, printed as `ip neighbour show` does.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Neighbour {
    /// The address that the neighbour is known by.
    pub ip: IpAddr,
    /// The interface that it is reached through.
    pub device: InterfaceName,
    /// Its link-layer address.
    pub mac: MacAddr,
}

impl fmt::Display for Neighbour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} dev {} lladdr {} PERMANENT", self.ip, self.device, self.mac)
    }
}
