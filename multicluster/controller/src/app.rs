//! The table of components of antrea-mc-controller.

use std::path::Path;
use std::time::Duration;

use antrea_kit::components::{Components, termination_signal};
use antrea_kit::health::Checks;
use antrea_kit::kube_client::{self, Access, connect};
use antrea_kit::leases::Leadership;
use antrea_kit::open_files;
use antrea_kit::watchdog::Watchdog;
use antrea_mc_webhook::Installation;
use antrea_shared_api::well_known::NAMESPACE;
use anyhow::{Context, Result};
use tokio::sync::watch;
use tracing::info;

use crate::cli::Mode;
use crate::config::{Config, Election};
use crate::front::{Candidacy, Front};
use crate::identity::Identity;
use crate::roles::Roles;
use crate::{front, kinds, metrics, webhooks};

/// How long the components have to end. Kubernetes kills a Pod 30 seconds after it was told to end.
const GRACE: Duration = Duration::from_secs(20);

/// How long the work may keep its thread busy in one piece. Longer ones are hung: another replica takes over, and Kubernetes
/// restarts this one.
const PATIENCE: Duration = Duration::from_secs(60);

/// The version that members tell their leaders.
const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// Runs the controller until it is told to end.
pub(crate) async fn run(
    mode: Mode,
    kubeconfig: Option<&Path>,
    config: &Config,
    identity: &Identity,
) -> Result<()> {
    let signal = termination_signal().context("cannot wait for signals")?;
    info!(version = VERSION, %mode, namespace = identity.namespace, "Starting antrea-mc-controller");
    open_files::allow_most_or_warn();
    let user_agent = concat!("antrea-mc-controller/", env!("CARGO_PKG_VERSION"));
    let api_server = kube_client::config(Access { kubeconfig, server: None, user_agent }).await?;
    let client = connect(api_server.clone())?;
    let checks = Checks::new();
    let kinds = kinds::Kinds::new(mode, &checks);
    let readiness = webhooks::Readiness::new(&checks);
    let (candidacy, leadership) = election(config.election, identity);
    let roles = Roles::new(client.clone(), mode, config, identity, VERSION);
    let webhooks = webhooks(config, identity, &roles);
    let worker = Watchdog::new(PATIENCE);
    let front = Front {
        checks,
        health: config.health,
        figures: metrics::Figures::new(mode, VERSION, leadership.clone(), roles.censuses()),
        metrics: config.metrics,
        webhooks,
        readiness,
        candidacy,
        worker: worker.clone(),
    };

    let mut components = Components::new();
    components.add("front", |stop| front::run(front, move || Ok(connect(api_server)?), stop));
    components.add("watchdog", |stop| worker.keep_beating(stop));
    components.add("kinds", |stop| kinds::run(client, kinds, stop));
    components.add("roles", |stop| roles.run(leadership, stop));
    components.run_until(signal, GRACE).await?;
    Ok(())
}

/// What webhooks are served, and what they depend on.
fn webhooks(config: &Config, identity: &Identity, roles: &Roles) -> webhooks::Settings {
    let installation = Installation {
        controller: identity.namespace.clone(),
        agent: NAMESPACE.to_owned(),
        common_areas: roles.common_areas().to_vec(),
        member: roles.member_namespace().map(str::to_owned),
    };
    let farewell = identity.pod.as_ref().map_or(Duration::ZERO, |_| webhooks::FAREWELL);
    webhooks::Settings { config: config.webhook, installation, farewell }
}

/// Whether this replica works: as the election says, or always.
fn election(election: Election, identity: &Identity) -> (Option<Candidacy>, watch::Receiver<Leadership>) {
    match (election, &identity.pod) {
        (Election::Never, _) | (Election::InPods, None) => (None, watch::channel(Leadership::Leading).1),
        (Election::Always, _) | (Election::InPods, Some(_)) => {
            let (told, leadership) = watch::channel(Leadership::Following);
            let (namespace, replica) = (identity.namespace.clone(), identity.replica());
            (Some(Candidacy { namespace, replica, leadership: told }), leadership)
        }
    }
}
