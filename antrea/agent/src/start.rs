//! Start-up: from a Node as it may be to one whose Pods are connected. Everything can be repeated, whatever an earlier
//! agent left and wherever it was killed.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use antrea_agent_cni::Dependencies;
use antrea_agent_cni::interface_store::InterfaceStore;
use antrea_agent_cni::ipam::host_local::HostLocal;
use antrea_agent_cni::reconcile::Inventory;
use antrea_agent_cni::server::CniServer;
use antrea_agent_cni::settings::Settings;
use antrea_agent_routing::{OwnNode as RoutedNode, TrafficMode, gateway_ips};
use antrea_config::{AgentConfig, DatapathType, TransportInterface};
use antrea_host::pod_interface::HostIngress;
use antrea_host::{Netlink, NodeTransport, TxChecksumOffload, find_transport};
use antrea_hostplan::{ServiceTraffic, Transport};
use antrea_kit::health::Check;
use antrea_openflow::message::PacketIn;
use antrea_ovs::openflow::Connection;
use antrea_ovs::ovsdb::OvsDb;
use antrea_ovs::{FlowSet, Round, Switch};
use antrea_pipeline::multicluster::Multicluster;
use antrea_pipeline::service::Services;
use antrea_pipeline::{Gateway, Pipeline, PipelineConfig};
use anyhow::{Context, Result};
use ipnet::IpNet;
use kube::Client;
use tokio::sync::{mpsc, watch};
use tracing::{info, warn};

use crate::agent_info::Identity;
use crate::away::is_away;
use crate::bridge::{self, BridgeKeeper, Ports};
use crate::flow_restore::{FlowRestore, RoundState};
use crate::gateway::GatewayInterface;
use crate::host_network::HostNetwork;
use crate::node::{self, OwnNode};
use crate::node_routes::{self, NodeRouteController};
use crate::observer::Observer;
use crate::pods::SwitchFlows;
use crate::proxy::{self, ProxySetup, ServiceBase, ServiceComponents};
use crate::{flow_restore, gateway, tunnel, uplink};

/// Where host-local IPAM keeps which address is whose, as the standard plugin does for a network called `antrea`.
const IPAM_DIRECTORY: &str = "/var/lib/cni/networks/antrea";

/// How soon Open vSwitch is asked again.
const RETRY: Duration = Duration::from_secs(1);

/// A Node whose network is set up, and what keeps it so.
pub(crate) struct Agent {
    pub(crate) client: Client,
    pub(crate) node: OwnNode,
    pub(crate) config: AgentConfig,
    pub(crate) database: OvsDb,
    pub(crate) switch: Switch,
    pub(crate) cni: CniServer,
    pub(crate) inventory: Inventory,
    pub(crate) routes: NodeRouteController,
    pub(crate) host: HostNetwork,
    pub(crate) restore: FlowRestore,
    pub(crate) services: Option<ServiceComponents>,
    pub(crate) bridge: BridgeKeeper,
    pub(crate) info: Identity,
    pub(crate) observer: Observer,
}

/// What the Node is like before the bridge is made.
struct Surroundings {
    node: OwnNode,
    database: OvsDb,
    netlink: Netlink,
    transport: NodeTransport,
    pod_mtu: u16,
}

/// Sets the Node up. Waits for the API server, for Open vSwitch and for a Pod CIDR as long as it takes.
pub(crate) async fn start(
    config: AgentConfig,
    client: Client,
    api_authority: String,
    ready: &Check,
) -> Result<Agent> {
    loop {
        match set_up(config.clone(), client.clone(), api_authority.clone(), ready).await {
            Err(error) if is_away(&error) => {
                warn!(error = format!("{error:#}"), "Waiting for what the agent needs");
                ready.fail(format!("waiting: {error:#}"));
                tokio::time::sleep(RETRY).await;
            }
            outcome => return outcome,
        }
    }
}

