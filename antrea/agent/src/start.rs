//! Start-up: from a Node as it may be to one whose Pods are connected. Everything can be repeated, whatever an earlier
//! agent left and wherever it was killed.

use std::sync::Arc;
use std::time::Duration;

use antrea_agent_cni::interface_store::InterfaceStore;
use antrea_agent_cni::reconcile::Inventory;
use antrea_agent_cni::server::CniServer;
use antrea_config::AgentConfig;
use antrea_hostplan::ServiceTraffic;
use antrea_kit::health::Check;
use antrea_ovs::ovsdb::OvsDb;
use antrea_ovs::{FlowSet, Round, Switch};
use antrea_pipeline::Pipeline;
use antrea_pipeline::probe::GATEWAY_ECHO_USERDATA;
use antrea_pipeline::refusal::SERVICE_REJECT_USERDATA;
use anyhow::{Context, Result};
use futures::FutureExt;
use kube::Client;
use tokio::sync::watch;
use tracing::warn;

use crate::agent_info::Identity;
use crate::away::is_away;
use crate::bridge::{self, BridgeKeeper, Incarnation};
use crate::datapath_flows;
use crate::flow_restore::{self, FlowRestore, RoundState};
use crate::former_pods::{Echoes, Forgetting, FormerPods};
use crate::host_network::{Asked, HostNetwork};
use crate::multicluster::{self, ClusterSetBase, MulticlusterComponents};
use crate::node::{self, OwnNode};
use crate::node_routes::{self, NodeRouteController};
use crate::observer::Observer;
use crate::own_annotation::OwnAnnotation;
use crate::packet_ins::PacketIns;
use crate::parts::{cni_server, gateway, open_switch, pipeline_config, routed_node};
use crate::policies::{PolicyBase, PolicyComponents};
use crate::proxy::{self, ServiceBase, ServiceComponents};
use crate::survey::{Surroundings, survey};
use crate::tunnel_sources::TunnelSources;

/// How soon Open vSwitch is asked again.
const RETRY: Duration = Duration::from_secs(1);

/// A Node whose network is set up, and what keeps it so.
pub(crate) struct Agent {
    pub(crate) client: Client,
    pub(crate) node: OwnNode,
    pub(crate) config: AgentConfig,
    pub(crate) database: OvsDb,
    pub(crate) switch: Switch,
    pub(crate) packet_ins: PacketIns,
    pub(crate) cni: CniServer,
    pub(crate) inventory: Inventory,
    pub(crate) forgetting: Forgetting,
    pub(crate) routes: NodeRouteController,
    pub(crate) host: HostNetwork,
    pub(crate) restore: FlowRestore,
    pub(crate) policies: PolicyComponents,
    pub(crate) services: Option<ServiceComponents>,
    pub(crate) clusters: Option<MulticlusterComponents>,
    pub(crate) bridge: BridgeKeeper,
    pub(crate) info: Identity,
    pub(crate) observer: Observer,
    pub(crate) own_annotation: OwnAnnotation,
    pub(crate) tunnel_sources: TunnelSources,
}

