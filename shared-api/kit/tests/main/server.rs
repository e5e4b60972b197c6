//! The server, as its clients see it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use antrea_kit::api;
use antrea_kit::health::{Checks, Kind, not_found};
use antrea_kit::server::{Handler, Limits, Server};
use antrea_kit::serving_certificate::ServingCertificate;
use antrea_types::MinimumTls;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_util::sync::CancellationToken;

const REQUEST: &[u8] = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
const SOON: Duration = Duration::from_secs(20);

/// A server that runs until it is told to stop.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    stop: CancellationToken,
    task: JoinHandle<anyhow::Result<()>>,
}

impl Running {
    async fn start(tls: Option<Arc<ServerConfig>>, limits: Limits, checks: Checks) -> Self {
        Self::answering(tls, limits, api::health(checks)).await
    }

    pub(crate) async fn answering(tls: Option<Arc<ServerConfig>>, limits: Limits, handler: Handler) -> Self {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server = Server::bind(address, tls, limits, handler).await.unwrap();
        let stop = CancellationToken::new();
        Self { address: server.local_addr(), task: tokio::spawn(server.run(stop.clone())), stop }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }
}

fn limits() -> Limits {
    Limits { handshake: Duration::from_millis(200), header: Duration::from_millis(200), ..Limits::DEFAULT }
}

/// Sends a request and reads until the server closes.
pub(crate) async fn exchange(
    stream: &mut (impl AsyncReadExt + AsyncWriteExt + Unpin),
    request: &[u8],
) -> String {
    stream.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    // A server that closes without a TLS farewell has said all it wanted, too.
    let _ = timeout(SOON, stream.read_to_end(&mut answer)).await.expect("the server kept the connection");
    String::from_utf8(answer).unwrap()
}

pub(crate) fn client_config(ca_pem: &str) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ca_pem.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    Arc::new(builder.with_root_certificates(roots).with_no_client_auth())
}

pub(crate) fn certificate() -> Arc<ServingCertificate> {
    ServingCertificate::generate("antrea-agent", &["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap()
}

#[tokio::test]
async fn health_is_told_over_tls_to_clients_that_trust_the_certificate() {
    let certificate = certificate();
    let checks = Checks::new();
    let ovs = checks.add("ovs", Kind::Readiness);
    let tls = certificate.server_config(MinimumTls::V1_2).unwrap();
    let server = Running::start(Some(tls), Limits::default(), checks).await;
    let connector = TlsConnector::from(client_config(&certificate.ca_pem()));
    for (name, passes) in [("localhost", false), ("127.0.0.1", true)] {
        if passes {
            ovs.pass();
        }
        let name = ServerName::try_from(name).unwrap();
        let mut stream = connector.connect(name, server.connect().await).await.unwrap();
        let answer = exchange(&mut stream, REQUEST).await;
        assert_eq!(answer.starts_with("HTTP/1.1 200 OK"), passes, "{answer}");
        assert_eq!(answer.contains("[-]ovs failed: reason withheld"), !passes, "{answer}");
    }
}

#[tokio::test]
async fn the_certificate_is_for_its_names_only() {
    let certificate = certificate();
    let tls = certificate.server_config(MinimumTls::V1_3).unwrap();
    let server = Running::start(Some(tls), Limits::default(), Checks::new()).await;
    let connector = TlsConnector::from(client_config(&certificate.ca_pem()));
    let name = ServerName::try_from("example.org").unwrap();
    assert!(connector.connect(name, server.connect().await).await.is_err());
}

#[tokio::test]
async fn a_name_that_is_none_gives_no_certificate() {
    let error = ServingCertificate::generate("x", &["ümlaut".to_owned()]).unwrap_err();
    assert_eq!(error.to_string(), "no certificate could be made for [\"ümlaut\"]");
}

#[tokio::test]
async fn a_client_that_begins_no_handshake_is_sent_away() {
    let tls = certificate().server_config(MinimumTls::V1_2).unwrap();
    let server = Running::start(Some(tls), limits(), Checks::new()).await;
    assert_eq!(exchange(&mut server.connect().await, b"").await, "");
}

#[tokio::test]
async fn a_client_that_does_not_end_its_request_is_sent_away() {
    let server = Running::start(None, limits(), Checks::new()).await;
    let answer = exchange(&mut server.connect().await, b"GET /readyz HTTP/1.1\r\nHost:").await;
    assert!(!answer.contains("200"), "{answer}");
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let server = Running::start(None, limits(), Checks::new()).await;
    let request = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let answer = exchange(&mut server.connect().await, request).await;
    assert!(answer.ends_with("ok"), "{answer}");
}

#[tokio::test]
async fn a_connection_does_not_last_for_ever() {
    let limits = Limits { lifetime: Duration::from_millis(200), ..limits() };
    let server = Running::start(None, limits, Checks::new()).await;
    assert_eq!(exchange(&mut server.connect().await, b"").await, "");
}

#[tokio::test]
async fn too_long_a_head_is_refused() {
    let server = Running::start(None, Limits::default(), Checks::new()).await;
    let request = format!("GET /readyz HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(40_000));
    let answer = exchange(&mut server.connect().await, request.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
}

#[tokio::test]
async fn a_server_that_is_told_to_stop_stops_though_clients_linger() {
    let server = Running::start(None, Limits::default(), Checks::new()).await;
    let mut idle = server.connect().await;
    idle.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    idle.read_u8().await.unwrap();
    server.stop.cancel();
    timeout(SOON, server.task).await.expect("the server went on").unwrap().unwrap();
}

#[tokio::test]
async fn limits_that_contradict_each_other_make_no_server() {
    let handler: Handler = Arc::new(|_| Box::pin(std::future::ready(not_found())));
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let limits = Limits { lifetime: Duration::ZERO, ..Limits::DEFAULT };
    let error = Server::bind(address, None, limits, handler).await.err().unwrap();
    assert!(error.to_string().starts_with("no server with these limits on 127.0.0.1:0: "), "{error}");
}

#[tokio::test]
async fn an_address_that_is_taken_is_named() {
    let server = Running::start(None, Limits::default(), Checks::new()).await;
    let handler: Handler = Arc::new(|_| Box::pin(std::future::ready(not_found())));
    let error = Server::bind(server.address, None, Limits::default(), handler).await.err().unwrap();
    assert_eq!(
        error.to_string(),
        format!("cannot listen on {}: choose another port, or end the program that has it", server.address)
    );
}

#[tokio::test]
async fn an_api_answers_for_health_on_all_addresses() {
    let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let checks = Checks::new();
    let certificate = ServingCertificate::generate("antrea-agent", &names).unwrap();
    let server = api::bind(&certificate, 0, MinimumTls::V1_3, api::health(checks)).await.unwrap();
    let (port, has_ipv6) = (server.local_addr().port(), server.local_addr().is_ipv6());
    tokio::spawn(server.run(CancellationToken::new()));
    let connector = TlsConnector::from(client_config(&certificate.ca_pem()));
    let ipv6 = has_ipv6.then_some(IpAddr::from(Ipv6Addr::LOCALHOST));
    for address in ipv6.into_iter().chain([IpAddr::from(Ipv4Addr::LOCALHOST)]) {
        let stream = TcpStream::connect((address, port)).await.unwrap();
        let mut stream = connector.connect(ServerName::from(address), stream).await.unwrap();
        let answer = exchange(&mut stream, REQUEST).await;
        assert!(answer.ends_with("ok"), "{address}: {answer}");
    }
}
