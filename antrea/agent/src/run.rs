//! The agent's life: start-up in order, the table of components, and the end.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use antrea_config::AgentConfig;
use antrea_kit::auth::LoopbackToken;
use antrea_kit::components::{Components, termination_signal};
use antrea_kit::health::{Check, Checks, Kind};
use antrea_kit::logging::LogLevel;
use antrea_kit::object_files;
use antrea_kit::serving_certificate::ServingCertificate;
use antrea_kit::watch::watch;
use antrea_shared_api::multicluster::v1alpha1::{ClusterInfoImport, Gateway};
use antrea_types::NodeName;
use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Node;
use kube::{Api, Client};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::events::report_notices;
use crate::flow_restore::FlowRestore;
use crate::multicluster::{MulticlusterComponents, record_cluster, record_gateway};
use crate::policies::{self, PolicyComponents};
use crate::proxy::{self, ServiceComponents};
use crate::uninstall::Files;
use crate::{agent_info, api, cleanup, node, node_routes, observer, pods, start};

/// The version that objects and the log show.
pub(crate) const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// How long the components of the Pod network have to end.
const GRACE: Duration = Duration::from_secs(20);

/// And the process with all of them. Kubernetes kills a Pod 30 seconds after it was told to end.
const GRACE_OF_THE_PROCESS: Duration = Duration::from_secs(25);

/// How long an agent that ends goes on giving back addresses of Pods that are gone.
const LAST_ADDRESSES: Duration = Duration::from_secs(2);

/// By which names the API is known to programs of this Node.
const API_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Changes of Nodes that wait to be acted on.
const NODE_EVENTS: usize = 1024;

/// Changes of Gateways, and of other clusters, that wait to be acted on.
const CLUSTER_EVENTS: usize = 128;

/// What the API tells of the Pod network.
struct Shown {
    checks: Checks,
    sources: api::Slot,
}

/// Whether those are there whom the Pod network needs.
struct Neighbours {
    open_vswitch: Check,
    /// Named as upstream's.
    controller: Check,
}

/// Why the Pod network is not kept up any longer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Terminated,
    Uninstalled,
}

/// Runs the agent until it is told to end. Its health is told from the first moment to the last.
///
/// `objects` is a folder of object files that stands for the API server.
pub(crate) async fn run(config: AgentConfig, objects: Option<&Path>, log: LogLevel) -> Result<()> {
    let terminated = termination_signal().context("cannot wait for signals")?;
    info!(version = VERSION, "Starting antrea-agent");
    let client = match objects {
        Some(folder) => object_files::client(folder)?,
        None => node::client(&config).await?,
    };
    let checks = Checks::new();
    let certificate = ServingCertificate::generate("antrea-agent", &API_NAMES.map(str::to_owned))?;
    let sources = api::Slot::default();
    let authority = certificate.ca_pem().to_owned();
    let token = LoopbackToken::generate()?;
    let api = api::Api {
        checks: checks.clone(),
        log,
        gates: config.feature_gates.clone(),
        metrics: config.metrics,
        sources: Arc::clone(&sources),
    };
    let handler = api.handler(&client, &token);
    let (port, minimum) = (config.api_port, config.tls_min_version);
    let server = antrea_kit::api::bind(&certificate, port, minimum, handler).await?;
    api::admit_own_pod(&token, &authority)?;
    let mut components = Components::new();
    components.add("api", |stop| server.run(stop));
    components.add("api-certificate", |stop| certificate.keep_valid(stop));
    components.add("agent", |stop| live(config, client, authority, Shown { checks, sources }, stop));
    Ok(components.run_until(terminated, GRACE_OF_THE_PROCESS).await?)
}

/// Connects Pods; then, if that is why it ended, undoes all of it and stays to tell so.
async fn live(
    config: AgentConfig,
    client: Client,
    authority: String,
    shown: Shown,
    stop: CancellationToken,
) -> Result<()> {
    let files = Files::of_node();
    let told = async {
        tokio::select! {
            biased;
            () = stop.cancelled() => End::Terminated,
            () = files.wanted() => End::Uninstalled,
        }
    };
    if connect_pods(config.clone(), client.clone(), authority, &shown, told).await? == End::Uninstalled {
        cleanup::run(&config, &client).await?;
        stop.run_until_cancelled(files.tell_clean()).await;
    }
    Ok(())
}

/// Sets the Pod network up and keeps it up, until it is told why not to any longer.
async fn connect_pods(
    config: AgentConfig,
    client: Client,
    authority: String,
    shown: &Shown,
    told: impl Future<Output = End>,
) -> Result<End> {
    let begun = Instant::now();
    let ready = shown.checks.add("pod-network", Kind::Readiness);
    let neighbours = Neighbours {
        open_vswitch: shown.checks.add("ovs", Kind::Readiness),
        controller: shown.checks.add("watcher", Kind::Neighbour),
    };
    let mut told = std::pin::pin!(told);
    let agent = tokio::select! {
        biased;
        end = &mut told => return Ok(end),
        agent = start::start(config, client, authority, &ready) => agent?,
    };
    info!(milliseconds = begun.elapsed().as_millis(), "The Pod network of this Node is ready");
    // Nobody else fills it.
    let _ = shown.sources.set(api::Sources::of(&agent));
    let mut end = End::Terminated;
    components(agent, ready, neighbours).run_until(async { end = told.await }, GRACE).await?;
    Ok(end)
}

