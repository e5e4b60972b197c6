//! What the Node is like before its network is set up.

use antrea_config::{AgentConfig, DatapathType, TransportInterface};
use antrea_host::{Netlink, NodeTransport, find_transport};
use antrea_kit::health::Check;
use antrea_ovs::ovsdb::OvsDb;
use anyhow::{Context, Result};
use ipnet::IpNet;
use kube::Client;
use tracing::info;

use crate::node::{self, OwnNode};
use crate::own_annotation::TransportAddresses;
use crate::{bridge, tunnel, uplink};

/// What the Node is like before the bridge is made.
pub(crate) struct Surroundings {
    pub(crate) node: OwnNode,
    pub(crate) database: OvsDb,
    pub(crate) netlink: Netlink,
    pub(crate) transport: NodeTransport,
    pub(crate) pod_mtu: u16,
    /// Where peers are told that tunnels of this Node end.
    pub(crate) transport_addresses: TransportAddresses,
}

/// Finds out what the Node is like, and puts the transport interface where the datapath needs it.
pub(crate) async fn survey(config: &AgentConfig, client: &Client, ready: &Check) -> Result<Surroundings> {
    let name = node::own_name()?;
    let (node, database) =
        tokio::join!(node::wait(client, &name, ready), OvsDb::connect(bridge::database_socket(config)));
    info!(node = %node.name, pod_cidrs = list(node.pod_cidrs.iter()), "Setting up the Pod network of this Node");
    let netlink = Netlink::current().context("cannot talk to the kernel")?;
    let selector = match config.ovs.datapath_type {
        DatapathType::System => uplink::selector(config, &node),
        DatapathType::Netdev => uplink::ensure(&database, &netlink, config, &node).await?,
    };
    let transport = find_transport(&netlink, &selector).await?;
    let pod_mtu = tunnel::pod_mtu(config, &transport, &node.pod_cidrs)?;
    let annotation = match config.transport_interface {
        TransportInterface::NodeIp => None,
        TransportInterface::Named(_) | TransportInterface::Cidrs(_) => {
            Some(list(transport.transport.addresses.iter().map(IpNet::addr)))
        }
    };
    if node.transport_annotation != annotation {
        node::annotate_transport_addresses(client, &node.name, annotation.as_deref()).await?;
    }
    Ok(Surroundings { node, database, netlink, transport, pod_mtu, transport_addresses: annotation })
}

fn list<T: ToString>(values: impl Iterator<Item = T>) -> String {
    values.map(|value| value.to_string()).collect::<Vec<_>>().join(",")
}
