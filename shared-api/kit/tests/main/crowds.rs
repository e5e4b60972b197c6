//! Crowds of connections against servers with the limits that they have in a cluster: nobody else notices.
//!
//! Hosts are addresses of 127.0.0.0/8; `127.0.0.1` is the machine itself, whose probes have slots of their own.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use antrea_kit::api;
use antrea_kit::auth::{Authenticator, Authorizer, Guard, Lifetimes};
use antrea_kit::health::{Checks, text};
use antrea_kit::open_files;
use antrea_kit::server::{Handler, Limits};
use antrea_types::MinimumTls;
use hyper::StatusCode;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::reviews::Reviews;
use crate::server::{Running, certificate, client_config};

const MACHINE: Ipv4Addr = Ipv4Addr::LOCALHOST;
const ATTACKER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 66);
const ACCOMPLICE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 67);
const OTHER_HOST: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 7);

/// More than all slots for handshakes, or for strangers.
const CROWD: usize = 750;

/// What one host has of these at most: two of them have all.
const SHARE_OF_HANDSHAKES: usize = Limits::DEFAULT.slots.handshakes / 2;
const SHARE_OF_STRANGERS: usize = Limits::DEFAULT.slots.anonymous / 2;

/// What a client with a token waits for at most, and a probe: half as long as a handshake may take.
const SOON: Duration = Duration::from_secs(5);

const HEALTH: &str = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// An API with a guard, and what its clients need.
struct Target {
    server: Running,
    config: Option<Arc<ClientConfig>>,
}

impl Target {
    async fn over_tls() -> Self {
        open_files::allow_most().unwrap();
        let client = Reviews::default().start().await;
        let lifetimes = Lifetimes::default();
        let guard = Guard::new(
            Authenticator::new(client.clone(), None, lifetimes),
            Authorizer::new(client, lifetimes),
        );
        let health = api::health(Checks::new());
        let handler: Handler = Arc::new(move |request| match request.uri().path() {
            "/agentinfo" => Box::pin(std::future::ready(text(StatusCode::OK, "secret".to_owned()))),
            _ => health(request),
        });
        let certificate = certificate();
        let tls = certificate.server_config(MinimumTls::V1_2).unwrap();
        let server = Running::answering(Some(tls), Limits::DEFAULT, guard.before(handler)).await;
        Self { server, config: Some(client_config(&certificate.ca_pem())) }
    }

    async fn plain() -> Self {
        open_files::allow_most().unwrap();
        let server = Running::answering(None, Limits::DEFAULT, api::health(Checks::new())).await;
        Self { server, config: None }
    }

    async fn connect(&self, from: Ipv4Addr) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from((from, 0))).unwrap();
        socket.connect(self.server.address).await.unwrap()
    }

    async fn connect_tls(&self, from: Ipv4Addr) -> std::io::Result<TlsStream<TcpStream>> {
        let connector = TlsConnector::from(Arc::clone(self.config.as_ref().unwrap()));
        let name = ServerName::try_from("localhost").unwrap();
        connector.connect(name, self.connect(from).await).await
    }

    /// Connections that begin no handshake, or no request. The server keeps `share` of them, and ends the others at once.
    async fn silent_crowd(&self, from: Ipv4Addr, share: usize) -> Vec<TcpStream> {
        let mut crowd = Vec::new();
        for _ in 0..CROWD {
            crowd.push(self.connect(from).await);
        }
        let ended = async {
            while kept(&crowd) != share {
                sleep(Duration::from_millis(10)).await;
            }
        };
        let waited = timeout(SOON, ended).await;
        assert!(waited.is_ok(), "{from} has {} connections instead of {share}", kept(&crowd));
        crowd
    }

    /// The same, over and over, until it is dropped.
    fn renewed_crowd(&self) -> Crowd {
        let address = self.server.address;
        Crowd(tokio::spawn(async move {
            let mut crowd = std::collections::VecDeque::new();
            loop {
                let socket = TcpSocket::new_v4().unwrap();
                socket.bind(SocketAddr::from((ATTACKER, 0))).unwrap();
                if let Ok(stream) = socket.connect(address).await {
                    crowd.push_back(stream);
                }
                if crowd.len() > CROWD {
                    crowd.pop_front();
                }
            }
        }))
    }

    /// How long a probe waits for its answer.
    async fn probe(&self, from: Ipv4Addr) -> Duration {
        let begun = Instant::now();
        let code = match self.config {
            Some(_) => ask(&mut self.connect_tls(from).await.unwrap(), HEALTH).await,
            None => ask(&mut self.connect(from).await, HEALTH).await,
        };
        assert_eq!(code.as_deref(), Some("200"));
        begun.elapsed()
    }
}

struct Crowd(JoinHandle<()>);

