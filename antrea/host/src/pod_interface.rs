//! A Pod's interface: a veth pair with one end on the Node, the other in the Pod's network namespace.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;

use antrea_hostplan::{Address, Route, Sysctl};
use antrea_types::{DualStack, InterfaceName, MacAddr};
use futures::executor::block_on;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use socket2::{Domain, Socket, Type};

use crate::device_chain::DeviceChainError;
use crate::ethtool::{EthtoolError, TxChecksumOffload, set_tx_checksum_offload};
use crate::ingress_drop::IngressDrops;
use crate::netlink::{Link, Veth, VethEnd};
use crate::netns::on_own_thread;
use crate::{Netlink, NetlinkError, Netns, NetnsError, Outcome, SysctlError, ensure_sysctl};

pub use crate::pod_interface_check::{Problem, check};

/// Whether the Node's own stack sees what the Pod sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostIngress {
    /// It does, where OVS leaves it anything: the datapath is the kernel's.
    Accept,
    /// It does not: OVS reads a copy, and nobody else may (the `netdev` datapath).
    Drop,
}

/// A Pod's interface as it is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodInterface {
    /// The path of the Pod's network namespace.
    pub netns: PathBuf,
    /// The name of the end on the Node.
    pub host_name: InterfaceName,
    /// The name of the end in the Pod.
    pub name: InterfaceName,
    /// The address of the end in the Pod; the kernel chooses a random one where none is given.
    pub mac: Option<MacAddr>,
    /// The MTU of both ends.
    pub mtu: u32,
    /// The Pod's addresses with the prefixes of their networks.
    pub addresses: Vec<IpNet>,
    /// Where the Pod sends what is not on its link.
    pub gateways: DualStack<IpAddr>,
    /// Who computes the checksums of packets that the Pod sends.
    pub checksum_offload: TxChecksumOffload,
    /// Whether the Node's own stack sees what the Pod sends.
    pub host_ingress: HostIngress,
}

/// A Pod's interface as it came to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedPodInterface {
    /// The end on the Node.
    pub host: Link,
    /// The end in the Pod.
    pub container: Link,
}

