//! Addresses of interfaces that are gone: nobody gets one before the connections of its former owner are forgotten, nor, as
//! long as there are others, while peers may still take whoever has it for that one.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use antrea_cni::error::CniError;
use antrea_cni::proto::ErrorCode;
use antrea_types::IpFamily;
use futures::future::BoxFuture;
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tracing::{info, warn};

use crate::commands::Commands;
use crate::flows::FlowError;
use crate::ipam::Owner;

/// How many interfaces' addresses of a family are held back at most: what is listed for each new Pod stays short.
const HELD: usize = 256;

/// How often addresses have been given back.
type Turn = u64;

/// Addresses of one interface and one family that can be given back.
struct Former {
    addresses: Vec<IpAddr>,
    family: IpFamily,
    holder: Owner,
    turn: Turn,
}

/// Addresses of both families that are held back.
#[derive(Default)]
pub(crate) struct HeldBack {
    v4: Held,
    v6: Held,
}

/// Those of a family. Whoever was held back longest is needed first.
#[derive(Default)]
struct Held {
    count: AtomicUsize,
    needed: Notify,
}

impl HeldBack {
    const fn of(&self, family: IpFamily) -> &Held {
        match family {
            IpFamily::V4 => &self.v4,
            IpFamily::V6 => &self.v6,
        }
    }

    /// Has one address given back, if any is held back.
    pub(crate) fn need(&self, family: IpFamily) -> Needed {
        let held = self.of(family);
        if held.count.load(Ordering::SeqCst) == 0 {
            return Needed::NoneIsHeld;
        }
        held.needed.notify_one();
        Needed::Asked
    }

    /// Holds something back until that time, or until it is needed; from then on it is being given back.
    async fn hold(
        &self,
        family: IpFamily,
        until: BoxFuture<'static, ()>,
        giving_back: &TaskTracker,
    ) -> TaskTrackerToken {
        let held = self.of(family);
        if held.count.fetch_add(1, Ordering::SeqCst) >= HELD {
            held.needed.notify_one();
        }
        tokio::select! {
            () = held.needed.notified() => {}
            () = until => {}
        }
        let token = giving_back.token();
        held.count.fetch_sub(1, Ordering::SeqCst);
        token
    }
}

/// What becomes of the wish for an address that is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needed {
    /// One will be free in a moment.
    Asked,
    /// There is none.
    NoneIsHeld,
}

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
    /// reserved; a later one gives them back. Nobody waits for what is held back after that. The container must be locked.
    pub(crate) fn give_back(self: &Arc<Self>, addresses: &[IpAddr], holder: &Owner) {
        for family in IpFamily::ALL {
            let of_family = |address: &&IpAddr| IpFamily::of(address) == family;
            let addresses: Vec<IpAddr> = addresses.iter().filter(of_family).copied().collect();
            if addresses.is_empty() {
                continue;
            }
            let (turn, closed) = (self.former_addresses.begin(&addresses), self.node.flows.close(&addresses));
            let (commands, holder) = (Arc::clone(self), holder.clone());
            let former = Former { addresses, family, holder, turn };
            self.giving_back.spawn(async move {
                let forgotten = async {
                    closed.await?;
                    commands.node.flows.forget(&former.addresses).await
                };
                match forgotten.await {
                    Ok(()) => commands.release_when_told(former).await,
                    Err(error) => former.stays(&failed(&error)),
                }
            });
        }
    }

    async fn release_when_told(self: Arc<Self>, former: Former) {
        let Some(told) = self.node.flows.peers_untold() else { return self.release(&former).await };
        let (addresses, container) = (&former.addresses, &former.holder.container_id);
        info!(?addresses, container, "Addresses of a former Pod are held back while the controller is away");
        tokio::spawn(async move {
            let _giving_back = self.held_back.hold(former.family, told, &self.giving_back).await;
            self.release(&former).await;
        });
    }

    /// The same container may get its addresses again, and give them back again, at any moment at which it is not locked.
    async fn release(&self, former: &Former) {
        let _guard = self.locks.lock(&former.holder.container_id).await;
        for address in self.open(&self.former_addresses.still(&former.addresses, former.turn)) {
            let released = self.with_ipam(|ipam| ipam.release_address(address, &former.holder)).await;
            if let Err(error) = released {
                return former.stays(&error);
            }
        }
    }

    /// Opens those of the addresses that were being given back, and tells which. The container must be locked.
    pub(crate) fn open(&self, addresses: &[IpAddr]) -> Vec<IpAddr> {
        let former = self.former_addresses.end(addresses);
        self.node.flows.open(&former);
        former
    }
}

impl Former {
    fn stays(&self, error: &CniError) {
        let (addresses, container) = (&self.addresses, &self.holder.container_id);
        warn!(%error, ?addresses, container, "Addresses of a former Pod stay reserved");
    }
}

fn failed(error: &FlowError) -> CniError {
    CniError::from_chain(ErrorCode::ConfigInterfaceFailure, error.as_ref())
}

#[cfg(test)]
mod tests {
    use std::future;

    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn what_is_needed_is_held_back_or_given_back_until_somebody_can_have_it() {
        let (held, giving_back) = (HeldBack::default(), TaskTracker::new());
        assert_eq!(held.need(IpFamily::V4), Needed::NoneIsHeld);
        let mut hold = Box::pin(held.hold(IpFamily::V4, future::pending().boxed(), &giving_back));
        assert!((&mut hold).now_or_never().is_none());
        assert_eq!(held.need(IpFamily::V6), Needed::NoneIsHeld);
        assert_eq!((held.need(IpFamily::V4), giving_back.is_empty()), (Needed::Asked, true));
        let token = hold.await;
        assert_eq!((held.need(IpFamily::V4), giving_back.is_empty()), (Needed::NoneIsHeld, false));
        drop(token);
        assert!(giving_back.is_empty());
    }
}