impl Drop for Crowd {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// How many of these the server has not ended.
fn kept(crowd: &[TcpStream]) -> usize {
    let is_kept = |stream: &&TcpStream| {
        stream.try_read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    };
    crowd.iter().filter(is_kept).count()
}

fn with_token(token: &str) -> String {
    format!("GET /agentinfo HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n")
}

/// The code that a request is answered with; none when the connection ends.
async fn ask(stream: &mut (impl AsyncReadExt + AsyncWriteExt + Unpin), request: &str) -> Option<String> {
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = [0; 4096];
    let length = timeout(SOON, stream.read(&mut answer)).await.expect("no answer").ok()?;
    let line = String::from_utf8_lossy(answer.get(..length)?).into_owned();
    line.strip_prefix("HTTP/1.1 ").map(|rest| rest.chars().take(3).collect())
}

#[tokio::test]
async fn handshakes_that_never_begin_keep_nobody_out() {
    let target = Target::over_tls().await;
    let _crowd = target.silent_crowd(ATTACKER, SHARE_OF_HANDSHAKES).await;
    let _other = target.silent_crowd(ACCOMPLICE, SHARE_OF_HANDSHAKES).await;
    for from in [MACHINE, OTHER_HOST, ATTACKER] {
        assert!(target.probe(from).await < SOON, "from {from}");
    }
}

#[tokio::test]
async fn a_handshake_under_way_completes_in_a_crowd_of_silent_connections() {
    let target = Target::over_tls().await;
    let mut stream = target.connect(ATTACKER).await;
    let name = ServerName::try_from("localhost").unwrap();
    let mut tls = ClientConnection::new(Arc::clone(target.config.as_ref().unwrap()), name).unwrap();
    send(&mut tls, &mut stream).await;
    while tls.is_handshaking() {
        assert_ne!(receive(&mut tls, &mut stream).await, 0, "the server does not answer");
    }
    let _crowd = target.silent_crowd(ATTACKER, SHARE_OF_HANDSHAKES - 1).await;
    send(&mut tls, &mut stream).await;
    // Session tickets follow the client's Finished: bytes here mean that the handshake is complete.
    assert_ne!(receive(&mut tls, &mut stream).await, 0, "it gave way to connections that began nothing");
}

async fn send(tls: &mut ClientConnection, stream: &mut TcpStream) {
    let mut bytes = Vec::new();
    while tls.wants_write() {
        tls.write_tls(&mut bytes).unwrap();
    }
    stream.write_all(&bytes).await.unwrap();
}

/// The number of bytes received: 0 once the server has closed the connection.
async fn receive(tls: &mut ClientConnection, stream: &mut TcpStream) -> usize {
    let mut bytes = [0; 4096];
    let length = timeout(SOON, stream.read(&mut bytes)).await.expect("no answer").unwrap_or_default();
    let mut received = &bytes[..length];
    while !received.is_empty() {
        tls.read_tls(&mut received).unwrap();
        tls.process_new_packets().unwrap();
    }
    length
}

#[tokio::test]
async fn connections_that_ask_nothing_keep_nobody_out() {
    let target = Target::plain().await;
    let _crowd = target.silent_crowd(ATTACKER, SHARE_OF_STRANGERS).await;
    let _other = target.silent_crowd(ACCOMPLICE, SHARE_OF_STRANGERS).await;
    for from in [MACHINE, OTHER_HOST, ATTACKER] {
        assert!(target.probe(from).await < SOON, "from {from}");
    }
}

#[tokio::test]
async fn strangers_that_ask_for_health_over_and_over_keep_nobody_out() {
    let target = Target::over_tls().await;
    let mut crowd = Vec::new();
    for _ in 0..300 {
        let mut stream = target.connect_tls(ATTACKER).await.unwrap();
        assert_eq!(ask(&mut stream, HEALTH).await.as_deref(), Some("200"));
        crowd.push(stream);
    }
    let first_kept = 300 - SHARE_OF_STRANGERS;
    for (number, expected) in
        [(0, None), (first_kept - 1, None), (first_kept, Some("200")), (299, Some("200"))]
    {
        let answer = ask(&mut crowd[number], HEALTH).await;
        assert_eq!(answer.as_deref(), expected, "connection {number}: the oldest give way");
    }
    for from in [MACHINE, OTHER_HOST, ATTACKER] {
        assert!(target.probe(from).await < SOON, "from {from}");
    }
}

#[tokio::test]
async fn a_client_with_a_token_is_let_in_behind_the_address_of_a_crowd_and_stays() {
    let target = Target::over_tls().await;
    let _crowd = target.renewed_crowd();
    sleep(Duration::from_millis(300)).await;
    let begun = Instant::now();
    let mut client = loop {
        assert!(begun.elapsed() < SOON, "the client was kept out");
        let Ok(mut stream) = target.connect_tls(ATTACKER).await else { continue };
        if ask(&mut stream, &with_token("alice-token")).await.as_deref() == Some("200") {
            break stream;
        }
    };
    let mut strangers = Vec::new();
    for _ in 0..300 {
        let Ok(mut stream) = target.connect_tls(ATTACKER).await else { continue };
        if ask(&mut stream, HEALTH).await.as_deref() == Some("200") {
            strangers.push(stream);
        }
    }
    // So many that the client would have given way, if it were one of them.
    let first = ask(&mut strangers[0], HEALTH).await;
    assert_eq!(first, None, "{} strangers are too few", strangers.len());
    let again = ask(&mut client, &with_token("alice-token")).await;
    assert_eq!(again.as_deref(), Some("200"), "it gave way to strangers");
}

#[tokio::test]
async fn made_up_tokens_give_nobody_a_slot_that_is_for_those_who_have_one() {
    let target = Target::over_tls().await;
    let mut client = target.connect_tls(OTHER_HOST).await.unwrap();
    assert_eq!(ask(&mut client, &with_token("alice-token")).await.as_deref(), Some("200"));
    let mut crowd = Vec::new();
    for number in 0..300 {
        let mut stream = target.connect_tls(ATTACKER).await.unwrap();
        let code = ask(&mut stream, &with_token(&format!("made-up-{number}"))).await;
        assert_eq!(code.as_deref(), Some("401"));
        crowd.push(stream);
    }
    assert_eq!(ask(&mut crowd[0], HEALTH).await, None, "it has no slot of its own");
    assert_eq!(ask(&mut client, &with_token("alice-token")).await.as_deref(), Some("200"));
}
