//! The transport interface under `br-phy`, for the userspace datapath: ovs-vswitchd sends tunnel packets itself, and
//! does so only through a bridge of its own. The bridge's local interface takes over addresses and routes.
//!
//! What the interface had is recorded with the bridge in OVSDB before anything is moved, so that an agent killed
//! half-way finishes the move, and an uninstallation finds the way back.

use std::collections::BTreeMap;

use antrea_config::{AgentConfig, TransportInterface};
use antrea_host::{Netlink, bridge_uplink, drop_ingress, find_transport, stop_dropping_ingress};
use antrea_hostplan::{TransportSelector, UplinkState};
use antrea_ovs::ovsdb::{BridgeSpec, DatapathType, FailMode, LocalPort, OvsDb, PortSpec};
use antrea_types::InterfaceName;
use anyhow::{Context, Result, bail};
use tracing::info;

use crate::node::OwnNode;

/// The bridge above the transport interface.
const BRIDGE: &str = "br-phy";

/// Where the bridge's row keeps what the transport interface had. A bridge without it is not ours.
const RECORD: &str = "antrea-uplink";

/// How the configuration chooses the transport interface.
pub(crate) fn selector(config: &AgentConfig, node: &OwnNode) -> TransportSelector {
    match &config.transport_interface {
        TransportInterface::Named(name) => TransportSelector::Interface(name.clone()),
        TransportInterface::Cidrs(cidrs) => TransportSelector::Cidrs(cidrs.clone()),
        TransportInterface::NodeIp => TransportSelector::NodeAddresses(node.addresses),
    }
}

/// Puts the transport interface under the bridge, and returns how to find its addresses from now on.
pub(crate) async fn ensure(
    database: &OvsDb,
    netlink: &Netlink,
    config: &AgentConfig,
    node: &OwnNode,
) -> Result<TransportSelector> {
    let bridge: InterfaceName = BRIDGE.parse()?;
    let found = match &config.transport_interface {
        TransportInterface::Named(_) => TransportSelector::Interface(bridge.clone()),
        // The bridge may have other addresses beside the one that was chosen.
        TransportInterface::Cidrs(_) | TransportInterface::NodeIp => selector(config, node),
    };
    let record = record(database)?;
    let uplink = match &record {
        Some(recorded) => recorded.interface.clone(),
        None => find_transport(netlink, &selector(config, node)).await?.transport.interface,
    };
    if let TransportInterface::Named(wanted) = &config.transport_interface
        && *wanted != uplink
    {
        bail!(
            "transportInterface is {wanted}, but {uplink} is under {BRIDGE} already: uninstall first to get it back"
        );
    }
    if record.is_none() && database.snapshot().bridge(BRIDGE).is_some() {
        adopt(database, &uplink, &bridge)?;
        return Ok(found);
    }
    take_over(database, netlink, &uplink, &bridge, record).await?;
    Ok(found)
}

/// A bridge that somebody else made carries the transport addresses, and stays as it is.
fn adopt(database: &OvsDb, uplink: &InterfaceName, bridge: &InterfaceName) -> Result<()> {
    let snapshot = database.snapshot();
    let above = snapshot.bridge_of(uplink.as_str()).map(|bridge| bridge.name.as_str());
    if uplink != bridge && above != Some(BRIDGE) {
        bail!(
            "there is a bridge {BRIDGE} that Antrea did not make, and {uplink} is not a port of it: add the port, or remove the bridge"
        );
    }
    info!(bridge = %bridge, "Using the bridge of the transport interface as it is");
    Ok(())
}

async fn take_over(
    database: &OvsDb,
    netlink: &Netlink,
    uplink: &InterfaceName,
    bridge: &InterfaceName,
    record: Option<UplinkState>,
) -> Result<()> {
    let observed = bridge_uplink::observe(netlink, uplink).await?;
    let spec = BridgeSpec {
        fail_mode: Some(FailMode::Standalone),
        local_port: LocalPort::Listed,
        external_ids: BTreeMap::from([(RECORD.to_owned(), record.as_ref().unwrap_or(&observed).to_string())]),
        // Peers and routers go on to see the address that they know.
        other_config: BTreeMap::from([("hwaddr".to_owned(), observed.mac.to_string())]),
        ..BridgeSpec::new(BRIDGE, DatapathType::Netdev)
    };
    database.ensure_bridge(&spec).await.with_context(|| format!("cannot create the bridge {BRIDGE}"))?;
    let port = PortSpec::system(uplink.as_str());
    database
        .ensure_port(BRIDGE, &port)
        .await
        .with_context(|| format!("cannot make {uplink} a port of {BRIDGE}"))?;

    let desired = bridge_uplink::desired(netlink, uplink, bridge, record.as_ref()).await?;
    if record.as_ref() != Some(&desired) {
        database.set_bridge_external_id(BRIDGE, RECORD, &desired.to_string()).await?;
    }
    drop_ingress(uplink).await?;
    let steps = bridge_uplink::bring_to(netlink, &desired, uplink, bridge).await?;
    for step in &steps {
        info!(%step, "Moved the transport interface");
    }
    Ok(())
}

/// Gives the transport interface back what the bridge took over, and removes the bridge if it is ours.
pub(crate) async fn give_back(database: &OvsDb, netlink: &Netlink) -> Result<()> {
    let Some(recorded) = record(database)? else { return Ok(()) };
    let bridge: InterfaceName = BRIDGE.parse()?;
    let uplink = &recorded.interface;
    let desired = bridge_uplink::desired(netlink, uplink, &bridge, Some(&recorded)).await?;
    stop_dropping_ingress(uplink).await?;
    bridge_uplink::bring_to(netlink, &desired, &bridge, uplink).await?;
    database.delete_bridge(BRIDGE).await.with_context(|| format!("cannot remove the bridge {BRIDGE}"))?;
    info!(interface = %uplink, "Gave the transport interface its addresses back");
    Ok(())
}

fn record(database: &OvsDb) -> Result<Option<UplinkState>> {
    let snapshot = database.snapshot();
    let Some(text) = snapshot.bridge(BRIDGE).and_then(|bridge| bridge.external_ids.get(RECORD)) else {
        return Ok(None);
    };
    let state =
        text.parse().with_context(|| format!("external_ids:{RECORD} of bridge {BRIDGE} cannot be read"))?;
    Ok(Some(state))
}
