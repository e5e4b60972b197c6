//! What a Node's interfaces and addresses are for: traffic between Nodes, NodePorts.

use std::collections::BTreeSet;
use std::net::IpAddr;

use antrea_hostplan::{
    InterfaceAddresses, OwnNetwork, Transport, TransportError, TransportSelector, node_port_addresses,
    select_transport,
};
use antrea_types::{InterfaceName, MacAddr};
use ipnet::IpNet;

use crate::netlink::Link;
use crate::{Netlink, NetlinkError};

/// The transport interface as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeTransport {
    /// The interface and its addresses.
    pub transport: Transport,
    /// Its index.
    pub index: u32,
    /// Its MTU.
    pub mtu: u32,
    /// Its link-layer address, where it is an Ethernet one.
    pub mac: Option<MacAddr>,
}

/// The transport interface cannot be found.
#[derive(Debug, thiserror::Error)]
pub enum FindTransportError {
    /// The kernel cannot be asked.
    #[error("cannot look for the transport interface")]
    Netlink(#[from] NetlinkError),
    /// No interface fits.
    #[error("cannot choose the transport interface")]
    Choice(#[from] TransportError),
}

/// Finds the transport interface. Where the userspace datapath has its addresses on a bridge, the bridge is what is
/// found by address, and what is to be asked for by name.
///
/// # Errors
/// No interface fits, or the kernel cannot be asked.
pub async fn find_transport(
    netlink: &Netlink,
    selector: &TransportSelector,
) -> Result<NodeTransport, FindTransportError> {
    let links = netlink.links().await?;
    let interfaces = interfaces(netlink, &links).await?;
    let transport = select_transport(selector, &interfaces)?;
    let link = links.into_iter().find(|link| link.name == transport.interface);
    let link = link.ok_or_else(|| NetlinkError::NoInterface(transport.interface.clone()))?;
    Ok(NodeTransport { transport, index: link.index, mtu: link.mtu, mac: link.mac })
}

/// The addresses of the Node that NodePorts are served on: [`antrea_hostplan::node_port_addresses`] as things are.
///
/// # Errors
/// The kernel cannot be asked.
pub async fn find_node_port_addresses(
    netlink: &Netlink,
    gateway: &InterfaceName,
    cidrs: &[IpNet],
) -> Result<BTreeSet<IpAddr>, NetlinkError> {
    let links = netlink.links().await?;
    Ok(node_port_addresses(&interfaces(netlink, &links).await?, gateway, cidrs))
}

/// What the Node's kernel has beside what the agent gave it, as things are.
///
/// # Errors
/// The kernel cannot be asked.
pub async fn find_own_network(
    netlink: &Netlink,
    gateway: &InterfaceName,
) -> Result<OwnNetwork, NetlinkError> {
    let links = netlink.links().await?;
    let interfaces = interfaces(netlink, &links).await?;
    let index = links.iter().find(|link| link.name == *gateway).map(|link| link.index);
    Ok(OwnNetwork::of(&interfaces, gateway, netlink.next_hops_but_through(index).await?))
}

async fn interfaces(netlink: &Netlink, links: &[Link]) -> Result<Vec<InterfaceAddresses>, NetlinkError> {
    let addresses = netlink.all_addresses().await?;
    let addresses_of = |link: &Link| {
        let of_link = addresses.iter().filter(|(index, _)| *index == link.index);
        of_link.map(|(_, address)| address.net).collect()
    };
    let interface =
        |link: &Link| InterfaceAddresses { name: link.name.clone(), addresses: addresses_of(link) };
    Ok(links.iter().map(interface).collect())
}
