//! AntreaProxy: watches Services, EndpointSlices and ServiceCIDRs, and keeps a set of flows and groups for each Service in the switch.
//!
//! What the kernel needs for the same Services is handed to `host_network`, which is the one writer there. What is
//! decided is decided in `antrea-agent-proxy`.

mod controller;
mod events;
mod health;
mod node_ports;
mod proxy_health;
mod refusal;
mod service_cidrs;
mod settings;
mod stale_udp;
mod watches;

use std::net::SocketAddr;
use std::sync::Arc;

use antrea_agent_routing::NodeFacts;
use antrea_hostplan::ServiceTraffic;
use antrea_openflow::message::PacketIn;
use antrea_ovs::{Datapath, Switch};
use antrea_pipeline::Pipeline;
use anyhow::Result;
use kube::Client;
use tokio::sync::{mpsc, watch};

use controller::ServiceController;
pub(crate) use health::serve_health;
pub(crate) use refusal::refuse_connections;
pub(crate) use settings::{ProxySetup, set_up};
pub(crate) use stale_udp::forget_stale_udp;

use node_ports::NodePortAddresses;
use stale_udp::StaleUdpRequests;

use crate::events::Notice;

/// What Services stand on.
pub(crate) struct ServiceBase {
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) switch: Switch,
    pub(crate) nodes: watch::Receiver<NodeFacts>,
    pub(crate) refusals: mpsc::Receiver<PacketIn>,
}

/// All that serves Services, before it runs.
pub(crate) struct ServiceComponents {
    pub(crate) controller: ServiceController,
    pub(crate) refusals: mpsc::Receiver<PacketIn>,
    pub(crate) notices: mpsc::Receiver<Notice>,
    pub(crate) node_ports: Option<NodePortAddresses>,
    pub(crate) stale_udp: StaleUdpRequests,
    pub(crate) datapath: Datapath,
    pub(crate) health_server: Option<SocketAddr>,
}

impl ServiceComponents {
    /// Begins to watch Services, and with what an earlier agent left in the switch. The second value is what the kernel
    /// has to know.
    pub(crate) async fn new(
        mut setup: ProxySetup,
        client: &Client,
        base: ServiceBase,
    ) -> Result<(Self, watch::Receiver<ServiceTraffic>)> {
        let ServiceBase { pipeline, switch, nodes, refusals } = base;
        let ProxySetup { health_server, ref datapath, .. } = setup;
        let datapath = datapath.clone();
        let node_ports = setup.node_ports.take();
        // Where nobody follows them, they never change.
        let addresses = match &node_ports {
            Some(followed) => followed.addresses(),
            None => watch::Sender::default().subscribe(),
        };
        let (controller, notices, stale_udp) =
            ServiceController::new(setup, client, pipeline, switch, nodes, addresses).await?;
        let traffic = controller.traffic();
        let services = Self { controller, refusals, notices, node_ports, stale_udp, datapath, health_server };
        Ok((services, traffic))
    }
}
