//! What Antrea does to a Node's network stack: links, addresses, routes and neighbours by netlink in any network
//! namespace, ethtool and nf_tables without a process, iptables and IP sets in batches.
//!
//! The decisions are values of `antrea-hostplan`; this crate compares them with what is there and applies them.

pub mod announce;
mod blocking;
pub mod bridge_uplink;
mod command;
mod device_chain;
mod echo_socket;
mod ethtool;
pub mod firewall;
mod firewall_presence;
mod ingress_drop;
mod kernel_socket;
mod marked_source;
mod marked_source_rule;
pub mod netlink;
mod netns;
mod nfnetlink;
mod packets;
pub mod pod_interface;
mod pod_interface_check;
mod sysctl;
mod transport;

pub use blocking::blocking;
pub use command::CommandError;
pub use device_chain::{DeviceChainError, remove_device_chains};
pub use echo_socket::EchoSocket;
pub use ethtool::{EthtoolError, TxChecksumOffload, set_tx_checksum_offload, tx_checksum_offload};
pub use firewall::FirewallError;
pub use ingress_drop::{drop_ingress, ingress_drops, stop_dropping_ingress};
pub use netlink::{AddressWatch, AdminState, Link, LinkSettings, LinkWatch, Netlink, NetlinkError};
pub use netns::{Netns, NetnsError};
pub use pod_interface::{PodInterface, PodInterfaceError};
pub use sysctl::{SysctlError, ensure_sysctl, ensure_sysctls, ensure_sysctls_in};
pub use transport::{
    FindTransportError, NodeTransport, find_node_port_addresses, find_own_network, find_transport,
};

/// Whether something had to be changed to be as desired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was so already.
    Unchanged,
    /// It is so now.
    Changed,
}
