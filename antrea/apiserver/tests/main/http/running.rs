//! An API that runs, an API server of Kubernetes that it asks who may ask, and clients.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use antrea_apiserver::{Agents, Api, CannotEvaluate, CannotReport, Cluster, LIMITS, SharedStore};
use antrea_kit::auth::{Authenticator, Authorizer, CertificateTrust, Guard, Lifetimes, NodesInTokens};
use antrea_kit::health::{Checks, text};
use antrea_kit::server::{Handler, Limits, Server};
use antrea_kit::serving_certificate::ServingCertificate;
use antrea_kit::status::{json_answer, status};
use antrea_shared_api::controlplane::v1beta2::{
    NetworkPolicyEvaluationRequest, NetworkPolicyEvaluationResponse, NetworkPolicyStatus, NodeStatsSummary,
};
use antrea_shared_api::meta::Metadata;
use antrea_shared_api::stats::v1alpha1::{NetworkPolicyStats, TrafficStats};
use antrea_shared_api::system::v1beta1::AntreaControllerInfo;
use antrea_types::MinimumTls;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::{Client, Config};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::sync::CancellationToken;

/// Where clients are: an address of this machine other than 127.0.0.1, whose connections share nothing.
const ANOTHER_HOST: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// What agents reported, in short.
#[derive(Default)]
pub(crate) struct Reported(Mutex<Vec<String>>);

impl Reported {
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    fn add(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }
}

impl Cluster for Reported {
    fn controller_info(&self) -> AntreaControllerInfo {
        let metadata = Metadata::new("antrea-controller", "");
        AntreaControllerInfo { metadata, ..AntreaControllerInfo::default() }
    }

    fn report_status(&self, status: NetworkPolicyStatus) -> Result<(), CannotReport> {
        if status.metadata.name == "unknown" {
            return Err(CannotReport::UnknownPolicy);
        }
        let nodes = status.nodes.iter().map(|node| format!(" {} {}", node.node_name, node.generation));
        self.add(format!("status {}{}", status.metadata.name, nodes.collect::<String>()));
        Ok(())
    }

    fn report_stats(&self, summary: NodeStatsSummary) {
        self.add(format!("stats {}", summary.metadata.name));
    }

    fn evaluate(
        &self,
        request: &NetworkPolicyEvaluationRequest,
    ) -> Result<Option<NetworkPolicyEvaluationResponse>, CannotEvaluate> {
        let source = request.source.pod.as_ref().ok_or_else(|| CannotEvaluate("no source".to_owned()))?;
        self.add(format!("evaluate {}/{}", source.namespace, source.name));
        Ok(None)
    }

    fn network_policy_stats(&self) -> Option<Vec<NetworkPolicyStats>> {
        let stats = |namespace: &str, name: &str, packets| NetworkPolicyStats {
            metadata: Metadata { namespace: namespace.to_owned(), ..Metadata::new(name, "") },
            traffic_stats: TrafficStats { packets, bytes: 0, sessions: 0 },
        };
        Some(vec![stats("x", "a", 1), stats("y", "b", 2)])
    }
}

/// Who are agents that have Nodes.
pub(crate) const AGENTS: &str = "agents";

/// Knows the tokens `NAME-token`, and `NAME@NODE,NODE-token` of Pods on Nodes. The users `agent` and `agents` may do
/// everything, nobody else anything. Never says anything of tokens that begin with `endless-`.
async fn kubernetes(asked: Arc<Mutex<Vec<String>>>) -> Client {
    let handler: Handler = Arc::new(move |request| {
        let asked = Arc::clone(&asked);
        Box::pin(async move {
            let path = request.uri().path().to_owned();
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let mut review: Value = serde_json::from_slice(&body).unwrap();
            let spec = &review["spec"];
            if spec["token"].as_str().is_some_and(|token| token.starts_with("endless-")) {
                asked.lock().unwrap().push("endless".to_owned());
                return std::future::pending().await;
            }
            review["status"] = if path.ends_with("/tokenreviews") {
                match spec["token"].as_str().and_then(|token| token.strip_suffix("-token")) {
                    Some(name) => json!({"authenticated": true, "user": user(name)}),
                    None => json!({"authenticated": false}),
                }
            } else if path.ends_with("/subjectaccessreviews") {
                let attributes = [&spec["resourceAttributes"], &spec["nonResourceAttributes"]];
                let attributes = attributes.into_iter().find(|some| !some.is_null()).unwrap();
                match spec["user"].as_str() {
                    Some(user) => {
                        asked.lock().unwrap().push(format!("{user} {attributes}"));
                        json!({"allowed": user == "agent" || user == AGENTS})
                    }
                    // What everybody may.
                    None => json!({"allowed": false}),
                }
            } else {
                return status(StatusCode::NOT_FOUND, &path);
            };
            json_answer(StatusCode::CREATED, &review)
        })
    });
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = Server::bind(address, None, Limits::default(), handler).await.unwrap();
    let url = format!("http://{}", server.local_addr());
    tokio::spawn(server.run(CancellationToken::new()));
    Client::try_from(Config::new(url.parse().unwrap())).unwrap()
}

fn user(name: &str) -> Value {
    let Some((name, nodes)) = name.split_once('@') else { return json!({"username": name}) };
    let nodes: Vec<_> = nodes.split(',').collect();
    json!({"username": name, "extra": {"authentication.kubernetes.io/node-name": nodes}})
}

