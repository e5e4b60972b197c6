//! Addresses for Pods, allocated as the standard `host-local` plugin does, in its files.

mod address_files;
pub mod host_local;
pub mod range;
pub(crate) mod shared;

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;

use ipnet::IpNet;

/// An address given to a Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The address, with the prefix length of the network it comes from.
    pub address: IpNet,
    /// The Node's gateway in that network.
    pub gateway: IpAddr,
}

/// What an address is allocated to: one interface of one container.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// CNI_CONTAINERID.
    pub container_id: String,
    /// CNI_IFNAME; none in files written by plugins before 0.8, which hold for every interface of the container.
    pub interface: Option<String>,
}

impl Owner {
    /// An interface of a container.
    pub fn new(container_id: impl Into<String>, interface: impl Into<String>) -> Self {
        Self { container_id: container_id.into(), interface: Some(interface.into()) }
    }

    /// Whether what is allocated to `self` belongs to `other`.
    pub fn covers(&self, other: &Self) -> bool {
        self.container_id == other.container_id
            && (self.interface.is_none() || self.interface == other.interface)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.interface {
            Some(interface) => write!(f, "{} {interface}", self.container_id),
            None => f.write_str(&self.container_id),
        }
    }
}

/// Why no address was allocated or released.
#[derive(Debug, thiserror::Error)]
pub enum IpamError {
    /// All addresses are in use.
    #[error("no address is left in {0}: delete Pods of this Node, or give it a larger Pod CIDR")]
    Exhausted(IpNet),
    /// A network too small to have Pods in it.
    #[error("the Pod CIDR {0} is too small: its prefix length may be 30 (IPv4) or 126 (IPv6) at most")]
    TooSmall(IpNet),
    /// The Node has no Pod CIDR.
    #[error("the Node has no Pod CIDR: set spec.podCIDRs of the Node")]
    NoPodCidr,
    /// Another program works on the state.
    #[error("another program holds the lock {}", .0.display())]
    Held(PathBuf),
    /// The state cannot be read or written.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why it failed.
        #[source]
        error: io::Error,
    },
}
