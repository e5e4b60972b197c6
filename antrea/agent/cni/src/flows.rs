//! The flows of Pods: what the CNI server needs of the switch.

use std::collections::BTreeMap;
use std::error::Error;
use std::net::IpAddr;

use antrea_pipeline::PodInterface;
use antrea_types::InterfaceName;
use futures::future::BoxFuture;

use crate::interface::ContainerInterface;

/// Why flows were not installed or removed.
pub type FlowError = Box<dyn Error + Send + Sync>;

/// Installs and removes the flows of Pods' interfaces. Both can be repeated at will.
pub trait PodFlows: Send + Sync {
    /// Makes the flows of the interface called `name`, which is that of `container`, those of `interface`; they are in the
    /// switch when it returns.
    fn install<'a>(
        &'a self,
        name: &'a InterfaceName,
        container: &'a ContainerInterface,
        interface: &'a PodInterface,
    ) -> BoxFuture<'a, Result<(), FlowError>>;

    /// `external_ids` that the port of the interface `name` needs from its creation on; its flows are installed later.
    fn notes(&self, name: &InterfaceName) -> BTreeMap<String, String>;

    /// Why the switch takes no flows at this moment; nothing when it does.
    fn unavailable(&self) -> Option<String>;

    /// Removes the flows of the interface called `name`; there need not be any.
    fn uninstall<'a>(&'a self, name: &'a InterfaceName) -> BoxFuture<'a, Result<(), FlowError>>;

    /// Closes addresses whose flows were removed: what is sent there renews no connection that can but run out. Asked for at
    /// once; done when what it returns is.
    fn close(&self, addresses: &[IpAddr]) -> BoxFuture<'static, Result<(), FlowError>>;

    /// Has the datapath forget the connections of addresses that are closed, so that whoever has one next has no part in them.
    /// While the switch is away this waits.
    fn forget<'a>(&'a self, addresses: &'a [IpAddr]) -> BoxFuture<'a, Result<(), FlowError>>;

    /// Until when the addresses of former Pods are to be held back: while nobody tells the peers of Pods what becomes of these,
    /// they take whoever has an address for its former owner. Nothing when they are told.
    fn peers_untold(&self) -> Option<BoxFuture<'static, ()>>;

    /// Opens addresses that were closed, before all that is installed later.
    fn open(&self, addresses: &[IpAddr]);
}
