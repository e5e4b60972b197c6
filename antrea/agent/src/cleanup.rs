//! Undoes what an agent did to its Node, for an uninstallation. What is left are the interfaces of Pods that still run.
//!
//! It needs nothing of a running agent: a Node whose agent cannot start is cleaned up as well.

use std::time::Duration;

use antrea_config::AgentConfig;
use antrea_host::{Netlink, firewall, remove_device_chains};
use antrea_ovs::ovsdb::OvsDb;
use anyhow::{Context, Result};
use kube::Client;
use tokio::time::timeout;
use tracing::{info, warn};

use crate::{bridge, node, uplink};

/// What Open vSwitch gets to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Does all of it; a step that fails keeps none of the others back, and the first failure is returned.
///
/// The bridge goes first: the gateway goes with it, and takes its routes and neighbours along.
pub(crate) async fn run(config: &AgentConfig, client: &Client) -> Result<()> {
    let name = node::own_name()?;
    let steps = [
        bridges(config).await,
        remove_device_chains()
            .await
            .map(drop)
            .context("cannot let the Node's stack have its interfaces back"),
        firewall::remove().await.context("cannot remove iptables rules and IP sets"),
        node::remove_annotations(client, &name).await,
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

async fn bridges(config: &AgentConfig) -> Result<()> {
    let socket = bridge::database_socket(config);
    let database = timeout(PATIENCE, OvsDb::connect(&socket))
        .await
        .with_context(|| format!("Open vSwitch does not answer at {}", socket.display()))?;
    let bridge = config.ovs.bridge.as_str();
    database.delete_bridge(bridge).await.with_context(|| format!("cannot delete the bridge {bridge}"))?;
    let netlink = Netlink::current().context("cannot talk to the kernel")?;
    uplink::give_back(&database, &netlink).await.context("cannot give the transport interface back")
}
