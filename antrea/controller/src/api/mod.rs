//! The API: what agents watch and antctl asks, and what says how the controller is.

mod cluster;
mod feature_gates;
mod other;
pub(crate) mod trust;

use std::sync::Arc;

use antrea_apiserver::{Agents, Api, Body, LIMITS, SharedStore};
use antrea_config::ControllerConfig;
use antrea_kit::auth::{Authenticator, Authorizer, CertificateTrust, Guard, Lifetimes, LoopbackToken};
use antrea_kit::server::Server;
use antrea_kit::serving_certificate::ServingCertificate;
use anyhow::Result;
use kube::Client;
use tokio_util::sync::CancellationToken;

pub(crate) use cluster::Controller;
pub(crate) use feature_gates::Gates;
pub(crate) use other::Other;

/// What the API is served with.
pub(crate) struct Serving<'a> {
    pub(crate) client: &'a Client,
    pub(crate) certificate: &'a Arc<ServingCertificate>,
    pub(crate) store: SharedStore,
    pub(crate) controller: Arc<Controller>,
    pub(crate) certificates: CertificateTrust,
    pub(crate) agents: Agents,
    pub(crate) token: &'a LoopbackToken,
    pub(crate) other: Other,
}

/// A server that has its port.
pub(crate) struct Bound {
    server: Server<Body>,
    /// Ends all watches: they would go on as long as their clients like.
    watches: CancellationToken,
}

impl Serving<'_> {
    /// Listens.
    ///
    /// # Errors
    /// When somebody else has the port.
    pub(crate) async fn bind(self, config: &ControllerConfig) -> Result<Bound> {
        let (client, lifetimes) = (self.client.clone(), Lifetimes::default());
        let authenticator = Authenticator::new(client.clone(), Some(self.token), lifetimes)
            .accepting(config.controller_token_audience.clone());
        let guard =
            Guard::new(authenticator, Authorizer::new(client, lifetimes).expecting(&self.agents.user));
        let guard = guard.trusting(self.certificates).explaining_to(self.token);
        let watches = CancellationToken::new();
        let api = Api {
            store: self.store,
            cluster: self.controller,
            guard,
            agents: self.agents,
            other: self.other.handler(),
            stop: watches.clone(),
        };
        let tls = self.certificate.aggregated_server_config(config.tls_min_version)?;
        let server = Server::bind_everywhere(config.api_port, Some(tls), LIMITS, api.handler()).await?;
        Ok(Bound { server, watches })
    }
}

impl Bound {
    pub(crate) const fn local_addr(&self) -> std::net::SocketAddr {
        self.server.local_addr()
    }

    /// Answers until `stop`.
    ///
    /// # Errors
    /// Never. The type is that of a component.
    pub(crate) async fn run(self, stop: CancellationToken) -> Result<()> {
        let Self { server, watches } = self;
        let end_watches = async {
            stop.cancelled().await;
            watches.cancel();
        };
        tokio::join!(server.run(stop.clone()), end_watches).0
    }
}
