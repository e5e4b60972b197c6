//! The components of the Pod network: a table of all that runs until the agent ends.

use std::sync::Arc;
use std::time::Duration;

use antrea_kit::components::Components;
use antrea_kit::health::Check;
use antrea_kit::watch::watch;
use antrea_shared_api::multicluster::v1alpha1::{ClusterInfoImport, Gateway};
use antrea_types::NodeName;
use anyhow::Context;
use k8s_openapi::api::core::v1::Node;
use kube::{Api, Client};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::events::report_notices;
use crate::flow_restore::FlowRestore;
use crate::multicluster::{MulticlusterComponents, record_cluster, record_gateway};
use crate::policies::{self, PolicyComponents};
use crate::proxy::{self, ServiceComponents};
use crate::{agent_info, datapath_flows, node_routes, observer, pods, start};

/// How long an agent that ends goes on giving back addresses of Pods that are gone.
const LAST_ADDRESSES: Duration = Duration::from_secs(2);

/// Changes of Nodes that wait to be acted on.
const NODE_EVENTS: usize = 1024;

/// Changes of Gateways, and of other clusters, that wait to be acted on.
const CLUSTER_EVENTS: usize = 128;

/// Whether those are there whom the Pod network needs.
pub(super) struct Neighbours {
    pub(super) open_vswitch: Check,
    /// Named as upstream's. None where there is no controller.
    pub(super) controller: Option<Check>,
}

/// The table of the Pod network. Those that start last end first: no Pod is attached while what it needs goes away.
pub(super) fn table(agent: start::Agent, ready: Check, neighbours: Neighbours) -> Components {
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
        own_annotation,
        tunnel_sources,
    } = agent;
    let (events, node_events) = mpsc::channel(NODE_EVENTS);
    let nodes: Api<Node> = Api::all(client.clone());
    let pods_client = client.clone();
    let pod_server = cni.clone();
    let socket = config.cni_socket.clone();
    let datapath = datapath_flows::of(&config);

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
    if let Some((controller, check)) = policies.controller.clone().zip(neighbours.controller) {
        components.add("controller-check", |stop| controller.keep_told(check, stop));
    }
    components.add("datapath-flows", |stop| datapath_flows::keep_renewed(switch, datapath, stop));
    components.add("packet-ins", |stop| packet_ins.run(stop));
    components.add("node-watch", |stop| watch(nodes, Default::default(), node_routes::record, events, stop));
    components.add("node-routes", |stop| routes.run(node_events, stop));
    components.add("own-annotation", {
        let client = client.clone();
        |stop| own_annotation.keep(client, stop)
    });
    components.add("tunnel-sources", |stop| tunnel_sources.keep(stop));
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
    if let Some(controller) = controller {
        components.add("policy-status", |stop| policies::report(controller, reports, stop));
    }
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
    let ServiceComponents { controller, refusals, notices, node_ports, stale_udp, datapath, health_server } =
        services;
    let (client, node, round) = (client.clone(), node.clone(), restore.round.subscribe());
    let (connection, pipeline) = (controller.switch.connection().clone(), Arc::clone(&controller.pipeline));
    let health = controller.health_source();
    let for_stale_udp = connection.clone();
    components.add("services", |stop| controller.run(round, stop));
    if let Some(node_ports) = node_ports {
        components.add("node-port-addresses", |stop| node_ports.keep(stop));
    }
    components
        .add("service-refusals", |stop| proxy::refuse_connections(refusals, connection, pipeline, stop));
    components
        .add("stale-udp", move |stop| proxy::forget_stale_udp(for_stale_udp, datapath, stale_udp, stop));
    components.add("service-events", |stop| report_notices(client, node, notices, stop));
    if let Some(address) = health_server {
        components.add("service-health", move |stop| proxy::serve_health(address, health, stop));
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
