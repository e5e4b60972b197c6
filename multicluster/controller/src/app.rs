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
    let worker = Watchdog::new(PATIENCE);
    let front = Front {
        checks,
        health: config.health,
        figures: metrics::Figures::new(mode, VERSION, leadership.clone(), roles.censuses()),
        metrics: config.metrics,
        webhooks: webhooks(config, identity, &roles, leadership.clone()),
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
fn webhooks(
    config: &Config,
    identity: &Identity,
    roles: &Roles,
    leadership: watch::Receiver<Leadership>,
) -> webhooks::Settings {
    let installation = Installation {
        controller: identity.namespace.clone(),
        agent: config.member.agent_namespace.clone(),
        common_areas: roles.common_areas().to_vec(),
        limits: config.leader.limits,
        member: roles.member_namespace().map(str::to_owned),
        token_lifetime: config.leader.token_lifetime,
    };
    let farewell = identity.pod.as_ref().map_or(Duration::ZERO, |_| webhooks::FAREWELL);
    let feeds = roles.feeds();
    webhooks::Settings { config: config.webhook, installation, farewell, leadership, feeds }
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

#[cfg(test)]
mod tests {
    use antrea_kit::object_files;

    use super::*;

    #[tokio::test]
    async fn webhooks_believe_the_agents_of_the_namespace_that_core_antrea_is_in() {
        let folder = tempfile::tempdir().unwrap();
        let client = object_files::client(folder.path()).unwrap();
        let identity = Identity { namespace: "antrea-mc".to_owned(), pod: None };
        let agents = |text: &str| {
            let config = Config::parse("mc.yaml", text).unwrap();
            let roles = Roles::new(client.clone(), Mode::Member, &config, &identity, VERSION);
            let (_, leadership) = watch::channel(Leadership::Leading);
            webhooks(&config, &identity, &roles, leadership).installation.agent
        };
        assert_eq!(agents(""), "kube-system");
        assert_eq!(agents("member: {agentNamespace: antrea}"), "antrea");
    }
}
