//! The agent's life: start-up in order, the table of components, and the end.

use std::net::{Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use antrea_agent_cni::settings::PodNetwork;
use antrea_config::AgentConfig;
use antrea_kit::certificate::{MinimumTls, SelfSigned};
use antrea_kit::components::{Components, termination_signal};
use antrea_kit::health::{Check, Checks, Kind, not_found};
use antrea_kit::server::{Handler, Limits, Server};
use antrea_kit::watch::watch;
use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use tokio::sync::mpsc;
use tracing::info;

use crate::uninstall::Files;
use crate::{agent_info, flow_restore, node_routes, pods, start};

/// How long the components have to end. Kubernetes kills a Pod 30 seconds after it was told to end.
const GRACE: Duration = Duration::from_secs(20);

/// Changes of Nodes that wait to be acted on.
const NODE_EVENTS: usize = 1024;

/// Why the agent ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Terminated,
    Uninstalled,
}

/// Runs the agent until it is told to end, or until its Node is to be cleaned up.
pub(crate) async fn run(config: AgentConfig) -> Result<()> {
    let begun = Instant::now();
    let files = Files::of_node();
    let mut terminated = std::pin::pin!(termination_signal().context("cannot wait for signals")?);
    info!(version = env!("CARGO_PKG_VERSION"), "Starting antrea-agent");
    if files.is_clean().await {
        info!("This Node was cleaned up for an uninstallation; waiting for the end");
        terminated.await;
        return Ok(());
    }
    let checks = Checks::new();
    let ready = checks.add("pod-network", Kind::Readiness);
    let (server, authority) = bind(&config, &checks).await?;

    let agent = tokio::select! {
        () = &mut terminated => return Ok(()),
        agent = start::start(config, authority) => agent?,
    };
    info!(milliseconds = begun.elapsed().as_millis(), "The Pod network of this Node is ready");
    let cleanup = agent.cleanup();
    let mut end = End::Terminated;
    let ended = async {
        tokio::select! {
            () = &mut terminated => {}
            () = files.wanted() => end = End::Uninstalled,
        }
    };
    components(agent, server, ready).run_until(ended, GRACE).await?;
    if end == End::Uninstalled {
        cleanup.run().await?;
        files.report_clean().await?;
        terminated.await;
    }
    Ok(())
}

/// The table of the process. Those that start last end first: no Pod is attached while what it needs goes away.
fn components(agent: start::Agent, server: Server, ready: Check) -> Components {
    let start::Agent {
        client,
        node,
        config,
        database,
        switch,
        cni,
        inventory,
        pod_network,
        routes,
        host,
        info,
        observer,
        ..
    } = agent;
    let (events, node_events) = mpsc::channel(NODE_EVENTS);
    let nodes: Api<Node> = Api::all(client.clone());
    let pods_client = client.clone();
    let pod_server = cni.clone();
    let socket = config.cni_socket.clone();

    let mut components = Components::new();
    components.add("api", |stop| server.run(stop));
    components.add("host-network", |stop| host.run(stop));
    components.add("node-watch", |stop| watch(nodes, Default::default(), node_routes::record, events, stop));
    components.add("node-routes", |stop| routes.run(node_events, stop));
    components.add("flow-restore", {
        let (database, switch) = (database.clone(), switch.clone());
        |stop| flow_restore::run(database, switch, stop)
    });
    components.add("pods", |stop| pods::run(pod_server, inventory, pods_client, node.name, database, stop));
    components.add("agent-info", |stop| agent_info::run(client, info, observer, stop));
    components.add("cni", |stop| async move {
        pod_network.send_replace(PodNetwork::Ready);
        ready.pass();
        cni.serve(&socket, stop.cancelled()).await.context("the CNI server ended")
    });
    components
}

/// Listens for the agent's API, and returns the certificate that vouches for it.
async fn bind(config: &AgentConfig, checks: &Checks) -> Result<(Server, String)> {
    let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let certificate = SelfSigned::generate("antrea-agent", &names)?;
    let minimum = match config.tls_min_version {
        antrea_config::TlsMinVersion::Tls13 => MinimumTls::V1_3,
        _ => MinimumTls::V1_2,
    };
    let tls = certificate.server_config(minimum)?;
    let address = SocketAddr::from((Ipv6Addr::UNSPECIFIED, config.api_port));
    let server = Server::bind(address, Some(tls), Limits::default(), handler(checks.clone())).await?;
    Ok((server, certificate.ca_pem().to_owned()))
}

fn handler(checks: Checks) -> Handler {
    Arc::new(move |request| {
        let uri = request.uri();
        let answer = checks.answer(request.method(), uri.path(), uri.query()).unwrap_or_else(not_found);
        Box::pin(std::future::ready(answer))
    })
}
