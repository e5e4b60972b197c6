//! DEL: takes a Pod's interface away. It succeeds for what is not there, so that it can be repeated at will.

use std::sync::Arc;

use antrea_cni::error::CniError;
use antrea_types::{InterfaceName, PodRef};
use tracing::{info, warn};

use crate::commands::Commands;
use crate::container_locks::ContainerGuard;
use crate::host_interface_name::host_interface_name;
use crate::ipam::Owner;
use crate::request::{DetachRequest, Target};

impl Commands {
    /// Removes flows and port, and lets the link and the addresses go in the background. The kernel takes tens of
    /// milliseconds for the link, in which nothing can pass any more; the container stays locked until then.
    pub(crate) async fn del(self: &Arc<Self>, request: &DetachRequest) -> Result<(), CniError> {
        let guard = self.locks.lock(&request.target.container_id).await;
        let owner = request.target.owner();
        let name = self.name_of(&request.target, request.pod.as_ref(), &owner);
        if let Some(name) = &name {
            self.remove_port(name).await?;
        }
        self.give_back_all(owner).await?;
        if let Some(name) = name {
            tokio::spawn(Arc::clone(self).finish(name, guard));
        }
        let pod = request.pod.as_ref().map(ToString::to_string);
        info!(pod, container = request.target.container_id, interface = %request.target.interface, "Detached Pod");
        Ok(())
    }

    async fn finish(self: Arc<Self>, name: InterfaceName, _guard: ContainerGuard) {
        if let Err(error) = self.delete_link(&name).await {
            warn!(interface = %name, %error, "Left to the kernel, which removes it with the Pod's network namespace");
        }
    }

    /// Undoes all that ADD does, in reverse: flows, port, link, addresses. The container must be locked.
    pub(crate) async fn detach(
        self: &Arc<Self>,
        target: &Target,
        pod: Option<&PodRef>,
    ) -> Result<(), CniError> {
        let owner = target.owner();
        if let Some(name) = self.name_of(target, pod, &owner) {
            self.remove_port(&name).await?;
            self.delete_link(&name).await?;
        }
        self.give_back_all(owner).await
    }

    /// The interface's name: as it is stored, or as ADD would call it; what an ADD left that never reached the store
    /// is removed by that. None when the name is another container's, or cannot be known.
    fn name_of(&self, target: &Target, pod: Option<&PodRef>, owner: &Owner) -> Option<InterfaceName> {
        if let Some(stored) = self.node.store.by_container(owner) {
            return Some(stored.name);
        }
        let name = host_interface_name(&pod?.name, &target.container_id, &target.interface).ok()?;
        self.held_by_other(&name, owner).is_none().then_some(name)
    }
}
