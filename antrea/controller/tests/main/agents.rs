//! Agents of a controller, as many as a test likes: each has one connection of HTTP/2 with three watches for Node n1, and
//! begins anew where the controller is when it fails.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use antrea_kit::kube_client::root_certificates;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpSocket;
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;

use crate::client::CONTROLPLANE;

const PATIENCE: Duration = Duration::from_secs(60);
const RETRY: Duration = Duration::from_millis(200);
const RESOURCES: [&str; 3] = ["networkpolicies", "addressgroups", "appliedtogroups"];

/// Where a controller is, and what it is trusted by.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Whereabouts {
    pub(crate) port: u16,
    pub(crate) ca: String,
}

/// Agents, until this is dropped.
pub(crate) struct Agents {
    count: usize,
    whereabouts: watch::Sender<Whereabouts>,
    heard: mpsc::Receiver<(usize, u16, usize)>,
    refused: Arc<AtomicUsize>,
}

impl Agents {
    pub(crate) fn start(count: usize, whereabouts: Whereabouts) -> Self {
        let (sender, heard) = mpsc::channel(count);
        let (whereabouts, refused) = (watch::Sender::new(whereabouts), Arc::default());
        for number in 0..count {
            tokio::spawn(run(number, whereabouts.subscribe(), sender.clone(), Arc::clone(&refused)));
        }
        Self { count, whereabouts, heard, refused }
    }

    /// How often one of them had a connection and was not served.
    pub(crate) fn refused(&self) -> usize {
        self.refused.load(Ordering::Relaxed)
    }

    /// The controller is elsewhere.
    pub(crate) fn tell(&self, whereabouts: Whereabouts) {
        self.whereabouts.send_replace(whereabouts);
    }

    /// Until each has all that the controller at `port` has for it: how many objects, and how many agents got so many.
    pub(crate) async fn until_all_have_caught_up(&mut self, port: u16) -> BTreeMap<usize, usize> {
        let mut objects = BTreeMap::new();
        let all = async {
            while objects.len() < self.count {
                let (agent, of, count) = self.heard.recv().await.unwrap();
                if of == port {
                    objects.insert(agent, count);
                }
            }
        };
        let waited = timeout(PATIENCE, all).await;
        assert!(waited.is_ok(), "only {} of {} agents caught up", objects.len(), self.count);
        objects.into_values().fold(BTreeMap::new(), |mut agents, count| {
            *agents.entry(count).or_default() += 1;
            agents
        })
    }
}

async fn run(
    number: usize,
    mut whereabouts: watch::Receiver<Whereabouts>,
    heard: mpsc::Sender<(usize, u16, usize)>,
    refused: Arc<AtomicUsize>,
) {
    loop {
        let now = whereabouts.borrow_and_update().clone();
        let [high, low] = u16::try_from(number).unwrap().to_be_bytes();
        // It fails whenever the controller is away.
        if let Some(connection) = connect_from([127, 1, high, low], &now).await {
            match catch_up(number, &connection).await {
                Some((bodies, objects)) => follow(bodies, heard.send((number, now.port, objects))).await,
                None => drop(refused.fetch_add(1, Ordering::Relaxed)),
            }
        }
        tokio::select! {
            () = sleep(RETRY) => {}
            changed = whereabouts.changed() => if changed.is_err() { return },
        }
    }
}

/// Its watches, and how many objects there were.
async fn catch_up(number: usize, connection: &SendRequest<Full<Bytes>>) -> Option<(Vec<Incoming>, usize)> {
    let (mut bodies, mut objects) = (Vec::new(), 0);
    for resource in RESOURCES {
        let path =
            format!("https://localhost{CONTROLPLANE}/{resource}?watch=true&fieldSelector=nodeName%3Dn1");
        let token = format!("Bearer agent-{number}-token");
        let request = Request::get(path).header("authorization", token).body(Full::default()).unwrap();
        let answer = connection.clone().send_request(request).await.ok().filter(|it| it.status() == 200)?;
        let mut body = answer.into_body();
        objects += until_bookmark(&mut body).await?;
        bodies.push(body);
    }
    Some((bodies, objects))
}

/// Watches until one watch ends.
async fn follow<E>(bodies: Vec<Incoming>, told: impl Future<Output = Result<(), E>>) {
    if told.await.is_ok() {
        for mut body in bodies {
            while let Some(Ok(_)) = body.frame().await {}
        }
    }
}

/// The number of objects that there were.
async fn until_bookmark(body: &mut Incoming) -> Option<usize> {
    let mut text = String::new();
    while !text.contains(r#"{"type":"BOOKMARK""#) {
        let data = body.frame().await?.ok()?.into_data().ok()?;
        text.push_str(std::str::from_utf8(&data).unwrap());
    }
    Some(text.matches(r#"{"type":"ADDED""#).count())
}

/// A connection of HTTP/2.
pub(crate) async fn connect(whereabouts: &Whereabouts) -> Option<SendRequest<Full<Bytes>>> {
    connect_from([127, 0, 0, 1], whereabouts).await
}

async fn connect_from(source: [u8; 4], whereabouts: &Whereabouts) -> Option<SendRequest<Full<Bytes>>> {
    let mut roots = RootCertStore::empty();
    for certificate in root_certificates(whereabouts.ca.as_bytes()).unwrap() {
        roots.add(certificate.into()).unwrap();
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let socket = TcpSocket::new_v4().ok()?;
    socket.bind(SocketAddr::from((source, 0))).ok()?;
    let stream = socket.connect(SocketAddr::from(([127, 0, 0, 1], whereabouts.port))).await.ok()?;
    let name = "localhost".try_into().unwrap();
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.ok()?;
    let handshake = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
    let (sender, connection) = handshake.ok()?;
    tokio::spawn(connection);
    Some(sender)
}
