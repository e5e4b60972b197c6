//! Addresses of interfaces that are gone: nobody gets one before the connections of its former owner are forgotten.

use std::net::IpAddr;
use std::sync::Arc;

use antrea_cni::error::CniError;
use antrea_cni::proto::ErrorCode;
use tracing::warn;

use crate::commands::Commands;
use crate::ipam::Owner;

impl Commands {
    /// Gives back all addresses of an interface whose flows are gone. Each stays reserved for some time.
    ///
    /// # Errors
    /// When the IPAM state cannot be read.
    pub(crate) async fn give_back_all(self: &Arc<Self>, owner: Owner) -> Result<(), CniError> {
        let addresses = self.with_ipam(|ipam| ipam.held_by(&owner)).await?;
        self.give_back(addresses, owner);
        Ok(())
    }

    /// Gives back addresses whose flows are gone, in the background: the datapath takes up to a second to forget, a switch that
    /// is away longer. An agent that ends before leaves them reserved; a later one gives them back.
    pub(crate) fn give_back(self: &Arc<Self>, addresses: Vec<IpAddr>, holder: Owner) {
        if addresses.is_empty() {
            return;
        }
        let commands = Arc::clone(self);
        self.giving_back.spawn(async move {
            if let Err(error) = commands.forget_and_release(&addresses, &holder).await {
                warn!(%error, ?addresses, container = holder.container_id, "Addresses of a former Pod stay reserved");
            }
        });
    }

    async fn forget_and_release(&self, addresses: &[IpAddr], holder: &Owner) -> Result<(), CniError> {
        let forgotten = self.node.flows.forget(addresses).await;
        forgotten.map_err(|error| CniError::from_chain(ErrorCode::ConfigInterfaceFailure, error.as_ref()))?;
        let _guard = self.locks.lock(&holder.container_id).await;
        // The same container may have been attached again, with its addresses.
        if self.is_attached(holder) {
            return Ok(());
        }
        for address in addresses {
            self.with_ipam(|ipam| ipam.release_address(*address, holder)).await?;
        }
        Ok(())
    }
}
