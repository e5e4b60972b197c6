//! The agent's life: start-up in order, and the end.

mod components;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use antrea_config::{AgentConfig, Controller};
use antrea_kit::auth::LoopbackToken;
use antrea_kit::components::{Components, termination_signal};
use antrea_kit::health::{Checks, Kind};
use antrea_kit::logging::LogLevel;
use antrea_kit::object_files;
use antrea_kit::serving_certificate::ServingCertificate;
use anyhow::{Context, Result};
use kube::Client;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::uninstall::Files;
use crate::{api, cleanup, node, start};
use components::Neighbours;

/// The version that objects and the log show.
pub(crate) const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// How long the components of the Pod network have to end.
const GRACE: Duration = Duration::from_secs(20);

/// And the process with all of them. Kubernetes kills a Pod 30 seconds after it was told to end.
const GRACE_OF_THE_PROCESS: Duration = Duration::from_secs(25);

/// By which names the API is known to programs of this Node.
const API_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// What the API tells of the Pod network.
struct Shown {
    checks: Checks,
    sources: api::Slot,
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
    let authority = certificate.ca_pem();
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
        controller: match config.controller {
            Controller::Installed => Some(shown.checks.add("watcher", Kind::Neighbour)),
            Controller::Absent => None,
        },
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
    components::table(agent, ready, neighbours).run_until(async { end = told.await }, GRACE).await?;
    Ok(end)
}
