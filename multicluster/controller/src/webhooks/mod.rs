//! The server that API servers ask about objects: its certificate, what it looks up, and who is to trust it. Every replica
//! runs one.

mod authority;
mod bundle;
mod bundles;
mod farewell;
mod lookups;

use std::net::SocketAddr;
use std::time::Duration;

use antrea_kit::api;
use antrea_kit::ca_publisher::{self, Publication};
use antrea_kit::components::Components;
use antrea_kit::health::{Check, Checks, Kind};
use antrea_kit::leases::Leadership;
use antrea_kit::server::{Handler, Limits, Server};
use antrea_kit::serving_certificate::ServingCertificate;
use antrea_mc_leader::Feeds;
use antrea_mc_webhook::{Installation, Known, router};
use antrea_types::MinimumTls;
use anyhow::Result;
use kube::Client;
use std::sync::Arc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::config::Webhook;

/// The common name of the certificates, and the field manager of what tells clients of them.
const NAME: &str = "antrea-mc-controller";
/// The Service that API servers ask.
const SERVICE: &str = "antrea-mc-webhook-service";
/// The ConfigMap with the certificate that they need.
const CA: &str = "antrea-mc-ca";
/// For how long a replica that ends in a Pod still answers: API servers ask it until they have heard of its end. With
/// each answer they lose a connection to it.
pub(crate) const FAREWELL: Duration = Duration::from_secs(2);
/// How long the parts have to end.
const GRACE: Duration = Duration::from_secs(10);

/// What the webhooks depend on.
pub(crate) struct Settings {
    pub(crate) config: Webhook,
    pub(crate) installation: Installation,
    /// For how long it is served after the end was announced.
    pub(crate) farewell: Duration,
    /// Whether this replica is the one that replaces what vouches for all of them.
    pub(crate) leadership: watch::Receiver<Leadership>,
    /// Where the leader learns what is watched here.
    pub(crate) feeds: Feeds,
}

/// What tells others whether this replica can be asked.
pub(crate) struct Readiness {
    lookups: Check,
    trust: Check,
}

impl Readiness {
    pub(crate) fn new(checks: &Checks) -> Self {
        let add = |name| checks.add(name, Kind::Readiness);
        Self { lookups: add("webhook-lookups"), trust: add("webhook-certificate") }
    }
}

/// Serves until `stop`, and a little longer.
///
/// # Errors
/// When somebody else has the port, or a part ends by itself.
pub(crate) async fn run(
    client: Client,
    settings: Settings,
    readiness: Readiness,
    stop: CancellationToken,
) -> Result<()> {
    let Settings { config, installation, farewell, leadership, feeds } = settings;
    let namespace = installation.controller.clone();
    let obtained = stop.run_until_cancelled(authority::obtain(&client, &namespace));
    let Some(authorities) = obtained.await else { return Ok(()) };
    let certificate = ServingCertificate::issued_by(&authorities.current, NAME, &server_names(&namespace))?;
    let (bundle, to_trust) = watch::channel(authorities.bundle());
    let (everywhere, trusted) = watch::channel(String::new());
    let known = Known::new(installation.clone());
    let handler = farewell::ending_connections(router(known.clone()), stop.clone());
    let server = bind(&config, &certificate, handler).await?;
    info!(address = %server.local_addr(), "Serving webhooks");
    let publication = Publication {
        namespace: namespace.clone(),
        name: CA.to_owned(),
        ca_pem: authorities.bundle(),
        field_manager: NAME,
    };
    let shared = authority::Shared { certificate: Arc::clone(&certificate), bundle, trusted, leadership };
    let own = namespace.clone();
    let service = bundle::Service { namespace, name: SERVICE.to_owned() };
    let trust = bundles::Trust::new(client.clone(), service, to_trust.clone(), everywhere, readiness.trust);
    let lookups = lookups::Lookups { known, installation, feeds, check: readiness.lookups };

    let mut components = Components::new();
    components.add("webhook-server", |stop| server.run(stop));
    components.add("webhook-certificate", |stop| certificate.keep_valid(stop));
    components.add("webhook-lookups", |stop| lookups.run(client.clone(), stop));
    components
        .add("webhook-authority", |stop| authority::run(client.clone(), own, authorities, shared, stop));
    components.add("webhook-ca", |stop| ca_publisher::follow(client, publication, to_trust, stop));
    components.add("webhook-trust", |stop| trust.run(stop));
    let over = async {
        stop.cancelled().await;
        tokio::time::sleep(farewell).await;
    };
    components.run_until(over, GRACE).await?;
    Ok(())
}

/// The names that API servers reach the webhooks by.
fn server_names(namespace: &str) -> Vec<String> {
    let service = format!("{SERVICE}.{namespace}.svc");
    vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned(), service]
}

async fn bind(config: &Webhook, certificate: &Arc<ServingCertificate>, handler: Handler) -> Result<Server> {
    let minimum = MinimumTls::V1_2;
    let Some(host) = config.host else {
        return Ok(api::bind(certificate, config.port, minimum, handler).await?);
    };
    let tls = certificate.server_config(minimum)?;
    let address = SocketAddr::new(host, config.port);
    Ok(Server::bind(address, Some(tls), Limits::default(), handler).await?)
}
