//! The table of components of antrea-mc-controller.

use std::path::Path;
use std::time::Duration;

use antrea_kit::components::{Components, termination_signal};
use antrea_kit::health::Checks;
use antrea_kit::kube_client::{Access, client};
use antrea_kit::leases::{Elector, Leadership, Terms};
use antrea_kit::open_files;
use antrea_mc_webhook::Installation;
use anyhow::{Context, Result};
use kube::Client;
use tokio::sync::watch;
use tracing::info;

use crate::cli::Mode;
use crate::config::{Config, Election};
use crate::identity::Identity;
use crate::roles::Roles;
use crate::{kinds, listen, metrics, webhooks};

/// How long the components have to end. Kubernetes kills a Pod 30 seconds after it was told to end.
const GRACE: Duration = Duration::from_secs(20);

/// The Lease of the replica that works.
const LEASE: &str = "antrea-mc-controller";

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
    let client = client(Access { kubeconfig, server: None, user_agent }).await?;
    let checks = Checks::new();
    let kinds = kinds::Kinds::new(mode, &checks);
    let readiness = webhooks::Readiness::new(&checks);
    let health = listen::bind(config.health, antrea_kit::api::health(checks)).await?;
    let (elector, leadership) = election(config.election, &client, identity);
    let roles = Roles::new(client.clone(), mode, config, identity, VERSION);
    let figures = metrics::Figures::new(mode, VERSION, leadership.clone(), roles.censuses());
    let metrics = listen::bind(config.metrics, metrics::handler(figures)).await?;
    let webhooks = webhooks(config, identity, &roles, leadership.clone());

    let mut components = Components::new();
    if let Some(server) = health {
        components.add("health", |stop| server.run(stop));
    }
    if let Some(server) = metrics {
        components.add("metrics", |stop| server.run(stop));
    }
    components.add("kinds", |stop| kinds::run(client.clone(), kinds, stop));
    components.add("webhooks", |stop| webhooks::run(client, webhooks, readiness, stop));
    if let Some(elector) = elector {
        components.add("lease", |stop| elector.run(stop));
    }
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
    webhooks::Settings { config: config.webhook, installation, farewell, leadership }
}

/// Whether this replica works: as the election says, or always.
fn election(
    election: Election,
    client: &Client,
    identity: &Identity,
) -> (Option<Elector>, watch::Receiver<Leadership>) {
    match (election, &identity.pod) {
        (Election::Never, _) | (Election::InPods, None) => (None, watch::channel(Leadership::Leading).1),
        (Election::Always, _) | (Election::InPods, Some(_)) => {
            let terms = Terms::usual(identity.replica());
            let (elector, leadership) = Elector::new(client.clone(), &identity.namespace, LEASE, terms);
            (Some(elector), leadership)
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
