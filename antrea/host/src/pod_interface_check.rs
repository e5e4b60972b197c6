//! Compares a Pod's interface with what it is to be.

use antrea_hostplan::{Address, Route};
use antrea_types::{InterfaceName, MacAddr};

use crate::ethtool::{TxChecksumOffload, tx_checksum_offload};
use crate::ingress_drop::IngressDrops;
use crate::netlink::{AdminState, Link};
use crate::pod_interface::{HostIngress, PodInterface, PodInterfaceError, PodNetns};
use crate::{Netlink, NetnsError, blocking};

/// What is wrong with a Pod's interface.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The namespace is gone.
    #[error("the network namespace of the Pod is gone")]
    NetnsGone,
    /// An end is gone.
    #[error("the interface {0} is gone")]
    Gone(InterfaceName),
    /// An end is down.
    #[error("the interface {0} is down")]
    Down(InterfaceName),
    /// The two ends are not of one pair.
    #[error("the interfaces {host} and {container} are not the ends of one veth pair")]
    NotPeers {
        /// The end on the Node.
        host: InterfaceName,
        /// The end in the Pod.
        container: InterfaceName,
    },
    /// The MAC address is another one.
    #[error("the MAC address of {interface} is {found}, and {expected} is expected")]
    Mac {
        /// The end in the Pod.
        interface: InterfaceName,
        /// What it has.
        found: MacAddr,
        /// What it is to have.
        expected: MacAddr,
    },
    /// The MTU is another one.
    #[error("the MTU of {interface} is {found}, and {expected} is expected")]
    Mtu {
        /// One of the ends.
        interface: InterfaceName,
        /// What it has.
        found: u32,
        /// What it is to have.
        expected: u32,
    },
    /// An address is missing.
    #[error("the interface {0} lacks the address {1}")]
    NoAddress(InterfaceName, Address),
    /// A route is missing.
    #[error("the Pod lacks the route {0}")]
    NoRoute(Route),
    /// Checksums are left to a device that computes none.
    #[error("TX checksum offload of {0} is on, and off is expected")]
    ChecksumOffload(InterfaceName),
    /// The Node's stack sees what the Pod sends.
    #[error("what arrives at {0} is not kept from the Node's stack")]
    NoIngressDrop(InterfaceName),
}

/// Lists what is wrong with a Pod's interface: nothing, where it is as it is to be.
///
/// # Errors
/// The kernel cannot be asked.
pub async fn check(node: &Netlink, interface: &PodInterface) -> Result<Vec<Problem>, PodInterfaceError> {
    let pod = match PodNetns::open(interface).await {
        Ok(pod) => pod,
        Err(PodInterfaceError::Netns(NetnsError::Open { .. } | NetnsError::NotNetns(_))) => {
            return Ok(vec![Problem::NetnsGone]);
        }
        Err(error) => return Err(error),
    };
    let host = node.link(&interface.host_name).await?;
    let container = pod.netlink.link(&interface.name).await?;
    let mut problems = link_problems(interface, host.as_ref(), container.as_ref());
    if container.is_some() {
        problems.extend(network_problems(interface, &pod).await?);
    }
    if interface.host_ingress == HostIngress::Drop
        && !IngressDrops::of(node).await?.list().await?.contains(&interface.host_name)
    {
        problems.push(Problem::NoIngressDrop(interface.host_name.clone()));
    }
    Ok(problems)
}

fn link_problems(interface: &PodInterface, host: Option<&Link>, container: Option<&Link>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (name, link) in [(&interface.host_name, host), (&interface.name, container)] {
        let Some(link) = link else {
            problems.push(Problem::Gone(name.clone()));
            continue;
        };
        if link.state == AdminState::Down {
            problems.push(Problem::Down(name.clone()));
        }
        if link.mtu != interface.mtu {
            problems.push(Problem::Mtu { interface: name.clone(), found: link.mtu, expected: interface.mtu });
        }
    }
    let (Some(host), Some(container)) = (host, container) else { return problems };
    if host.peer_index != Some(container.index) || container.peer_index != Some(host.index) {
        problems.push(Problem::NotPeers { host: host.name.clone(), container: container.name.clone() });
    }
    if let (Some(expected), Some(found)) = (interface.mac, container.mac)
        && expected != found
    {
        problems.push(Problem::Mac { interface: container.name.clone(), found, expected });
    }
    problems
}

async fn network_problems(
    interface: &PodInterface,
    pod: &PodNetns,
) -> Result<Vec<Problem>, PodInterfaceError> {
    let mut problems = Vec::new();
    let addresses = pod.netlink.addresses(&interface.name).await?;
    let missing =
        interface.addresses().filter(|wanted| addresses.iter().all(|there| there.net != wanted.net));
    problems.extend(missing.map(|address| Problem::NoAddress(interface.name.clone(), address)));
    let routes = pod.netlink.routes().await?;
    let leads_there = |there: &Route, wanted: &Route| {
        there.destination == wanted.destination
            && there.gateway() == wanted.gateway()
            && there.device == wanted.device
    };
    let missing = interface.routes().filter(|wanted| !routes.iter().any(|there| leads_there(there, wanted)));
    problems.extend(missing.map(Problem::NoRoute));
    if interface.checksum_offload == TxChecksumOffload::Off
        && blocking(|| tx_checksum_offload(&pod.socket, &interface.name))? == TxChecksumOffload::On
    {
        problems.push(Problem::ChecksumOffload(interface.name.clone()));
    }
    Ok(problems)
}
