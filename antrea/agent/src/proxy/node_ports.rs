//! The addresses that NodePorts are served on: read again whenever an address of the Node comes or goes.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use antrea_host::{AddressWatch, Netlink, NetlinkError, find_node_port_addresses};
use antrea_types::InterfaceName;
use anyhow::{Context, Result};
use ipnet::IpNet;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// How long changes are gathered before addresses are read: they come by the interface.
const BURST: Duration = Duration::from_millis(100);

/// How soon is tried again to read them.
const RETRY: Duration = Duration::from_secs(5);

/// Follows the addresses.
pub(crate) struct NodePortAddresses {
    netlink: Netlink,
    gateway: InterfaceName,
    /// Only addresses in these networks, where there are any.
    cidrs: Vec<IpNet>,
    changes: AddressWatch,
    addresses: watch::Sender<BTreeSet<IpAddr>>,
}

impl NodePortAddresses {
    /// Finds them, and notices what changes from now on.
    pub(super) async fn find(netlink: &Netlink, gateway: &InterfaceName, cidrs: &[IpNet]) -> Result<Self> {
        let changes = AddressWatch::current().context("cannot watch the addresses of this Node")?;
        let addresses = find_node_port_addresses(netlink, gateway, cidrs)
            .await
            .context("cannot find the addresses of this Node for NodePorts")?;
        Ok(Self {
            netlink: netlink.clone(),
            gateway: gateway.clone(),
            cidrs: cidrs.to_vec(),
            changes,
            addresses: watch::Sender::new(addresses),
        })
    }

    pub(super) fn addresses(&self) -> watch::Receiver<BTreeSet<IpAddr>> {
        self.addresses.subscribe()
    }

    /// Follows them until `stop`.
    pub(crate) async fn keep(mut self, stop: CancellationToken) -> Result<()> {
        stop.run_until_cancelled(self.follow()).await.unwrap_or(Ok(()))
    }

    async fn follow(&mut self) -> Result<()> {
        loop {
            self.changes.changed().await.context("the addresses of this Node cannot be followed")?;
            tokio::time::sleep(BURST).await;
            while let Err(error) = self.read().await {
                warn!(
                    error = &error as &dyn std::error::Error,
                    "Cannot read the addresses of this Node; NodePorts stay on the previous ones"
                );
                tokio::time::sleep(RETRY).await;
            }
        }
    }

    async fn read(&self) -> Result<(), NetlinkError> {
        let found = find_node_port_addresses(&self.netlink, &self.gateway, &self.cidrs).await?;
        self.addresses.send_if_modified(|addresses| {
            let news = *addresses != found;
            if news {
                info!(?found, "NodePorts are served on other addresses than before");
                *addresses = found;
            }
            news
        });
        Ok(())
    }
}