/// A Pod's interface cannot be created, deleted or checked.
#[derive(Debug, thiserror::Error)]
pub enum PodInterfaceError {
    /// The Pod's namespace cannot be used.
    #[error("cannot use the network namespace of the Pod")]
    Netns(#[from] NetnsError),
    /// The kernel refused something.
    #[error("cannot configure the interface of the Pod")]
    Netlink(#[from] NetlinkError),
    /// Checksum offload.
    #[error("cannot configure checksum offload of the Pod")]
    Ethtool(#[from] EthtoolError),
    /// The ingress drop on the Node.
    #[error("cannot keep the Node's stack away from the interface of the Pod")]
    IngressDrop(#[from] DeviceChainError),
    /// A kernel parameter in the Pod.
    #[error("cannot enable IPv6 in the network namespace of the Pod")]
    Sysctl(#[from] SysctlError),
    /// A socket in the Pod's namespace.
    #[error("cannot open a socket in the network namespace of the Pod")]
    Socket(#[source] io::Error),
    /// A thread of its own for what takes the kernel long.
    #[error("cannot start a thread to delete the interface of the Pod")]
    Thread(#[source] io::Error),
}

impl PodInterface {
    /// The Pod's addresses, as they are set on its interface.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = Address> + '_ {
        self.addresses.iter().copied().map(Address::global)
    }

    /// The Pod's default routes, IPv4 first.
    pub(crate) fn routes(&self) -> impl Iterator<Item = Route> + '_ {
        self.gateways.iter().map(|gateway| {
            let everything = match gateway {
                IpAddr::V4(_) => IpNet::V4(Ipv4Net::default()),
                IpAddr::V6(_) => IpNet::V6(Ipv6Net::default()),
            };
            Route::via(everything, *gateway, &self.name)
        })
    }

    fn needs_ipv6(&self) -> bool {
        self.addresses.iter().any(|net| net.addr().is_ipv6())
    }
}

/// What was opened in the Pod's namespace, and works there from any thread.
pub(crate) struct PodNetns {
    pub(crate) netlink: Netlink,
    pub(crate) socket: Socket,
}

impl PodNetns {
    pub(crate) async fn open(interface: &PodInterface) -> Result<Self, PodInterfaceError> {
        let netns = Netns::open(&interface.netns)?;
        netns.run(Self::current).await?
    }

    /// That of the calling thread.
    fn current() -> Result<Self, PodInterfaceError> {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).map_err(PodInterfaceError::Socket)?;
        Ok(Self { netlink: Netlink::current()?, socket })
    }
}

/// Creates a Pod's interface, both ends up. A leftover with the name of the end on the Node is replaced.
///
/// One visit of the Pod's namespace does all of it: where many Pods come at once, each change of threads is a wait for a
/// processor.
///
/// # Errors
/// The Pod's namespace is gone, its interface exists already, or the kernel refuses something. What was made by then is
/// removed again.
pub async fn create(
    node: &Netlink,
    interface: &PodInterface,
) -> Result<CreatedPodInterface, PodInterfaceError> {
    let netns = Netns::open(&interface.netns)?;
    // By this thread, which is in the namespace of the Node.
    let drops = IngressDrops::of(node).await?;
    let (node, interface, there) = (node.clone(), interface.clone(), netns.clone());
    netns.run(move || block_on(create_from_within(&node, &drops, &interface, &there))).await?
}

async fn create_from_within(
    node: &Netlink,
    drops: &IngressDrops,
    interface: &PodInterface,
    netns: &Netns,
) -> Result<CreatedPodInterface, PodInterfaceError> {
    if interface.needs_ipv6() {
        // Some container runtimes start namespaces without IPv6; interfaces yet to come follow `default`.
        ensure_sysctl(&Sysctl::new("net/ipv6/conf/default/disable_ipv6", 0))?;
    }
    let pod = PodNetns::current()?;
    let (veth, host_name) = (veth(interface, netns), &interface.host_name);
    match node.create_veth(&veth).await {
        Err(error) if error.is_exists() && delete_now(node, drops, host_name).await? == Outcome::Changed => {
            node.create_veth(&veth).await?;
        }
        other => other?,
    }
    match configure(node, drops, &pod, interface).await {
        Ok(created) => Ok(created),
        Err(error) => {
            // The first error is what the caller has to know; whatever cannot be removed is found by the next attempt.
            let _ = delete_now(node, drops, host_name).await;
            Err(error)
        }
    }
}

/// Deletes a Pod's interface by the name of its end on the Node, where `node` is a connection in the namespace of the
/// process. Repeating it changes nothing.
///
/// The kernel lets grace periods pass before it is done, 10 to 30 ms without any work. A thread of its own waits for
/// that, none of the runtime; who has to answer sooner need not wait at all.
///
/// # Errors
/// The kernel refuses.
pub async fn delete(node: &Netlink, host_name: &InterfaceName) -> Result<Outcome, PodInterfaceError> {
    // Not by the thread, which ends.
    let drops = IngressDrops::of(node).await?;
    if node.link(host_name).await?.is_none() && !drops.list().await?.contains(host_name) {
        return Ok(Outcome::Unchanged);
    }
    let name = host_name.clone();
    // By a connection of its own, so that nobody else waits either.
    let delete = move || block_on(async { delete_now(&Netlink::current()?, &drops, &name).await });
    on_own_thread(delete).await.map_err(PodInterfaceError::Thread)?
}

/// The link goes first: as long as it can receive, what it receives is dropped.
async fn delete_now(
    node: &Netlink,
    drops: &IngressDrops,
    host_name: &InterfaceName,
) -> Result<Outcome, PodInterfaceError> {
    let deleted = node.delete_link(host_name).await?;
    // Kernels since 6.16 keep the chain of a device that is gone, and give it to the next one of that name.
    drops.remove(host_name).await?;
    Ok(deleted)
}

fn veth(interface: &PodInterface, netns: &Netns) -> Veth {
    let mtu = interface.mtu;
    Veth {
        here: VethEnd { name: interface.host_name.clone(), mac: None, mtu },
        peer: VethEnd { name: interface.name.clone(), mac: interface.mac, mtu },
        peer_netns: Some(netns.clone()),
    }
}

/// The order matters: what the Pod sends is kept from the Node's stack before anything can be sent, and both ends are up
/// before routes are set.
async fn configure(
    node: &Netlink,
    drops: &IngressDrops,
    pod: &PodNetns,
    interface: &PodInterface,
) -> Result<CreatedPodInterface, PodInterfaceError> {
    if interface.host_ingress == HostIngress::Drop {
        drops.add(&interface.host_name).await?;
    }
    if interface.checksum_offload == TxChecksumOffload::Off {
        set_tx_checksum_offload(&pod.socket, &interface.name, TxChecksumOffload::Off)?;
    }
    node.keep_without_link_local_address(&interface.host_name).await?;
    node.set_up(&interface.host_name).await?;
    pod.netlink.set_up(&interface.name).await?;
    let container = pod.netlink.existing_link(&interface.name).await?;
    for address in interface.addresses() {
        pod.netlink.set_address(container.index, &interface.name, &address).await?;
    }
    for route in interface.routes() {
        pod.netlink.set_route_on(container.index, &route).await?;
    }
    Ok(CreatedPodInterface { host: node.existing_link(&interface.host_name).await?, container })
}
