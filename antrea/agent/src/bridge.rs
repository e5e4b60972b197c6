//! The bridge of the Pods and its two ports that are always there: the gateway to the Node, and the tunnel.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use antrea_config::{AgentConfig, DatapathType};
use antrea_ovs::Switch;
use antrea_ovs::openflow::OpenFlowError;
use antrea_ovs::ovsdb::{
    self, BridgeSpec, FailMode, InterfaceType, OvsDb, PortSpec, Protocol, Transaction, Uuid,
};
use antrea_types::{MacAddr, OfPort};
use anyhow::{Context, Result};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{random, tunnel};

/// How soon a repair that failed is tried again.
const RETRY: Duration = Duration::from_secs(10);

/// What the pipeline has to know of the bridge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    pub(crate) gateway: OfPort,
    pub(crate) gateway_mac: MacAddr,
    pub(crate) tunnel: OfPort,
}

/// Where the database of Open vSwitch listens.
pub(crate) fn database_socket(config: &AgentConfig) -> PathBuf {
    config.ovs.run_dir.join("db.sock")
}

/// What tells the bridge apart from one recreated under its name, or from itself with another fail mode. ovs-vswitchd identifies
/// bridges by name: if one is deleted and recreated before it looks, the OpenFlow connection stays. If the fail mode differs, all
/// flows are deleted nevertheless.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Incarnation {
    /// The row of the gateway's port, which goes with its bridge.
    gateway: Option<Uuid>,
    fail_mode: Option<String>,
}

impl Incarnation {
    /// That of the bridge of the Pods, if there is one.
    pub(crate) fn current(database: &OvsDb, config: &AgentConfig) -> Option<Self> {
        let snapshot = database.snapshot();
        let fail_mode = snapshot.bridge(config.ovs.bridge.as_str())?.fail_mode.clone();
        Some(Self { gateway: snapshot.port_row(config.host_gateway.as_str()), fail_mode })
    }
}

/// Keeps bridge and ports what they shall be.
pub(crate) struct BridgeKeeper {
    pub(crate) config: AgentConfig,
    pub(crate) pod_mtu: u16,
    pub(crate) gateway_mac: MacAddr,
    pub(crate) switch: Switch,
    /// The bridge whose flows were last compared, or had yet to be installed.
    pub(crate) compared: Option<Incarnation>,
}

impl BridgeKeeper {
    /// Repairs what others change, until `stop`.
    pub(crate) async fn run(mut self, database: OvsDb, stop: CancellationToken) -> Result<()> {
        let mut changed = database.changed();
        while let Some(outcome) = stop.run_until_cancelled(changed.changed()).await {
            outcome.context("the connection to OVSDB ended")?;
            changed.borrow_and_update();
            let repaired = self.repair(&database);
            if let Some(Err(error)) = stop.run_until_cancelled(repaired).await {
                warn!(error = format!("{error:#}"), "The bridge of the Pods is not what it shall be");
                stop.run_until_cancelled(tokio::time::sleep(RETRY)).await;
                changed.mark_changed();
            }
        }
        Ok(())
    }

    async fn repair(&mut self, database: &OvsDb) -> Result<()> {
        let ensured = ensure(database, &self.config, self.pod_mtu, Some(self.gateway_mac)).await;
        // Even if a port could not be created: Pods also need flows to reach each other.
        let compared = self.compare_flows(database).await;
        ensured?;
        compared
    }

    /// Compares flows at once if the bridge was recreated or its fail mode changed: nothing else reports that they are gone, and Pods
    /// would have no network until the next periodic comparison.
    async fn compare_flows(&mut self, database: &OvsDb) -> Result<()> {
        let current = Incarnation::current(database, &self.config);
        if current.is_none() || current == self.compared {
            return Ok(());
        }
        // ovs-vswitchd deletes the flows when it applies the change, which can be after the change shows up in the database.
        let bridge = &self.config.ovs.bridge;
        let transaction = Transaction::new(format!("waits until ovs-vswitchd has applied bridge {bridge}"));
        database
            .transact_and_settle(transaction, &format!("bridge {bridge}"))
            .await
            .with_context(|| format!("cannot tell when to compare the flows of {bridge}"))?;
        match self.switch.resync().await {
            Ok(changes) => {
                info!(changes, "Flows compared after the bridge was recreated or its fail mode changed");
            }
            // The next connection installs everything anyway.
            Err(OpenFlowError::NotConnected { .. } | OpenFlowError::ConnectionLost) => {}
            Err(error) => return Err(error).with_context(|| format!("cannot compare the flows of {bridge}")),
        }
        self.compared = current;
        Ok(())
    }
}

/// Makes the bridge and both ports what they shall be; what is there already keeps its numbers and addresses. A gateway
/// that has to be made gets `known_mac`, if it had one before.
pub(crate) async fn ensure(
    database: &OvsDb,
    config: &AgentConfig,
    pod_mtu: u16,
    known_mac: Option<MacAddr>,
) -> Result<Ports> {
    let bridge = config.ovs.bridge.as_str();
    // Without flows no packet may pass, as after a restart of Open vSwitch. Only for a new bridge: Open vSwitch deletes all
    // flows of one whose mode changes.
    let fail_mode = database.snapshot().bridge(bridge).is_none().then_some(FailMode::Secure);
    let spec = BridgeSpec {
        protocols: vec![Protocol::OpenFlow10, Protocol::OpenFlow15],
        fail_mode,
        ..BridgeSpec::new(bridge, datapath_type(config.ovs.datapath_type))
    };
    database.ensure_bridge(&spec).await.with_context(|| format!("cannot create the bridge {bridge}"))?;
    let gateway_mac = match known_mac.or_else(|| gateway_mac(database, config)) {
        Some(mac) => mac,
        None => random::mac_address()?,
    };
    let gateway = gateway_port(config, gateway_mac, pod_mtu);
    let tunnel = tunnel::port(config.tunnel);
    let (gateway, tunnel) =
        tokio::try_join!(ensure_port(database, bridge, &gateway), ensure_port(database, bridge, &tunnel))?;
    Ok(Ports { gateway, gateway_mac, tunnel })
}

async fn ensure_port(database: &OvsDb, bridge: &str, spec: &PortSpec) -> Result<OfPort> {
    database
        .ensure_port(bridge, spec)
        .await
        .with_context(|| format!("cannot create the port {} of {bridge}", spec.name))
}

pub(crate) const fn datapath_type(datapath: DatapathType) -> ovsdb::DatapathType {
    match datapath {
        DatapathType::System => ovsdb::DatapathType::System,
        DatapathType::Netdev => ovsdb::DatapathType::Netdev,
    }
}

/// The address that the gateway was created with; Pods and peers know it.
fn gateway_mac(database: &OvsDb, config: &AgentConfig) -> Option<MacAddr> {
    let port = database.snapshot().port(config.host_gateway.as_str())?;
    port.interface.mac.or(port.interface.mac_in_use)
}

fn gateway_port(config: &AgentConfig, mac: MacAddr, pod_mtu: u16) -> PortSpec {
    PortSpec {
        ofport_request: Some(OfPort::GATEWAY),
        mac: Some(mac),
        mtu_request: Some(pod_mtu),
        external_ids: BTreeMap::from([("antrea-type".to_owned(), "gateway".to_owned())]),
        ..PortSpec::new(config.host_gateway.as_str(), InterfaceType::Internal)
    }
}
