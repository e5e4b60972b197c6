//! Addresses of interfaces that are gone: nobody gets one before the connections of its former owner are forgotten.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use antrea_cni::error::CniError;
use antrea_cni::proto::ErrorCode;
use antrea_types::IpFamily;
use tracing::warn;

use crate::commands::Commands;
use crate::flows::FlowError;
use crate::ipam::Owner;

/// How often addresses have been given back.
type Turn = u64;

/// Addresses that are being given back, each with the last time that it was.
#[derive(Default)]
pub(crate) struct FormerAddresses(Mutex<(Turn, HashMap<IpAddr, Turn>)>);

impl FormerAddresses {
    fn begin(&self, addresses: &[IpAddr]) -> Turn {
        let (last, turns) = &mut *self.lock();
        *last += 1;
        turns.extend(addresses.iter().map(|address| (*address, *last)));
        *last
    }

    /// Those that are neither in use again nor given back once more since.
    fn still(&self, addresses: &[IpAddr], turn: Turn) -> Vec<IpAddr> {
        let (_, turns) = &*self.lock();
        addresses.iter().filter(|address| turns.get(*address) == Some(&turn)).copied().collect()
    }

    /// Ends it; those of the addresses that were being given back.
    fn end(&self, addresses: &[IpAddr]) -> Vec<IpAddr> {
        let (_, turns) = &mut *self.lock();
        addresses.iter().filter(|address| turns.remove(*address).is_some()).copied().collect()
    }

    fn lock(&self) -> MutexGuard<'_, (Turn, HashMap<IpAddr, Turn>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Commands {
    /// Gives back all addresses of an interface whose flows are gone. Each stays reserved for some time.
    ///
    /// # Errors
    /// When the IPAM state cannot be read.
    pub(crate) async fn give_back_all(self: &Arc<Self>, owner: Owner) -> Result<(), CniError> {
        let addresses = self.with_ipam(|ipam| ipam.held_by(&owner)).await?;
        self.give_back(&addresses, &owner);
        Ok(())
    }

    /// Gives back addresses whose flows are gone, in the background: the datapath takes up to a second to forget (a minute, where
    /// it has to wait for connections of a family), a switch that is away longer. An agent that ends before leaves them
    /// reserved; a later one gives them back. The container must be locked.
    pub(crate) fn give_back(self: &Arc<Self>, addresses: &[IpAddr], holder: &Owner) {
        for family in IpFamily::ALL {
            let of_family = |address: &&IpAddr| IpFamily::of(address) == family;
            let addresses: Vec<IpAddr> = addresses.iter().filter(of_family).copied().collect();
            if addresses.is_empty() {
                continue;
            }
            let (turn, closed) = (self.former_addresses.begin(&addresses), self.node.flows.close(&addresses));
            let (commands, holder) = (Arc::clone(self), holder.clone());
            self.giving_back.spawn(async move {
                let released = async {
                    closed.await.map_err(|error| failed(&error))?;
                    commands.forget_and_release(&addresses, &holder, turn).await
                };
                if let Err(error) = released.await {
                    warn!(%error, ?addresses, container = holder.container_id, "Addresses of a former Pod stay reserved");
                }
            });
        }
    }

    /// The same container may get its addresses again, and give them back again, at any moment at which it is not locked.
    async fn forget_and_release(
        &self,
        addresses: &[IpAddr],
        holder: &Owner,
        turn: Turn,
    ) -> Result<(), CniError> {
        self.node.flows.forget(addresses).await.map_err(|error| failed(&error))?;
        let _guard = self.locks.lock(&holder.container_id).await;
        for address in self.open(&self.former_addresses.still(addresses, turn)) {
            self.with_ipam(|ipam| ipam.release_address(address, holder)).await?;
        }
        Ok(())
    }

    /// Opens those of the addresses that were being given back, and tells which. The container must be locked.
    pub(crate) fn open(&self, addresses: &[IpAddr]) -> Vec<IpAddr> {
        let former = self.former_addresses.end(addresses);
        self.node.flows.open(&former);
        former
    }
}

fn failed(error: &FlowError) -> CniError {
    CniError::from_chain(ErrorCode::ConfigInterfaceFailure, error.as_ref())
}
