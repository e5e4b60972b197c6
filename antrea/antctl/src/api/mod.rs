//! Asks the API of an agent or of the controller: in its own container, through `antctl proxy`, through the API server, or
//! at the address of its Node.

mod place;

use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use hyper::Method;
use hyper::http::{Request, Uri};
use kube::{Client, Config};
use serde_json::Value;

pub(crate) use place::{Component, own_component};

use antrea_kit::query;

use crate::access::{Access, Way};
use crate::direct::{self, Destination};
use place::{OwnContainer, Place};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Traces and large tables take a while.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the client calls answers that are not of an API.
const NO_STATUS: &str = "Failed to parse error data";

/// The API of an agent, or of the controller.
pub(crate) struct ComponentApi {
    client: Client,
    place: Place,
}

impl ComponentApi {
    /// The agent that `--server` names, or that of the container that this runs in.
    pub(crate) fn of_agent(server: Option<&str>) -> Result<Self> {
        match server {
            Some(server) => Self::behind(server),
            None if own_component() == Some(Component::Agent) => {
                Self::inside(OwnContainer::find(Component::Agent)?)
            }
            None => bail!(
                "this asks the agent of a Node: run it in the agent's container (kubectl -n kube-system exec \
                 antrea-agent-… -c antrea-agent -- antctl …), or run antctl proxy --agent-node NODE and give \
                 --server 127.0.0.1:8001"
            ),
        }
    }

    /// What the controller has in API groups: asked in its container, and elsewhere through the API server.
    pub(crate) async fn of_controller(way: &Way) -> Result<Self> {
        if let Some(own) = Self::of_own_controller(way)? {
            return Ok(own);
        }
        let Access { config, cluster, .. } = way.open().await?;
        Self::new(config, Place::ApiServer { cluster })
    }

    /// What else the controller has: asked in its container, through a proxy, or at the address of its Node.
    pub(crate) async fn of_controller_itself(way: &Way) -> Result<Self> {
        if let Some(proxy) = way.proxy() {
            return Self::behind(proxy);
        }
        if let Some(own) = Self::of_own_controller(way)? {
            return Ok(own);
        }
        let access = way.open().await?;
        let destination = Destination::of_controller(&access.client).await?;
        let client = direct::client(&access, &destination).await?;
        Ok(Self { client, place: Place::Direct(destination) })
    }

    /// The controller of this container, unless the user names a cluster.
    fn of_own_controller(way: &Way) -> Result<Option<Self>> {
        match own_component() {
            _ if way.names_cluster() => Ok(None),
            None => Ok(None),
            Some(Component::Controller) => Self::inside(OwnContainer::find(Component::Controller)?).map(Some),
            Some(Component::Agent) => bail!(
                "this asks antrea-controller: run it in its container (kubectl -n kube-system exec \
                 deployment/antrea-controller -- antctl …), or on a machine with a kubeconfig"
            ),
        }
    }

    fn inside(own: OwnContainer) -> Result<Self> {
        let mut config = Config::new(url(&format!("https://127.0.0.1:{}", own.port))?);
        config.auth_info.token = Some(own.token.into());
        config.root_cert = Some(own.authority);
        Self::new(config, Place::OwnContainer(own.component))
    }

    fn behind(proxy: &str) -> Result<Self> {
        let server = if proxy.contains("://") { proxy.to_owned() } else { format!("http://{proxy}") };
        let mut config = Config::new(url(&server)?);
        if server.starts_with("http://") {
            // Images need not have the certificates of public authorities, and nothing asks for them here.
            config.root_cert = Some(Vec::new());
        }
        Self::new(config, Place::Server(server))
    }

    fn new(mut config: Config, place: Place) -> Result<Self> {
        config.connect_timeout = Some(CONNECT_TIMEOUT);
        config.read_timeout = Some(PATIENCE);
        let client = Client::try_from(config).with_context(|| format!("cannot make a client of {place}"))?;
        Ok(Self { client, place })
    }

    /// The JSON that `GET path` is answered with.
    pub(crate) async fn get(&self, path: &str, parameters: &[(&str, &str)]) -> Result<Value> {
        let text = self.send(Method::GET, path, parameters).await?;
        serde_json::from_str(&text).with_context(|| format!("{} answered no JSON", self.place))
    }

    /// Changes something.
    pub(crate) async fn put(&self, path: &str, parameters: &[(&str, &str)]) -> Result<()> {
        self.send(Method::PUT, path, parameters).await.map(drop)
    }

    async fn send(&self, method: Method, path: &str, parameters: &[(&str, &str)]) -> Result<String> {
        let uri = format!("{path}{}", query::write(parameters));
        let request = Request::builder().method(method).uri(uri).body(Vec::new());
        let request = request.context("the request cannot be sent")?;
        self.client.request_text(request).await.map_err(|error| explain(&self.place, error))
    }
}

