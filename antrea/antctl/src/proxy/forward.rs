//! Forwards requests to an agent, or to the controller.

use std::net::IpAddr;
use std::time::Instant;

use antrea_kit::request_body::RequestBody;
use antrea_kit::server::Answer;
use antrea_kit::status::status;
use anyhow::{Context, Result};
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{HeaderMap, Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use tokio::sync::Mutex;

use crate::access::Access;
use crate::direct::{Destination, client, renewal};

/// The longest body of a request, and of an answer.
const LONGEST_REQUEST: usize = 1 << 20;
const LONGEST_ANSWER: usize = 256 << 20;

/// The way to the one that is asked.
pub(super) struct Forward {
    access: Access,
    destination: Destination,
    listens_on: IpAddr,
    /// With when it has to be made anew.
    client: Mutex<(Client, Instant)>,
}

impl Forward {
    pub(super) async fn new(access: Access, destination: Destination, listens_on: IpAddr) -> Result<Self> {
        let client = client(&access, &destination).await?;
        let client = Mutex::new((client, renewal(Instant::now())));
        Ok(Self { access, destination, listens_on, client })
    }

    pub(super) async fn answer(&self, request: Request<RequestBody>) -> Answer {
        if !is_meant(request.headers(), self.listens_on) {
            return status(
                StatusCode::FORBIDDEN,
                "this proxy answers to its own address only, and no page of another site",
            );
        }
        match self.forward(request).await {
            Ok(answer) => answer,
            Err(error) => status(StatusCode::BAD_GATEWAY, &self.explain(&error)),
        }
    }

    fn explain(&self, error: &anyhow::Error) -> String {
        format!("{} cannot be asked: {error:#}", self.destination)
    }

    async fn forward(&self, request: Request<RequestBody>) -> Result<Answer> {
        let (head, body) = request.into_parts();
        let body = Limited::new(body, LONGEST_REQUEST).collect().await;
        let body = body.map_err(|error| anyhow::anyhow!("{error}")).context("the request is too long")?;
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut forwarded = Request::builder().method(head.method).uri(path);
        if let Some(kind) = head.headers.get(CONTENT_TYPE) {
            forwarded = forwarded.header(CONTENT_TYPE, kind);
        }
        let forwarded = forwarded.body(Body::from(body.to_bytes().to_vec())).context("it cannot be sent")?;
        let answer = self.client().await?.send(forwarded).await?;
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
    async fn client(&self) -> Result<Client> {
        let mut current = self.client.lock().await;
        let now = Instant::now();
        if now >= current.1 {
            *current = (client(&self.access, &self.destination).await?, renewal(now));
        }
        Ok(current.0.clone())
    }
}

/// Whether the user means this proxy: a page in their browser, whose name was made to lead here, says another host; one that
/// makes the browser ask here says that it is from another site (Fetch Metadata), or from where it is.
fn is_meant(headers: &HeaderMap, listens_on: IpAddr) -> bool {
    let value = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let from_elsewhere = value("sec-fetch-site").is_some_and(|site| !["none", "same-origin"].contains(&site))
        || value("origin").is_some_and(|origin| origin.strip_prefix("http://") != value("host"));
    !from_elsewhere && is_own_host(headers, listens_on)
}

fn is_own_host(headers: &HeaderMap, listens_on: IpAddr) -> bool {
    let Some(host) = headers.get(HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let name = name.map_or(host, |(name, _)| name).trim_start_matches('[').trim_end_matches(']');
    name == "localhost"
        || name
            .parse::<IpAddr>()
            .is_ok_and(|ip| ip.is_loopback() || ip == listens_on || listens_on.is_unspecified())
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};

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

    #[test]
    fn pages_of_other_sites_are_not_answered() {
        let check = |headers: &[(&'static str, &'static str)]| {
            let own = [("host", "127.0.0.1:8001")];
            let all = own
                .iter()
                .chain(headers)
                .map(|(name, value)| (name.parse::<HeaderName>().unwrap(), HeaderValue::from_static(value)));
            is_meant(&HeaderMap::from_iter(all), "127.0.0.1".parse().unwrap())
        };
        assert!(check(&[]) && check(&[("sec-fetch-site", "none")]), "a tool, or typed into a browser");
        assert!(check(&[("sec-fetch-site", "same-origin"), ("origin", "http://127.0.0.1:8001")]));
        assert!(!check(&[("sec-fetch-site", "cross-site")]), "an image of a page");
        assert!(!check(&[("sec-fetch-site", "same-site")]), "another port of this machine");
        assert!(!check(&[("origin", "https://example.com")]), "a script of a page");
        assert!(!check(&[("origin", "null")]) && !check(&[("origin", "http://127.0.0.1:8002")]));
    }
}
