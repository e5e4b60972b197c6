//! Which interface carries traffic between Nodes, and under which addresses.

use std::net::IpAddr;

use antrea_types::{DualStack, InterfaceName, IpFamily};
use ipnet::IpNet;

/// How the transport interface is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransportSelector {
    /// By its name (`transportInterface`).
    Interface(InterfaceName),
    /// By its addresses lying in one of these networks, the first network that finds one (`transportInterfaceCIDRs`).
    Cidrs(Vec<IpNet>),
    /// By the addresses that Kubernetes knows the Node by.
    NodeAddresses(DualStack<IpAddr>),
}

/// An interface and its addresses, in the kernel's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceAddresses {
    /// The interface.
    pub name: InterfaceName,
    /// Its addresses, prefixes with host bits.
    pub addresses: Vec<IpNet>,
}

/// The transport interface and its addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transport {
    /// The interface.
    pub interface: InterfaceName,
    /// The addresses that peers reach this Node by, with the length of their prefixes.
    pub addresses: DualStack<IpNet>,
}

/// No interface fits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// The interface does not exist.
    #[error("the transport interface {wanted} does not exist; there are: {}", list(there))]
    NoInterface {
        /// What is configured.
        wanted: InterfaceName,
        /// What exists.
        there: Vec<InterfaceName>,
    },
    /// The interface has no address.
    #[error("the transport interface {0} has no IP address beyond the link")]
    NoAddress(InterfaceName),
    /// No interface has an address in one of the networks.
    #[error("no interface has an address in {}; there are: {}", list(cidrs), list(there))]
    NoneInCidrs {
        /// What is configured.
        cidrs: Vec<IpNet>,
        /// The addresses that exist.
        there: Vec<IpNet>,
    },
    /// No interface has an address of the Node.
    #[error(
        "no interface has an address of this Node, which are {}; there are: {}",
        list(wanted),
        list(there)
    )]
    NoneOfNode {
        /// The addresses of the Node.
        wanted: Vec<IpAddr>,
        /// The addresses that exist.
        there: Vec<IpNet>,
    },
    /// The addresses of the families are on different interfaces.
    #[error("the IPv4 transport address is on {v4} and the IPv6 one on {v6}: both must be on one interface")]
    TwoInterfaces {
        /// The interface with the IPv4 address.
        v4: InterfaceName,
        /// The interface with the IPv6 address.
        v6: InterfaceName,
    },
}

fn list<T: ToString>(values: &[T]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Chooses the transport interface.
///
/// # Errors
/// No interface fits, or the two families choose different ones.
pub fn select_transport(
    selector: &TransportSelector,
    interfaces: &[InterfaceAddresses],
) -> Result<Transport, TransportError> {
    match selector {
        TransportSelector::Interface(name) => by_name(name, interfaces),
        TransportSelector::Cidrs(cidrs) => by_network(cidrs, interfaces)?.ok_or_else(|| {
            TransportError::NoneInCidrs { cidrs: cidrs.clone(), there: beyond_link(interfaces) }
        }),
        TransportSelector::NodeAddresses(addresses) => {
            let wanted: Vec<IpAddr> = addresses.iter().copied().collect();
            let networks: Vec<IpNet> = wanted.iter().copied().map(IpNet::from).collect();
            by_network(&networks, interfaces)?
                .ok_or_else(|| TransportError::NoneOfNode { wanted, there: beyond_link(interfaces) })
        }
    }
}

fn by_name(name: &InterfaceName, interfaces: &[InterfaceAddresses]) -> Result<Transport, TransportError> {
    let found = interfaces.iter().find(|interface| interface.name == *name).ok_or_else(|| {
        let there = interfaces.iter().map(|interface| interface.name.clone()).collect();
        TransportError::NoInterface { wanted: name.clone(), there }
    })?;
    let addresses: DualStack<IpNet> = usable(found).collect();
    if addresses.is_empty() {
        return Err(TransportError::NoAddress(name.clone()));
    }
    Ok(Transport { interface: name.clone(), addresses })
}

/// For each family the first address in the first of the networks that has one.
fn by_network(
    networks: &[IpNet],
    interfaces: &[InterfaceAddresses],
) -> Result<Option<Transport>, TransportError> {
    let addresses: Vec<(&InterfaceAddresses, IpNet)> =
        interfaces.iter().flat_map(|interface| usable(interface).map(move |net| (interface, net))).collect();
    let find = |family| {
        let mut of_family = networks.iter().filter(|network| IpFamily::of_net(network) == family);
        of_family.find_map(|network| addresses.iter().find(|(_, net)| network.contains(&net.addr())).copied())
    };
    let (v4, v6) = (find(IpFamily::V4), find(IpFamily::V6));
    if let (Some((of_v4, _)), Some((of_v6, _))) = (v4, v6)
        && of_v4.name != of_v6.name
    {
        return Err(TransportError::TwoInterfaces { v4: of_v4.name.clone(), v6: of_v6.name.clone() });
    }
    Ok(v4.or(v6).map(|(interface, _)| Transport {
        interface: interface.name.clone(),
        addresses: DualStack { v4: v4.map(|(_, net)| net), v6: v6.map(|(_, net)| net) },
    }))
}

fn usable(interface: &InterfaceAddresses) -> impl Iterator<Item = IpNet> + '_ {
    interface.addresses.iter().copied().filter(|net| !crate::Address::global(*net).is_local())
}

fn beyond_link(interfaces: &[InterfaceAddresses]) -> Vec<IpNet> {
    interfaces.iter().flat_map(usable).collect()
}