/// The table of the Pod network. Those that start last end first: no Pod is attached while what it needs goes away.
fn components(agent: start::Agent, ready: Check, neighbours: Neighbours) -> Components {
    let start::Agent {
        client,
        node,
        config,
        database,
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
        bridge,
        info,
        observer,
    } = agent;
    let (events, node_events) = mpsc::channel(NODE_EVENTS);
    let nodes: Api<Node> = Api::all(client.clone());
    let pods_client = client.clone();
    let pod_server = cni.clone();
    let socket = config.cni_socket.clone();

    let mut components = Components::new();
    components.add("host-network", |stop| host.run(stop));
    components.add("bridge", {
        let database = database.clone();
        |stop| bridge.run(database, stop)
    });
    components.add("ovs-check", {
        let switch = switch.clone();
        |stop| observer::check_connection(switch, neighbours.open_vswitch, stop)
    });
    components.add("controller-check", {
        let controller = policies.controller.clone();
        |stop| controller.keep_told(neighbours.controller, stop)
    });
    components.add("packet-ins", |stop| packet_ins.run(stop));
    components.add("node-watch", |stop| watch(nodes, Default::default(), node_routes::record, events, stop));
    components.add("node-routes", |stop| routes.run(node_events, stop));
    add_policies(&mut components, policies, &restore);
    if let Some(services) = services {
        add_services(&mut components, services, &client, &node.name, &restore);
    }
    if let Some(clusters) = clusters {
        add_clusters(&mut components, clusters, &client, &node.name);
    }
    components.add("former-pods", |stop| forgetting.run(stop));
    components.add("flow-restore", |stop| restore.run(stop));
    components.add("pods", |stop| pods::run(pod_server, inventory, pods_client, node.name, database, stop));
    components.add("agent-info", |stop| agent_info::run(client, info, observer, stop));
    components.add("cni", |stop| async move {
        ready.pass();
        cni.clone().serve(&socket, stop.cancelled()).await.context("the CNI server ended")?;
        // What takes longer is left to the next agent.
        timeout(LAST_ADDRESSES, cni.settled()).await.ok();
        Ok(())
    });
    components
}

/// The components of NetworkPolicies.
fn add_policies(components: &mut Components, policies: PolicyComponents, restore: &FlowRestore) {
    let PolicyComponents { keeper, files, watches, controller, reports, statistics, pods: _ } = policies;
    let round = restore.round.subscribe();
    components.add("policy-watches", |stop| watches.run(stop));
    components.add("policy-files", |stop| files.run(stop));
    components.add("policy-status", |stop| policies::report(controller, reports, stop));
    if let Some(statistics) = statistics {
        components.add("policy-stats", |stop| statistics.run(stop));
    }
    components.add("policies", |stop| keeper.run(round, stop));
}

/// The components of AntreaProxy.
fn add_services(
    components: &mut Components,
    services: ServiceComponents,
    client: &Client,
    node: &NodeName,
    restore: &FlowRestore,
) {
    let ServiceComponents { controller, refusals, notices, stale_udp, ovs_run_dir, health_server } = services;
    let (client, node, round) = (client.clone(), node.clone(), restore.round.subscribe());
    let (connection, pipeline) = (controller.switch.connection().clone(), Arc::clone(&controller.pipeline));
    let realized = controller.realized();
    let for_stale_udp = connection.clone();
    components.add("services", |stop| controller.run(round, stop));
    components
        .add("service-refusals", |stop| proxy::refuse_connections(refusals, connection, pipeline, stop));
    components
        .add("stale-udp", move |stop| proxy::forget_stale_udp(for_stale_udp, ovs_run_dir, stale_udp, stop));
    components.add("service-events", |stop| report_notices(client, node, notices, stop));
    if let Some(address) = health_server {
        components.add("service-health", move |stop| proxy::serve_health(address, realized, stop));
    }
}

/// The components of Multi-cluster.
fn add_clusters(
    components: &mut Components,
    clusters: MulticlusterComponents,
    client: &Client,
    node: &NodeName,
) {
    let MulticlusterComponents { controller, notices, prober, namespace } = clusters;
    let (client, node) = (client.clone(), node.clone());
    let gateways: Api<Gateway> = Api::namespaced(client.clone(), &namespace);
    let imports: Api<ClusterInfoImport> = Api::namespaced(client.clone(), &namespace);
    let (gateway_events, of_gateways) = mpsc::channel(CLUSTER_EVENTS);
    let (import_events, of_imports) = mpsc::channel(CLUSTER_EVENTS);
    components.add("gateway-watch", |stop| {
        watch(gateways, Default::default(), record_gateway, gateway_events, stop)
    });
    components.add("cluster-info-watch", |stop| {
        watch(imports, Default::default(), record_cluster, import_events, stop)
    });
    components.add("multicluster", |stop| controller.run(of_gateways, of_imports, stop));
    components.add("gateway-probe", |stop| prober.run(stop));
    components.add("multicluster-events", |stop| report_notices(client, node, notices, stop));
}
