//! An API that says nothing but to whom the API server lets ask.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use antrea_kit::api;
use antrea_kit::auth::{Authenticator, Authorizer, Guard, Lifetimes, LoopbackToken};
use antrea_kit::health::{Check, Checks, Kind, text};
use antrea_kit::server::{Handler, Limits, Server};
use antrea_kit::serving_certificate::ServingCertificate;
use antrea_types::MinimumTls;
use hyper::StatusCode;
use rustls::pki_types::ServerName;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::sync::CancellationToken;

use crate::reviews::Reviews;
use crate::server::{client_config, exchange};

/// Long enough for a test, unless it waits for the end.
pub(crate) const LONG: Lifetimes =
    Lifetimes { accepted: Duration::from_secs(600), refused: Duration::from_secs(600) };
pub(crate) const NONE: Lifetimes = Lifetimes { accepted: Duration::ZERO, refused: Duration::ZERO };

/// How many reviews are asked for at once.
pub(crate) const AT_ONCE: usize = 8;

/// Of this machine, whose own address has few connections.
pub(crate) const ANOTHER_HOST: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// An API whose paths all say `secret`, but for those of health.
pub(crate) struct Api {
    address: SocketAddr,
    ca: String,
    pub(crate) reviews: Reviews,
    pub(crate) loopback: String,
    pub(crate) check: Check,
}

impl Api {
    pub(crate) async fn start(lifetimes: Lifetimes) -> Self {
        let reviews = Reviews::default();
        let client = reviews.start().await;
        let folder = tempfile::tempdir().unwrap();
        let token = LoopbackToken::generate().unwrap();
        token.write(&folder.path().join("token")).unwrap();
        let loopback = std::fs::read_to_string(folder.path().join("token")).unwrap();
        let authenticator = Authenticator::new(client.clone(), Some(&token), lifetimes);
        let authorizer = Authorizer::new(client, lifetimes).expecting("frank");
        let guard = Guard::new(authenticator, authorizer).explaining_to(&token);
        let checks = Checks::new();
        let check = checks.add("watcher", Kind::Neighbour);
        check.pass();
        let health = api::health(checks);
        let handler: Handler = Arc::new(move |request| match request.uri().path() {
            "/agentinfo" | "/loglevel" | "/versions" => {
                Box::pin(std::future::ready(text(StatusCode::OK, "secret".to_owned())))
            }
            _ => health(request),
        });
        let certificate = ServingCertificate::generate("antrea-agent", &["localhost".to_owned()]).unwrap();
        let tls = certificate.server_config(MinimumTls::V1_2).unwrap();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server =
            Server::bind(address, Some(tls), Limits::default(), guard.before(handler)).await.unwrap();
        let address = server.local_addr();
        tokio::spawn(server.run(CancellationToken::new()));
        Self { address, ca: certificate.ca_pem(), reviews, loopback, check }
    }

    /// The status line and the body that `METHOD PATH` with a token is answered with.
    pub(crate) async fn ask(&self, request: &str, token: Option<&str>) -> (String, String) {
        let (head, body) = self.exchange(request, token).await;
        (head.lines().next().unwrap().to_owned(), body)
    }

    /// The head and the body.
    pub(crate) async fn exchange(&self, request: &str, token: Option<&str>) -> (String, String) {
        let mut stream = self.send(request, token).await;
        let answer = exchange(&mut stream, b"").await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head["HTTP/1.1 ".len()..].to_owned(), body.to_owned())
    }

    /// Sends a request, and does not wait for the answer.
    pub(crate) async fn send(&self, request: &str, token: Option<&str>) -> TlsStream<TcpStream> {
        let mut stream = self.connect().await;
        stream.write_all(text_of(request, token, "close").as_bytes()).await.unwrap();
        stream
    }

    pub(crate) async fn connect(&self) -> TlsStream<TcpStream> {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((ANOTHER_HOST, 0).into()).unwrap();
        let stream = socket.connect(self.address).await.unwrap();
        let connector = TlsConnector::from(client_config(&self.ca));
        let name = ServerName::try_from("localhost").unwrap();
        connector.connect(name, stream).await.unwrap()
    }

    /// Makes up tokens until nobody else who is unknown has a turn; the connections that they came by.
    pub(crate) async fn keep_busy(&self) -> Vec<TlsStream<TcpStream>> {
        let asked = self.reviews.asked();
        let mut waiting = Vec::new();
        for number in 0..60 {
            waiting.push(self.send("GET /agentinfo", Some(&format!("endless-{number}"))).await);
        }
        self.wait_for_reviews(asked + AT_ONCE).await;
        waiting
    }

    /// Asks for so many paths, of which the API server never says whether a user may; the connections that the questions came by.
    pub(crate) async fn ask_endlessly(&self, user: &str, number: usize) -> Vec<TlsStream<TcpStream>> {
        let (asked, token) = (self.reviews.asked(), format!("{user}-token"));
        let mut waiting = Vec::new();
        for number in 0..number {
            waiting.push(self.send(&format!("GET /endless-{number}"), Some(&token)).await);
        }
        self.wait_for_reviews(asked + 1).await;
        waiting
    }

    pub(crate) async fn wait_for_reviews(&self, number: usize) {
        let asked = async {
            while self.reviews.asked() < number {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(Duration::from_secs(60), asked).await.expect("the API server is not asked");
    }

    pub(crate) async fn code(&self, request: &str, token: Option<&str>) -> String {
        self.ask(request, token).await.0[..3].to_owned()
    }
}

pub(crate) fn text_of(request: &str, token: Option<&str>, connection: &str) -> String {
    let authorization = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
    let authorization = authorization.unwrap_or_default();
    format!("{request} HTTP/1.1\r\nHost: localhost\r\n{authorization}Connection: {connection}\r\n\r\n")
}
