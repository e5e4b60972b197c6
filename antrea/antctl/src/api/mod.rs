//! Asks the API of an agent: in its own container, or through `antctl proxy`.

mod place;

use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use hyper::Method;
use hyper::http::Request;
use kube::{Client, Config};
use serde_json::Value;

pub(crate) use place::{Place, own_agent};

use antrea_kit::query;

/// Traces and large tables take a while.
const PATIENCE: Duration = Duration::from_secs(60);

/// The API of an agent.
pub(crate) struct AgentApi {
    client: Client,
    place: Place,
}

impl AgentApi {
    /// That which `--server` names, or that of the container that this runs in.
    pub(crate) fn open(server: Option<&str>) -> Result<Self> {
        Self::at(Place::find(server)?)
    }

    fn at(place: Place) -> Result<Self> {
        let mut config = Config::new(place.url()?);
        config.connect_timeout = Some(Duration::from_secs(5));
        config.read_timeout = Some(PATIENCE);
        if let Place::OwnContainer { token, authority, .. } = &place {
            config.auth_info.token = Some(token.clone().into());
            config.root_cert = Some(authority.clone());
        } else if place.is_plain() {
            // Images need not have the certificates of public authorities, and nothing asks for them here.
            config.root_cert = Some(Vec::new());
        }
        let client = Client::try_from(config).context("cannot make a client of the agent's API")?;
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
        self.client.request_text(request).await.map_err(|error| self.explain(error))
    }

    /// What the agent says for itself; else what to do about it.
    fn explain(&self, error: kube::Error) -> anyhow::Error {
        let place = &self.place;
        match error {
            kube::Error::Api(status) if status.code == 401 => {
                anyhow!("{place} does not know who asks: {}", status.message)
            }
            kube::Error::Api(status) => anyhow!("{}", status.message),
            other => anyhow::Error::from(other).context(format!("{place} cannot be asked")),
        }
    }
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
        let place = Place::OwnContainer { port: address.port(), token: token.to_owned(), authority };
        AgentApi::at(place)?.get("/ovsflows", &[("table", "1,2")]).await
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
        let api = AgentApi::open(Some(&proxy)).unwrap();
        assert_eq!(api.get("/version", &[]).await.unwrap(), "/version");
        let away = AgentApi::open(Some("127.0.0.1:1")).unwrap();
        let error = format!("{:#}", away.get("/version", &[]).await.unwrap_err());
        assert!(error.starts_with("http://127.0.0.1:1 cannot be asked"), "{error}");
    }
}
