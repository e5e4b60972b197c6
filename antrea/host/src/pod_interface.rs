//! A Pod's interface: a veth pair with one end on the Node, the other in the Pod's network namespace.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;

use antrea_hostplan::{Address, Route, Sysctl};
use antrea_types::{DualStack, InterfaceName, MacAddr};
use futures::future::try_join_all;
use futures::try_join;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use socket2::{Domain, Socket, Type};

use crate::ethtool::{EthtoolError, TxChecksumOffload, set_tx_checksum_offload};
use crate::ingress_drop::{IngressDropError, IngressDrops};
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
    IngressDrop(#[from] IngressDropError),
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
    pub(crate) netns: Netns,
    pub(crate) netlink: Netlink,
    pub(crate) socket: Socket,
}

impl PodNetns {
    pub(crate) async fn open(interface: &PodInterface) -> Result<Self, PodInterfaceError> {
        let netns = Netns::open(&interface.netns)?;
        let runtime = tokio::runtime::Handle::current();
        let needs_ipv6 = interface.needs_ipv6();
        let open = move || {
            let _context = runtime.enter();
            if needs_ipv6 {
                // Some container runtimes start namespaces without IPv6; interfaces yet to come follow `default`.
                ensure_sysctl(&Sysctl::new("net/ipv6/conf/default/disable_ipv6", 0))?;
            }
            let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).map_err(PodInterfaceError::Socket)?;
            Ok::<_, PodInterfaceError>((Netlink::current()?, socket))
        };
        let (netlink, socket) = netns.run(open).await??;
        Ok(Self { netns, netlink, socket })
    }
}

/// Creates a Pod's interface, both ends up. A leftover with the name of the end on the Node is replaced.
///
/// # Errors
/// The Pod's namespace is gone, its interface exists already, or the kernel refuses something. What was made by then is
/// removed again.
pub async fn create(
    node: &Netlink,
    interface: &PodInterface,
) -> Result<CreatedPodInterface, PodInterfaceError> {
    let pod = PodNetns::open(interface).await?;
    let veth = veth(interface, &pod.netns);
    match node.create_veth(&veth).await {
        Err(error) if error.is_exists() && delete(node, &interface.host_name).await? == Outcome::Changed => {
            node.create_veth(&veth).await?;
        }
        other => other?,
    }
    match configure(node, &pod, interface).await {
        Ok(created) => Ok(created),
        Err(error) => {
            // The first error is what the caller has to know; whatever cannot be removed is found by the next attempt.
            let _ = delete(node, &interface.host_name).await;
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
    let drops = node.ingress_drops().await?;
    if node.link(host_name).await?.is_none() && !drops.list().await?.contains(host_name) {
        return Ok(Outcome::Unchanged);
    }
    let name = host_name.clone();
    let delete = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        runtime.map_err(PodInterfaceError::Thread)?.block_on(delete_now(&drops, &name))
    };
    on_own_thread(delete).await.map_err(PodInterfaceError::Thread)?
}

/// The link goes first: as long as it can receive, what it receives is dropped.
async fn delete_now(drops: &IngressDrops, host_name: &InterfaceName) -> Result<Outcome, PodInterfaceError> {
    let deleted = Netlink::current()?.delete_link(host_name).await?;
    // Kernels since 6.16 keep the chain of a device that is gone, and give it to the next one of that name.
    drops.remove(host_name).await?;
    Ok(deleted)
}

fn veth(interface: &PodInterface, netns: &Netns) -> Veth {
    Veth {
        here: VethEnd { name: interface.host_name.clone(), mac: None, mtu: interface.mtu },
        peer: VethEnd { name: interface.name.clone(), mac: interface.mac, mtu: interface.mtu },
        peer_netns: Some(netns.clone()),
    }
}

/// The order matters: what the Pod sends is kept from the Node's stack before anything can be sent, and both ends are up
/// before routes are set. The kernel takes the requests of a socket one after the other, so that those of each step are
/// sent together: where many Pods come at once, each wait for an answer is a wait for a processor.
async fn configure(
    node: &Netlink,
    pod: &PodNetns,
    interface: &PodInterface,
) -> Result<CreatedPodInterface, PodInterfaceError> {
    if interface.host_ingress == HostIngress::Drop {
        node.ingress_drops().await?.add(&interface.host_name).await?;
    }
    if interface.checksum_offload == TxChecksumOffload::Off {
        set_tx_checksum_offload(&pod.socket, &interface.name, TxChecksumOffload::Off)?;
    }
    let (host_name, name) = (&interface.host_name, &interface.name);
    let ((), (), host, container) = try_join!(
        node.set_up(host_name),
        pod.netlink.set_up(name),
        node.existing_link(host_name),
        pod.netlink.existing_link(name),
    )?;
    let set_address = |address| async move { pod.netlink.set_address(container.index, name, &address).await };
    let set_route = |route| async move { pod.netlink.set_route_on(container.index, &route).await };
    try_join!(
        try_join_all(interface.addresses().map(set_address)),
        try_join_all(interface.routes().map(set_route)),
    )?;
    Ok(CreatedPodInterface { host, container })
}
