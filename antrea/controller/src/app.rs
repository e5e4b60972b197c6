//! The table of components of antrea-controller.

use std::time::Duration;

use antrea_config::ControllerConfig;
use antrea_kit::api;
use antrea_kit::components::{Components, termination_signal};
use antrea_kit::health::{Checks, Kind};
use antrea_kit::kube_client::{Access, client};
use antrea_kit::serving_certificate::ServingCertificate;
use anyhow::{Context, Result};
use tracing::{info, warn};

use crate::identity::Identity;
use crate::{info, policies, tiers};

/// How long the components have to end. Kubernetes kills a Pod 30 seconds after it was told to end.
const GRACE: Duration = Duration::from_secs(20);

/// The version that objects and the API server's log show.
pub(crate) const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// Runs the controller until it is told to end.
pub(crate) async fn run(config: &ControllerConfig, identity: &Identity) -> Result<()> {
    let signal = termination_signal().context("cannot wait for signals")?;
    info!(version = VERSION, "Starting antrea-controller");
    for notice in &config.notices {
        warn!(notice, "Setting has no effect yet");
    }
    let client = client(Access {
        kubeconfig: config.kubeconfig.as_deref(),
        server: config.kube_api_server_override.as_ref().map(|address| address.as_str()),
        user_agent: concat!("antrea-controller/", env!("CARGO_PKG_VERSION")),
    })
    .await?;
    let checks = Checks::new();
    let certificate = ServingCertificate::generate("antrea-controller", &identity.server_names())?;
    let health = api::health(checks.clone());
    let server = api::bind(&certificate, config.api_port, config.tls_min_version, health).await?;
    info!(address = %server.local_addr(), "Serving the API");
    let tiers_check = checks.add("initialize-tiers", Kind::Readiness);
    let facts = info::controller::Facts::new(identity, VERSION, config.api_port);

    let mut components = Components::new();
    components.add("api", |stop| server.run(stop));
    components.add("api-certificate", |stop| certificate.keep_valid(stop));
    components.add("tiers", |stop| tiers::keeper::run(client.clone(), tiers_check, stop));
    components.add("policies", |stop| policies::keeper::run(client.clone(), stop));
    components.add("agent-infos", |stop| info::agents::run(client.clone(), stop));
    components.add("controller-info", |stop| info::controller::run(client, facts, stop));
    components.run_until(signal, GRACE).await?;
    Ok(())
}