/// An API until the test ends.
pub(crate) struct Running {
    pub(crate) store: SharedStore,
    pub(crate) reported: Arc<Reported>,
    pub(crate) trust: CertificateTrust,
    pub(crate) tokens: watch::Sender<NodesInTokens>,
    pub(crate) stop: CancellationToken,
    asked: Arc<Mutex<Vec<String>>>,
    address: SocketAddr,
    ca: String,
}

/// The certificate and the key of a client.
pub(crate) type Identity = (CertificateDer<'static>, PrivateKeyDer<'static>);

impl Running {
    pub(crate) async fn start() -> Self {
        let (store, reported) = (SharedStore::default(), Arc::<Reported>::default());
        let (asked, trust, stop) = (Arc::default(), CertificateTrust::default(), CancellationToken::new());
        let client = kubernetes(Arc::clone(&asked)).await;
        let lifetimes = Lifetimes::default();
        let authenticator = Authenticator::new(client.clone(), None, lifetimes);
        let guard = Guard::new(authenticator, Authorizer::new(client, lifetimes)).trusting(trust.clone());
        let checks = Checks::new();
        let other: Handler = Arc::new(move |request| {
            let health = checks.answer(&request);
            let answer = health.unwrap_or_else(|| text(StatusCode::OK, "other".to_owned()));
            Box::pin(std::future::ready(answer))
        });
        let cluster: Arc<dyn Cluster> = Arc::<Reported>::clone(&reported);
        let tokens = watch::Sender::new(NodesInTokens::Present);
        let agents = Agents { user: AGENTS.to_owned(), tokens: tokens.subscribe() };
        let api = Api { store: store.clone(), cluster, guard, agents, other, stop: stop.clone() };
        let certificate = ServingCertificate::generate("antrea", &["localhost".to_owned()]).unwrap();
        let tls = certificate.aggregated_server_config(MinimumTls::V1_2).unwrap();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server = Server::bind(address, Some(tls), LIMITS, api.handler()).await.unwrap();
        let address = server.local_addr();
        tokio::spawn(server.run(stop.clone()));
        Self { store, reported, trust, tokens, stop, asked, address, ca: certificate.ca_pem() }
    }

    /// What the API server was asked whether somebody may.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// Sends a request over a connection of its own.
    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> Response<Incoming> {
        self.send_as(None, request).await
    }

    pub(crate) async fn send_as(
        &self,
        identity: Option<Identity>,
        request: Request<Full<Bytes>>,
    ) -> Response<Incoming> {
        let stream = TokioIo::new(tls(self.address, &self.ca, "http/1.1", identity).await);
        let (mut sender, connection) = http1::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        sender.send_request(request).await.unwrap()
    }

    /// Sends the head of a request with a body, which never comes.
    pub(crate) async fn begin(&self, line: &str, headers: &str) -> TlsStream<TcpStream> {
        let mut stream = tls(self.address, &self.ca, "http/1.1", None).await;
        let headers = headers.replace('\n', "\r\n");
        let head = format!("{line} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n{headers}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        stream
    }

    /// A connection that many requests can share.
    pub(crate) async fn http2(&self, identity: Option<Identity>) -> http2::SendRequest<Full<Bytes>> {
        let stream = TokioIo::new(tls(self.address, &self.ca, "h2", identity).await);
        let (sender, connection) = http2::handshake(TokioExecutor::new(), stream).await.unwrap();
        tokio::spawn(connection);
        sender
    }

    /// The answer to the agent's request.
    pub(crate) async fn ask(&self, request: &str, headers: &str, body: &[u8]) -> Answered {
        let headers = format!("authorization: Bearer agent-token\n{headers}");
        Answered::of(self.send(self::request(request, &headers, body)).await).await
    }
}

/// A connection over which a protocol is spoken.
async fn tls(
    address: SocketAddr,
    ca: &str,
    protocol: &str,
    identity: Option<Identity>,
) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ca.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let builder = builder.with_root_certificates(roots);
    let mut config = match identity {
        Some((certificate, key)) => builder.with_client_auth_cert(vec![certificate], key).unwrap(),
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((ANOTHER_HOST, 0).into()).unwrap();
    let stream = socket.connect(address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap()
}

/// A request of `METHOD PATH`, and headers a line each.
pub(crate) fn request(line: &str, headers: &str, body: &[u8]) -> Request<Full<Bytes>> {
    let (method, path) = line.split_once(' ').unwrap();
    let uri = format!("https://localhost{path}");
    let mut request = Request::builder().method(method).uri(uri).header("host", "localhost");
    for (name, value) in headers.lines().filter_map(|line| line.split_once(": ")) {
        request = request.header(name, value);
    }
    request.body(Full::new(Bytes::copy_from_slice(body))).unwrap()
}

/// An answer to its end.
pub(crate) struct Answered {
    pub(crate) code: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answered {
    pub(crate) async fn of(answer: Response<Incoming>) -> Self {
        let (parts, body) = answer.into_parts();
        let body = body.collect().await.unwrap().to_bytes().to_vec();
        Self { code: parts.status.as_u16(), headers: parts.headers, body }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn content_type(&self) -> &str {
        self.headers["content-type"].to_str().unwrap()
    }
}
