//! Undoes what the agent did to its Node, for an uninstallation. What is left are the interfaces of Pods that still run.

use antrea_config::AgentConfig;
use antrea_host::{Netlink, firewall, stop_dropping_all_ingress};
use antrea_hostplan::HostPlan;
use antrea_ovs::ovsdb::OvsDb;
use anyhow::{Context, Result};
use kube::Client;
use tracing::{info, warn};

use crate::node::{self, OwnNode};
use crate::uplink;

/// What is needed to clean up.
pub(crate) struct Cleanup {
    pub(crate) client: Client,
    pub(crate) node: OwnNode,
    pub(crate) database: OvsDb,
    pub(crate) netlink: Netlink,
    pub(crate) plan: HostPlan,
    pub(crate) config: AgentConfig,
}

impl Cleanup {
    /// Does all of it; a step that fails keeps none of the others back, and the first failure is returned.
    ///
    /// The bridge goes first: the gateway goes with it, and takes its routes and neighbours along.
    pub(crate) async fn run(&self) -> Result<()> {
        let bridge = self.config.ovs.bridge.as_str();
        let steps = [
            self.database
                .delete_bridge(bridge)
                .await
                .with_context(|| format!("cannot delete the bridge {bridge}")),
            uplink::give_back(&self.database, &self.netlink)
                .await
                .context("cannot give the transport interface back"),
            stop_dropping_all_ingress()
                .await
                .map(drop)
                .context("cannot let the Node's stack have its interfaces back"),
            firewall::remove(&self.plan.ip_sets).await.context("cannot remove iptables rules and IP sets"),
            node::annotate_transport_addresses(&self.client, &self.node, None).await,
        ];
        let mut outcome = Ok(());
        for error in steps.into_iter().filter_map(Result::err) {
            warn!(error = format!("{error:#}"), "Part of the Node was not cleaned up");
            outcome = outcome.and(Err(error));
        }
        if outcome.is_ok() {
            info!("This Node is cleaned up");
        }
        outcome
    }
}