/// What it says for itself; else what to do about it.
fn explain(place: &Place, error: kube::Error) -> anyhow::Error {
    let status = match error {
        kube::Error::Api(status) => status,
        other => return anyhow::Error::from(other).context(format!("{place} cannot be asked")),
    };
    let message = status.message.trim_end();
    match (place, status.code) {
        (_, 401) => anyhow!("{place} does not know who asks: {message}"),
        (Place::ApiServer { .. }, 503) => {
            anyhow!("{place} does not reach antrea-controller: {message}; kubectl get apiservices says why")
        }
        // What is no Status is not from the controller.
        (Place::ApiServer { .. }, 404) if status.reason == NO_STATUS => {
            anyhow!("{place} has no API of antrea-controller: {message}; is Antrea installed?")
        }
        _ => anyhow!("{message}"),
    }
}

fn url(text: &str) -> Result<Uri> {
    text.parse().with_context(|| format!("{text:?} is not a URL"))
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};
    use std::sync::Arc;

    use antrea_kit::kube_client::root_certificates;
    use antrea_kit::server::{Handler, Limits, Server};
    use antrea_kit::serving_certificate::ServingCertificate;
    use antrea_kit::status::{json_answer, status};
    use antrea_types::MinimumTls;
    use hyper::StatusCode;
    use hyper::header::AUTHORIZATION;
    use tokio_util::sync::CancellationToken;

    use super::*;

    /// Answers whoever has the token `good`.
    async fn agent(certificate: Option<&Arc<ServingCertificate>>) -> SocketAddr {
        let handler: Handler = Arc::new(|request| {
            let answer = match request.headers().get(AUTHORIZATION).map(|value| value.as_bytes()) {
                Some(b"Bearer good") | None => json_answer(StatusCode::OK, &request.uri().to_string().into()),
                Some(_) => status(StatusCode::UNAUTHORIZED, "Unauthorized"),
            };
            Box::pin(std::future::ready(answer))
        });
        let tls = certificate.map(|certificate| certificate.server_config(MinimumTls::V1_3).unwrap());
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server = Server::bind(address, tls, Limits::default(), handler).await.unwrap();
        let address = server.local_addr();
        tokio::spawn(server.run(CancellationToken::new()));
        address
    }

    async fn ask_own(token: &str) -> Result<Value> {
        let certificate = ServingCertificate::generate("a", &["127.0.0.1".to_owned()]).unwrap();
        let address = agent(Some(&certificate)).await;
        let authority = root_certificates(certificate.ca_pem().as_bytes()).unwrap();
        let (component, port, token) = (Component::Agent, address.port(), token.to_owned());
        let own = OwnContainer { component, port, token, authority };
        ComponentApi::inside(own)?.get("/ovsflows", &[("table", "1,2")]).await
    }

    #[tokio::test]
    async fn the_own_agent_is_asked_with_the_token_and_trusted_by_its_certificate() {
        assert_eq!(ask_own("good").await.unwrap(), "/ovsflows?table=1%2C2");
    }

    #[tokio::test]
    async fn an_agent_that_started_anew_has_another_token_and_that_is_said() {
        let error = format!("{:#}", ask_own("bad").await.unwrap_err());
        assert!(error.contains("does not know who asks: Unauthorized"), "{error}");
    }

    #[tokio::test]
    async fn a_proxy_is_asked_without_tls_and_an_agent_that_is_away_is_named() {
        let proxy = agent(None).await.to_string();
        let api = ComponentApi::of_agent(Some(&proxy)).unwrap();
        assert_eq!(api.get("/version", &[]).await.unwrap(), "/version");
        let away = ComponentApi::of_agent(Some("127.0.0.1:1")).unwrap();
        let error = format!("{:#}", away.get("/version", &[]).await.unwrap_err());
        assert!(error.starts_with("http://127.0.0.1:1 cannot be asked"), "{error}");
    }

    #[test]
    fn an_api_server_that_does_not_pass_on_is_told_from_a_controller_that_refuses() {
        let said = |code: u16, message: &str, reason: &str| {
            let status = kube::core::Status::failure(message, reason).with_code(code).boxed();
            explain(&Place::ApiServer { cluster: "blue".into() }, kube::Error::Api(status)).to_string()
        };
        assert_eq!(
            said(503, "service unavailable\n", NO_STATUS),
            "the API server of blue does not reach antrea-controller: service unavailable; kubectl get apiservices says why"
        );
        assert_eq!(
            said(404, "404 page not found\n", NO_STATUS),
            "the API server of blue has no API of antrea-controller: 404 page not found; is Antrea installed?"
        );
        let none = "networkpolicies.controlplane.antrea.io \"a\" not found";
        assert_eq!(said(404, none, "NotFound"), none);
        let forbidden =
            "addressgroups.controlplane.antrea.io is forbidden: User \"alice\" cannot list resource";
        assert_eq!(said(403, forbidden, "Forbidden"), forbidden);
    }
}