async fn set_up(config: AgentConfig, client: Client, api_authority: String, ready: &Check) -> Result<Agent> {
    let surroundings = survey(&config, &client, ready).await?;
    let Surroundings { node, database, netlink, transport, pod_mtu } = &surroundings;
    let ports = bridge::ensure(database, &config, *pod_mtu, None).await?;
    let proxy = proxy::set_up(&config, node, netlink).await?;
    let pipeline = Arc::new(Pipeline::new(pipeline_config(&config, node, &ports, proxy.as_ref())));
    let nodes = node_routes::list(&client).await?;
    let previous = flow_restore::previous_round(database, config.ovs.bridge.as_str());
    let (switch, packet_ins) = open_switch(&config, &pipeline, Round::next(previous));
    let (mut routes, wanted_routes) = NodeRouteController::new(
        routed_node(&config, node, &transport.transport),
        Arc::clone(&pipeline),
        switch.clone(),
        nodes,
    );
    let (mut services, traffic) = match proxy {
        Some(setup) => {
            let base = ServiceBase {
                pipeline: Arc::clone(&pipeline),
                switch: switch.clone(),
                nodes: routes.facts(),
                packet_ins,
            };
            let (services, traffic) = ServiceComponents::new(setup, &client, base).await?;
            (Some(services), traffic)
        }
        None => (None, watch::Sender::new(ServiceTraffic::ByHost).subscribe()),
    };
    let gateway = gateway(&config, node, &ports);
    let mut host =
        HostNetwork::new(netlink.clone(), gateway, &config, node.pod_cidrs, wanted_routes.clone(), traffic);
    let store = InterfaceStore::default();
    let cni = cni_server(&config, &surroundings, &switch, &pipeline, &store)?;
    let inventory = cni.inventory().await.context("cannot list what is on this Node")?;
    let mut restore = FlowRestore {
        database: database.clone(),
        switch: switch.clone(),
        bridge: config.ovs.bridge.to_string(),
        cni: cni.clone(),
        inventory: inventory.clone(),
        interfaces: store.clone(),
        routes: wanted_routes.clone(),
        services: services.as_ref().map(ServiceComponents::realized),
        round: watch::Sender::new(RoundState::Begun),
    };
    connect(&pipeline, &mut restore, &mut routes, &mut host, services.as_mut()).await?;
    let tables = pipeline.table_names().into_iter().map(|(id, name)| (id, name.to_owned())).collect();
    Ok(Agent {
        info: Identity::new(&config, node, transport, *pod_mtu, api_authority),
        observer: Observer {
            database: database.clone(),
            switch: switch.clone(),
            store,
            tables,
            routes: wanted_routes,
        },
        bridge: BridgeKeeper { config: config.clone(), pod_mtu: *pod_mtu, gateway_mac: ports.gateway_mac },
        client,
        node: surroundings.node,
        database: surroundings.database,
        config,
        switch,
        cni,
        inventory,
        routes,
        host,
        restore,
        services,
    })
}

/// Asks for all flows at once, so that the switch gets them together, and lets it forward once it has them.
async fn connect(
    pipeline: &Pipeline,
    restore: &mut FlowRestore,
    routes: &mut NodeRouteController,
    host: &mut HostNetwork,
    services: Option<&mut ServiceComponents>,
) -> Result<()> {
    let services = async {
        match services {
            Some(services) => services.controller.start().await,
            None => Ok(()),
        }
    };
    let (base, (), (), host_started, services_started) = tokio::join!(
        restore.switch.apply("base", base(pipeline)),
        restore.restore_pods(),
        routes.realize(),
        host.start(),
        services
    );
    base.context("the switch refuses the flows of the pipeline")?;
    host_started.context("cannot set up the Node's network")?;
    services_started.context("cannot set up Services")?;
    restore.end_wait().await;
    restore.finish_round().await
}

/// What does not depend on Pods, peers and Services.
fn base(pipeline: &Pipeline) -> FlowSet {
    FlowSet { flows: pipeline.base_flows(), meters: pipeline.meters(), ..FlowSet::default() }
}

