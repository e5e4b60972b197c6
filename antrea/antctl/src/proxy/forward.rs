//! Forwards requests to an agent.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use antrea_kit::kube_client::root_certificates;
use antrea_kit::server::Answer;
use antrea_kit::status::status;
use anyhow::{Context, Result};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{HeaderMap, Request, Response, StatusCode};
use kube::client::Body;
use kube::{Client, Config};
use tokio::sync::Mutex;

use super::credentials::{Credentials, request_token};
use super::destination::Destination;
use crate::access::Access;

/// A host name for which agents' certificates are.
const SERVER_NAME: &str = "localhost";

/// The longest body of a request, and of an answer.
const LONGEST_REQUEST: usize = 1 << 20;
const LONGEST_ANSWER: usize = 256 << 20;

/// The way to an agent.
pub(super) struct Forward {
    access: Access,
    destination: Destination,
    listens_on: IpAddr,
    credentials: Credentials,
    agent: Mutex<(Client, Option<Instant>)>,
}

impl Forward {
    pub(super) async fn new(access: Access, destination: Destination, listens_on: IpAddr) -> Result<Self> {
        let credentials = Credentials::of(&access.config.auth_info);
        let agent = client(&access, &destination, credentials).await?;
        let renewal = credentials.renewal(Instant::now());
        Ok(Self { access, destination, listens_on, credentials, agent: Mutex::new((agent, renewal)) })
    }

    pub(super) async fn answer(&self, request: Request<Incoming>) -> Answer {
        if !is_meant(request.headers(), self.listens_on) {
            return status(StatusCode::FORBIDDEN, "this proxy answers to its own address only");
        }
        match self.forward(request).await {
            Ok(answer) => answer,
            Err(error) => status(StatusCode::BAD_GATEWAY, &format!("the agent cannot be asked: {error:#}")),
        }
    }

    async fn forward(&self, request: Request<Incoming>) -> Result<Answer> {
        let (head, body) = request.into_parts();
        let body = Limited::new(body, LONGEST_REQUEST).collect().await;
        let body = body.map_err(|error| anyhow::anyhow!("{error}")).context("the request is too long")?;
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut forwarded = Request::builder().method(head.method).uri(path);
        if let Some(kind) = head.headers.get(CONTENT_TYPE) {
            forwarded = forwarded.header(CONTENT_TYPE, kind);
        }
        let forwarded = forwarded.body(Body::from(body.to_bytes().to_vec())).context("it cannot be sent")?;
        let answer = self.agent().await?.send(forwarded).await?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, LONGEST_ANSWER).collect().await;
        let body = body.map_err(|error| anyhow::anyhow!("{error}")).context("the answer cannot be read")?;
        let mut answer = Response::new(Full::new(body.to_bytes()));
        *answer.status_mut() = head.status;
        if let Some(kind) = head.headers.get(CONTENT_TYPE) {
            answer.headers_mut().insert(CONTENT_TYPE, kind.clone());
        }
        Ok(answer)
    }

    /// A client whose token is still good.
    async fn agent(&self) -> Result<Client> {
        let mut agent = self.agent.lock().await;
        let now = Instant::now();
        if agent.1.is_some_and(|renewal| now >= renewal) {
            let client = client(&self.access, &self.destination, self.credentials).await?;
            *agent = (client, self.credentials.renewal(now));
        }
        Ok(agent.0.clone())
    }
}

async fn client(access: &Access, destination: &Destination, credentials: Credentials) -> Result<Client> {
    let url = format!("https://{}", destination.address);
    let mut config = Config::new(url.parse().context("the agent's address makes no URL")?);
    config.root_cert = Some(root_certificates(&destination.ca)?);
    config.tls_server_name = Some(SERVER_NAME.to_owned());
    config.connect_timeout = Some(Duration::from_secs(10));
    config.read_timeout = Some(Duration::from_secs(60));
    config.auth_info = match credentials {
        Credentials::OfUser => access.config.auth_info.clone(),
        Credentials::OfServiceAccount => {
            let token = request_token(&access.client, &destination.namespace).await?;
            kube::config::AuthInfo { token: Some(token.into()), ..kube::config::AuthInfo::default() }
        }
    };
    Client::try_from(config).context("cannot make a client of the agent's API")
}

/// Whether the user means this proxy: a page in their browser, whose name was made to lead here, says another host.
fn is_meant(headers: &HeaderMap, listens_on: IpAddr) -> bool {
    let Some(host) = headers.get(HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let name = name.map_or(host, |(name, _)| name).trim_start_matches('[').trim_end_matches(']');
    name == SERVER_NAME
        || name
            .parse::<IpAddr>()
            .is_ok_and(|ip| ip.is_loopback() || ip == listens_on || listens_on.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(host: &str, listens_on: &str) -> bool {
        is_meant(&HeaderMap::from_iter([(HOST, host.parse().unwrap())]), listens_on.parse().unwrap())
    }

    #[test]
    fn only_the_own_address_is_answered_to() {
        for host in ["127.0.0.1:8001", "localhost:8001", "localhost", "[::1]:8001", "127.0.0.1"] {
            assert!(check(host, "127.0.0.1"), "{host}");
        }
        for host in ["example.com", "example.com:8001", "192.0.2.7:8001", ""] {
            assert!(!check(host, "127.0.0.1"), "{host}");
        }
        assert!(check("192.0.2.7:8001", "192.0.2.7") && check("192.0.2.7:8001", "0.0.0.0"));
        assert!(!check("example.com", "0.0.0.0"));
    }
}
