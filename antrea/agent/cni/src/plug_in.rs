//! Ports that are gone though their Pods are not: somebody has deleted the bridge or a port, or the database began anew.

use std::collections::BTreeSet;
use std::sync::Arc;

use antrea_cni::error::CniError;
use futures::future::join_all;
use tracing::info;

use crate::commands::Commands;
use crate::interface_store::StoredContainer;

impl Commands {
    /// Makes the ports again that the bridge lacks of those that are stored. Returns what failed.
    pub(crate) async fn plug_in_again(self: &Arc<Self>) -> Vec<CniError> {
        // Who makes a bridge that is gone changes the database, and then this is called again.
        let Ok(ports) = self.node.ovsdb.ports(&self.settings.bridge) else { return Vec::new() };
        let present: BTreeSet<&str> = ports.iter().map(|port| port.port.name.as_str()).collect();
        let lacking = self.node.store.containers_but(&present);
        let plugged_in = join_all(lacking.iter().map(|stored| self.plug_in(stored))).await;
        plugged_in.into_iter().filter_map(Result::err).collect()
    }

    /// Makes a port as it was, unless a command has made or removed it meanwhile. Without a link there can be none: the Pod is
    /// about to go.
    async fn plug_in(&self, stored: &StoredContainer) -> Result<(), CniError> {
        let _guard = self.locks.lock(&stored.container.container_id).await;
        let Some(current) = self.current(stored) else { return Ok(()) };
        let name = &current.name;
        if self.node.ovsdb.snapshot().port(name.as_str()).is_some() || !self.has_link(name).await? {
            return Ok(());
        }
        let number = match current.of_port {
            Some(number) => number,
            None => self.free_number(name)?,
        };
        let of_port = Some(self.create_port(&current, number).await?);
        let plugged_in = StoredContainer { of_port, ..current };
        self.node.store.insert(plugged_in.clone().into());
        self.install_flows(&plugged_in).await?;
        info!(interface = %plugged_in.name, pod = %plugged_in.container.pod, "Recreated the port of a Pod");
        Ok(())
    }
}
