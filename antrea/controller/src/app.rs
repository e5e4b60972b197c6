//! The table of components of antrea-controller.

use std::sync::Arc;
use std::time::Duration;

use antrea_apiserver::{Agents, SharedStore};
use antrea_config::{ControllerConfig, NETWORK_POLICY_STATS};
use antrea_kit::auth::{CertificateTrust, LoopbackToken, NodesInTokens, admit_own_pod};
use antrea_kit::ca_publisher::{self, Publication};
use antrea_kit::components::{Components, termination_signal};
use antrea_kit::health::{Checks, Kind};
use antrea_kit::kube_client::{Access, client};
use antrea_kit::logging::{LogLevel, chain};
use antrea_kit::open_files;
use antrea_kit::serving_certificate::ServingCertificate;
use antrea_shared_api::well_known::{CONTROLLER_FIELD_MANAGER, config_map};
use anyhow::{Context, Result};
use tokio::sync::watch;
use tracing::{info, warn};

use crate::api::{self, Controller, Gates, Other, Serving};
use crate::computation::{self, Computation};
use crate::identity::Identity;
use crate::info::controller::Facts;
use crate::{info, policies, tiers};

/// How long the components have to end. Kubernetes kills a Pod 30 seconds after it was told to end.
const GRACE: Duration = Duration::from_secs(20);

/// The version that objects and the API server's log show.
pub(crate) const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// Runs the controller until it is told to end.
pub(crate) async fn run(config: &ControllerConfig, identity: &Identity, log: LogLevel) -> Result<()> {
    let signal = termination_signal().context("cannot wait for signals")?;
    info!(version = VERSION, "Starting antrea-controller");
    for notice in &config.notices {
        warn!(notice, "Setting has no effect yet");
    }
    open_files::allow_most_or_warn();
    let client = client(Access {
        kubeconfig: config.kubeconfig.as_deref(),
        server: config.kube_api_server_override.as_ref().map(|address| address.as_str()),
        user_agent: concat!("antrea-controller/", env!("CARGO_PKG_VERSION")),
    })
    .await?;
    let checks = Checks::new();
    let add = |name| checks.add(name, Kind::Readiness);
    let (tiers_check, computed) = (add("initialize-tiers"), add("networkpolicies"));
    let certificate = ServingCertificate::generate("antrea-controller", &identity.server_names())?;
    let store = SharedStore::filling();
    let (computation, queue) = Computation::new(store.clone());
    let facts = Facts::new(identity, VERSION, config.api_port);
    let statistics = config.feature_gates.status(NETWORK_POLICY_STATS);
    let controller = Arc::new(Controller { computation: Arc::clone(&computation), facts, statistics });
    let (certificates, token) = (CertificateTrust::default(), LoopbackToken::generate()?);
    let tokens = watch::Sender::new(NodesInTokens::default());
    let serving = Serving {
        client: &client,
        certificate: &certificate,
        store,
        controller: Arc::clone(&controller),
        certificates: certificates.clone(),
        agents: Agents { user: identity.agents(), tokens: tokens.subscribe() },
        token: &token,
        other: Other {
            checks,
            log,
            gates: Gates::new(client.clone(), identity.namespace(), config.feature_gates.clone()),
            metrics: config.metrics,
            computation: Arc::clone(&computation),
        },
    };
    let server = serving.bind(config).await?;
    info!(address = %server.local_addr(), "Serving the API");
    if let Err(error) = admit_own_pod(&token, &certificate.ca_pem()) {
        warn!(error = %chain(&error), "antctl in this Pod cannot ask the controller");
    }
    let ca = certificate.ca_pem();
    let namespace = identity.namespace();
    let publication = Publication {
        namespace: namespace.to_owned(),
        name: config_map::CA.to_owned(),
        ca_pem: ca.clone(),
        field_manager: CONTROLLER_FIELD_MANAGER,
    };
    let known = Arc::clone(&computation);
    let published = publication.clone();
    let compute = |client, stop| computation::run(client, published, computation, queue, computed, stop);
    let trust = |client, stop| api::trust::run(client, namespace.to_owned(), ca, stop);

    let mut components = Components::new();
    components.add("api", |stop| server.run(stop));
    components.add("api-certificate", |stop| certificate.keep_valid(stop));
    components.add("api-ca", |stop| ca_publisher::run(client.clone(), publication, stop));
    components.add("api-trust", |stop| trust(client.clone(), stop));
    components.add("client-authorities", |stop| certificates.follow(client.clone(), stop));
    components.add("token-nodes", |stop| NodesInTokens::follow(client.clone(), tokens, stop));
    components.add("networkpolicies", |stop| compute(client.clone(), stop));
    components.add("tiers", |stop| tiers::keeper::run(client.clone(), tiers_check, stop));
    components.add("policies", |stop| policies::keeper::run(client.clone(), stop));
    components.add("agent-infos", |stop| info::agents::run(client.clone(), known, stop));
    components.add("controller-info", |stop| info::controller::run(client, controller, stop));
    components.run_until(signal, GRACE).await?;
    Ok(())
}