/// Sets the Node up, each step in a box: in one piece they took 155 KB of the stack of each thread that came by, which stay in
/// memory. Waits for the API server, for Open vSwitch and for a Pod CIDR as long as it takes.
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
    let surroundings = survey(&config, &client, ready).boxed().await?;
    let Surroundings { node, database, netlink, transport, pod_mtu, .. } = &surroundings;
    let multicluster = multicluster::set_up(&config, &node.pod_cidrs)?;
    let ports = bridge::ensure(database, &config, *pod_mtu, None).boxed().await?;
    // Before flows are installed: those of a bridge that somebody makes in its place meanwhile have to be compared.
    let made = Incarnation::current(database, &config);
    let proxy = proxy::set_up(&config, node, netlink).boxed().await?;
    let pipeline = pipeline_config(&config, node, &ports, proxy.as_ref(), multicluster.as_ref());
    let pipeline = Arc::new(Pipeline::new(pipeline));
    let nodes = node_routes::list(&client).boxed().await?;
    let previous = flow_restore::previous_round(database, config.ovs.bridge.as_str());
    let (switch, mut packet_ins) = open_switch(&config, &pipeline, Round::next(previous));
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
                refusals: packet_ins.labelled(SERVICE_REJECT_USERDATA),
            };
            let (services, traffic) = ServiceComponents::new(setup, &client, base).boxed().await?;
            (Some(services), traffic)
        }
        None => (None, watch::Sender::new(ServiceTraffic::ByHost).subscribe()),
    };
    let mut clusters = match multicluster {
        Some(setup) => {
            let base = ClusterSetBase {
                node: node.name.clone(),
                pipeline: Arc::clone(&pipeline),
                switch: switch.clone(),
                nodes: routes.facts(),
                routes: wanted_routes.clone(),
            };
            let answers = packet_ins.labelled(GATEWAY_ECHO_USERDATA);
            Some(MulticlusterComponents::new(setup, &client, base, answers).boxed().await?)
        }
        None => None,
    };
    let gateway = gateway(&config, node, &ports);
    let api_server = node::api_server(&config).await;
    let asked = Asked {
        routes: wanted_routes.clone(),
        services: traffic,
        clusters: clusters
            .as_ref()
            .map_or_else(|| watch::Sender::default().subscribe(), MulticlusterComponents::wanted),
        let_in: routes.let_in(),
    };
    let mut host = HostNetwork::new(netlink.clone(), gateway, &config, node.pod_cidrs, api_server, asked)?;
    let base = PolicyBase {
        config: &config,
        client: &client,
        node: &node.name,
        database,
        switch: &switch,
        pipeline: &pipeline,
    };
    let mut policies = PolicyComponents::new(base).boxed().await?;
    let store = InterfaceStore::default();
    let (former, former_pods) = FormerPods::queue(Echoes::of(config.ovs.datapath_type));
    let cni = cni_server(&config, &surroundings, &switch, &pipeline, &store, policies.pods.clone(), former)?;
    let inventory = cni.inventory().await.context("cannot list what is on this Node")?;
    policies.pods.take_over(&inventory.containers);
    let mut restore = FlowRestore {
        database: database.clone(),
        switch: switch.clone(),
        pipeline: Arc::clone(&pipeline),
        bridge: config.ovs.bridge.to_string(),
        cni: cni.clone(),
        inventory: inventory.clone(),
        interfaces: store.clone(),
        routes: wanted_routes.clone(),
        clusters: clusters.as_ref().map(MulticlusterComponents::wanted),
        policies: policies.pods.clone(),
        round: watch::Sender::new(RoundState::Begun),
        stay: 0,
    };
    ready.fail("waiting for policies");
    policies.keeper.start().boxed().await?;
    let flows = Flows { routes: &mut routes, services: services.as_mut(), clusters: clusters.as_mut() };
    connect(&pipeline, &mut restore, &mut host, flows).boxed().await?;
    let forgetting = Forgetting {
        requests: former_pods,
        switch: switch.clone(),
        datapath: datapath_flows::of(&config),
        round: restore.round.subscribe(),
    };
    let (name, routes_to_peers) = (node.name.clone(), wanted_routes.clone());
    let tunnel_sources = TunnelSources::new(name, client.clone(), netlink.clone(), routes_to_peers)?;
    let tables = pipeline.table_names().into_iter().map(|(id, name)| (id, name.to_owned())).collect();
    Ok(Agent {
        info: Identity::new(&config, node, transport, *pod_mtu, api_authority),
        observer: Observer {
            database: database.clone(),
            switch: switch.clone(),
            store,
            tables,
            routes: wanted_routes,
            clusters: clusters.as_ref().map(MulticlusterComponents::wanted),
            controller: policies.controller.clone(),
            policies: policies.pods.clone(),
        },
        bridge: BridgeKeeper {
            config: config.clone(),
            pod_mtu: *pod_mtu,
            gateway_mac: ports.gateway_mac,
            switch: switch.clone(),
            compared: made,
        },
        own_annotation: OwnAnnotation {
            node: node.name.clone(),
            wanted: surroundings.transport_addresses.clone(),
            present: routes.own_annotation(),
        },
        tunnel_sources,
        client,
        node: surroundings.node,
        database: surroundings.database,
        config,
        switch,
        packet_ins,
        cni,
        inventory,
        forgetting,
        routes,
        host,
        restore,
        policies,
        services,
        clusters,
    })
}

/// Those who ask for flows.
struct Flows<'agent> {
    routes: &'agent mut NodeRouteController,
    services: Option<&'agent mut ServiceComponents>,
    clusters: Option<&'agent mut MulticlusterComponents>,
}

/// Asks for all flows at once, so that the switch gets them together, and lets it forward once it has them.
async fn connect(
    pipeline: &Pipeline,
    restore: &mut FlowRestore,
    host: &mut HostNetwork,
    flows: Flows<'_>,
) -> Result<()> {
    let services = async {
        match flows.services {
            Some(services) => services.controller.start().await,
            None => Ok(()),
        }
    };
    let clusters = async {
        if let Some(clusters) = flows.clusters {
            clusters.controller.realize().await;
        }
    };
    // Meters cannot be in a bundle. What connects Pods has to be in one: what an earlier agent left may have other tables.
    let meters = FlowSet { meters: pipeline.meters(), ..FlowSet::default() };
    let meters = restore.switch.ask("meters", meters);
    let (base, (), (), host_started, services_started, ()) = tokio::join!(
        restore.switch.apply("base", pipeline.base_flows()),
        restore.restore_pods(),
        flows.routes.realize(),
        host.start(),
        services,
        clusters
    );
    meters.done().await.context("the switch refuses meters")?;
    base.context("the switch refuses the flows of the pipeline")?;
    host_started.context("cannot set up the Node's network")?;
    services_started.context("cannot set up Services")?;
    restore.end_wait().await;
    restore.finish_round().await
}