/// Finds out what the Node is like, and puts the transport interface where the datapath needs it.
async fn survey(config: &AgentConfig, client: &Client, ready: &Check) -> Result<Surroundings> {
    let name = node::own_name()?;
    let (node, database) =
        tokio::join!(node::wait(client, &name, ready), OvsDb::connect(bridge::database_socket(config)));
    info!(node = %node.name, pod_cidrs = list(node.pod_cidrs.iter()), "Setting up the Pod network of this Node");
    let netlink = Netlink::current().context("cannot talk to the kernel")?;
    let selector = match config.ovs.datapath_type {
        DatapathType::System => uplink::selector(config, &node),
        DatapathType::Netdev => uplink::ensure(&database, &netlink, config, &node).await?,
    };
    let transport = find_transport(&netlink, &selector).await?;
    let pod_mtu = tunnel::pod_mtu(config, &transport, &node.pod_cidrs)?;
    let annotation = match config.transport_interface {
        TransportInterface::NodeIp => None,
        TransportInterface::Named(_) | TransportInterface::Cidrs(_) => {
            Some(list(transport.transport.addresses.iter().map(IpNet::addr)))
        }
    };
    if node.transport_annotation != annotation {
        node::annotate_transport_addresses(client, &node.name, annotation.as_deref()).await?;
    }
    Ok(Surroundings { node, database, netlink, transport, pod_mtu })
}

fn pipeline_config(
    config: &AgentConfig,
    node: &OwnNode,
    ports: &Ports,
    proxy: Option<&ProxySetup>,
) -> PipelineConfig {
    let ips = gateway_ips(&node.pod_cidrs);
    PipelineConfig {
        gateway: Gateway { of_port: ports.gateway, mac: ports.gateway_mac, ips },
        tunnel_port: Some(ports.tunnel),
        local_pod_cidrs: node.pod_cidrs,
        services: match proxy {
            Some(proxy) => Services::ByProxy(proxy.pipeline.clone()),
            None => Services::ByHost { cidrs: config.service_cidrs },
        },
        multicluster: Multicluster::Off,
    }
}

fn routed_node(config: &AgentConfig, node: &OwnNode, transport: &Transport) -> RoutedNode {
    RoutedNode {
        name: node.name.clone(),
        pod_cidrs: node.pod_cidrs,
        gateway: config.host_gateway.clone(),
        transport: transport.clone(),
        mode: TrafficMode::Encap,
        tunnel: tunnel::protocol(config.tunnel),
    }
}

fn open_switch(
    config: &AgentConfig,
    pipeline: &Pipeline,
    round: Round,
) -> (Switch, mpsc::Receiver<PacketIn>) {
    let socket = config.ovs.run_dir.join(format!("{}.mgmt", config.ovs.bridge));
    let (connection, unasked) = Connection::open(socket);
    let tables = pipeline.table_names().into_iter().map(|(id, name)| (id, name.to_owned())).collect();
    (Switch::new(connection, round, tables), unasked.packet_ins)
}

fn gateway(config: &AgentConfig, node: &OwnNode, ports: &Ports) -> GatewayInterface {
    GatewayInterface {
        name: config.host_gateway.clone(),
        mac: ports.gateway_mac,
        addresses: gateway::addresses(&node.pod_cidrs),
    }
}

fn cni_server(
    config: &AgentConfig,
    surroundings: &Surroundings,
    switch: &Switch,
    pipeline: &Arc<Pipeline>,
    store: &InterfaceStore,
) -> Result<CniServer> {
    let dependencies = Dependencies {
        ipam: HostLocal::new(IPAM_DIRECTORY, surroundings.node.pod_cidrs.iter().copied())?,
        ovsdb: surroundings.database.clone(),
        netlink: surroundings.netlink.clone(),
        store: store.clone(),
        flows: Arc::new(SwitchFlows { switch: switch.clone(), pipeline: Arc::clone(pipeline) }),
    };
    Ok(CniServer::new(cni_settings(config, surroundings.pod_mtu), dependencies))
}

fn cni_settings(config: &AgentConfig, pod_mtu: u16) -> Settings {
    let netdev = config.ovs.datapath_type == DatapathType::Netdev;
    // Through the userspace datapath packets travel as they are: without checksum they would arrive broken.
    let offload = if netdev || config.disable_tx_checksum_offload {
        TxChecksumOffload::Off
    } else {
        TxChecksumOffload::On
    };
    Settings {
        bridge: config.ovs.bridge.to_string(),
        mtu: pod_mtu.into(),
        host_proc_path_prefix: prefix(&config.host_proc_path_prefix),
        tx_checksum_offload: offload,
        host_ingress: if netdev { HostIngress::Drop } else { HostIngress::Accept },
    }
}

fn prefix(path: &Path) -> String {
    path.display().to_string()
}

fn list<T: ToString>(values: impl Iterator<Item = T>) -> String {
    values.map(|value| value.to_string()).collect::<Vec<_>>().join(",")
}
