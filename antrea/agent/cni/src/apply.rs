//! Carries out what `reconcile` decides, when the agent starts and when port numbers change.

use std::collections::BTreeSet;
use std::sync::Arc;

use antrea_host::pod_interface::HostIngress;
use antrea_host::{DeviceChainError, ingress_drops, stop_dropping_ingress};
use antrea_types::InterfaceName;
use futures::future::join_all;
use tracing::{info, warn};

use antrea_cni::error::CniError;
use antrea_cni::proto::ErrorCode;

use crate::commands::{Commands, failed};
use crate::interface::{Interface, InterfaceKind};
use crate::interface_store::StoredContainer;
use crate::ipam::Owner;
use crate::reconcile::{Action, Inventory};
use crate::request::Target;

impl Commands {
    /// Fills the store from OVSDB, and lists what OVSDB, kernel and IPAM state hold.
    pub(crate) async fn inventory(&self) -> Result<Inventory, CniError> {
        for interface in self.ports()? {
            self.node.store.insert(interface);
        }
        let inventory = self.look().await?;
        self.forget_drops_without_link(&inventory.links).await;
        Ok(inventory)
    }

    /// Lists what store, kernel and IPAM state hold.
    pub(crate) async fn look(&self) -> Result<Inventory, CniError> {
        let links = self
            .node
            .netlink
            .links()
            .await
            .map_err(|error| CniError::from_chain(ErrorCode::IoFailure, &error))?;
        let links: BTreeSet<InterfaceName> = links.into_iter().map(|link| link.name).collect();
        let allocations = self.with_ipam(|ipam| ipam.allocations()).await?;
        Ok(Inventory { containers: self.node.store.containers(), links, allocations })
    }

    /// Some kernels keep the ingress drop of a device that is gone.
    async fn forget_drops_without_link(&self, links: &BTreeSet<InterfaceName>) {
        if self.settings.host_ingress != HostIngress::Drop {
            return;
        }
        let forget = async {
            for device in ingress_drops().await?.into_iter().filter(|device| !links.contains(device)) {
                stop_dropping_ingress(&device).await?;
            }
            Ok::<_, DeviceChainError>(())
        };
        if let Err(error) = forget.await {
            warn!(%error, "An ingress drop of a device that is gone was not removed");
        }
    }

    /// Antrea's ports of the bridge. One that is damaged is reported and left out: without flows nothing passes it.
    fn ports(&self) -> Result<Vec<Interface>, CniError> {
        let ports = self.node.ovsdb.ports(&self.settings.bridge);
        let ports = ports.map_err(|error| CniError::from_chain(ErrorCode::IoFailure, &error))?;
        let mut interfaces = Vec::new();
        for port in ports {
            let Ok(name) = port.port.name.parse::<InterfaceName>() else { continue };
            match InterfaceKind::from_external_ids(&name, &port.port.external_ids) {
                Ok(None) => {}
                Ok(Some(kind)) => {
                    interfaces.push(Interface { name, of_port: port.interface.of_port(), kind });
                }
                Err(error) => warn!(%error, "Ignored damaged port"),
            }
        }
        Ok(interfaces)
    }

    /// Carries out all actions; one that fails keeps none of the others back.
    pub(crate) async fn apply(self: &Arc<Self>, actions: Vec<Action>) -> Vec<CniError> {
        let apply = |action: Action| async move {
            let text = action.to_string();
            match self.apply_one(action).await {
                Ok(()) => {
                    info!(action = text, "Reconciled");
                    None
                }
                Err(error) => Some(CniError { message: format!("cannot {text}: {error}"), ..error }),
            }
        };
        join_all(actions.into_iter().map(apply)).await.into_iter().flatten().collect()
    }

    /// Carries out an action unless a command has changed what it is about since it was decided.
    async fn apply_one(self: &Arc<Self>, action: Action) -> Result<(), CniError> {
        let _guard = self.locks.lock(action.container_id()).await;
        match action {
            Action::InstallFlows(stored) => match self.current(&stored) {
                Some(current) => self.install_flows(&current).await,
                None => Ok(()),
            },
            Action::Detach(stored) => match self.current(&stored) {
                Some(current) => self.detach_stored(current).await,
                None => Ok(()),
            },
            Action::DetachWithoutLink(stored) => match self.current(&stored) {
                Some(current) if self.has_link(&current.name).await? => self.install_flows(&current).await,
                Some(current) => self.detach_stored(current).await,
                None => Ok(()),
            },
            Action::DeleteLink(name, holder) if !self.is_attached(&holder) => self.delete_link(&name).await,
            Action::Release(address, holder) if !self.is_attached(&holder) => {
                self.give_back(&[address], &holder);
                Ok(())
            }
            Action::DeleteLink(..) | Action::Release(..) => Ok(()),
        }
    }

    /// The interface as it is stored now, if it is still the same but for its number.
    pub(crate) fn current(&self, stored: &StoredContainer) -> Option<StoredContainer> {
        let current = self.node.store.by_container(&stored.container.owner())?;
        (current.container == stored.container).then_some(current)
    }

    /// Whether the kernel knows a link by that name, whatever a list of all links says.
    pub(crate) async fn has_link(&self, name: &InterfaceName) -> Result<bool, CniError> {
        let link = self.node.netlink.link(name).await;
        link.map(|link| link.is_some()).map_err(|error| failed("cannot find the link", name, &error))
    }

    pub(crate) fn is_attached(&self, holder: &Owner) -> bool {
        self.node.store.containers().iter().any(|stored| holder.covers(&stored.container.owner()))
    }

    /// Makes the flows of a port what they are to be, as soon as it has a number.
    pub(crate) async fn install_flows(&self, stored: &StoredContainer) -> Result<(), CniError> {
        let Some(interface) = stored.pod_interface() else {
            warn!(interface = %stored.name, pod = %stored.container.pod, "Port has no number yet");
            return Ok(());
        };
        let installed = self.node.flows.install(&stored.name, &stored.container, &interface).await;
        installed.map_err(|error| failed("cannot install the flows", &stored.name, error.as_ref()))
    }

    async fn detach_stored(self: &Arc<Self>, stored: StoredContainer) -> Result<(), CniError> {
        let container = stored.container;
        let target = Target { container_id: container.container_id, interface: container.interface };
        self.detach(&target, Some(&container.pod)).await
    }

    /// Brings store and flows in line with the port numbers in OVSDB, which change when ovs-vswitchd opens a device
    /// late or starts anew. A port that has lost its number keeps its flows: they match nothing.
    pub(crate) async fn sync_port_numbers(self: &Arc<Self>) -> Result<Vec<CniError>, CniError> {
        let ports = self.node.ovsdb.ports(&self.settings.bridge);
        let ports = ports.map_err(|error| CniError::from_chain(ErrorCode::IoFailure, &error))?;
        // This runs at every change of the database: only the numbers are looked at.
        let numbered =
            ports.iter().filter_map(|port| Some((port.port.name.parse().ok()?, port.interface.of_port()?)));
        let news = numbered.filter_map(|(name, number)| self.node.store.set_of_port(&name, Some(number)));
        let changed = news.filter_map(|port| StoredContainer::of(&port)).map(Action::InstallFlows).collect();
        Ok(self.apply(changed).await)
    }
}
