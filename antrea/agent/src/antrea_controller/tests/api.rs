//! The API of antrea-controller in this process, and an API server that says who may ask.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use antrea_apiserver::{Agents, Api, CannotEvaluate, CannotReport, Cluster, LIMITS, SharedStore};
use antrea_kit::api::StoredAuthority;
use antrea_kit::auth::{Authenticator, Authorizer, Guard, Lifetimes, NodesInTokens};
use antrea_kit::server::{Handler, Sendable, Server};
use antrea_kit::serving_certificate::ServingCertificate;
use antrea_kit::status::no_such_path;
use antrea_policy::{ComputedPolicy, PolicyUpdate, Source, SourceKind, Span, Update};
use antrea_shared_api::controlplane::v1beta2::{
    NetworkPolicyEvaluationRequest, NetworkPolicyEvaluationResponse, NetworkPolicyStatus, NodeStatsSummary,
};
use antrea_shared_api::stats::v1alpha1::NetworkPolicyStats;
use antrea_shared_api::system::v1beta1::AntreaControllerInfo;
use antrea_types::MinimumTls;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::{Request, Response};
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::agent::{NAME, TOKEN};

/// Where controllers listen; nobody does at 127.0.0.1.
const HOST: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// What a server speaks besides HTTP/1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaks {
    Http1,
    Http2,
}

/// What vouches for a controller.
pub(super) fn authority() -> StoredAuthority {
    StoredAuthority::generate("antrea").unwrap()
}

/// Listens at a port that is free, with a certificate of the controller.
pub(super) async fn serve<B: Sendable>(
    authority: &StoredAuthority,
    speaks: Speaks,
    handler: Handler<B>,
    stop: CancellationToken,
) -> SocketAddr {
    let certificate = ServingCertificate::issued_by(authority, "antrea", &[NAME.to_owned()]).unwrap();
    let tls = match speaks {
        Speaks::Http1 => certificate.server_config(MinimumTls::V1_2),
        Speaks::Http2 => certificate.aggregated_server_config(MinimumTls::V1_2),
    };
    let address = SocketAddr::from((HOST, 0));
    let server = Server::bind(address, Some(tls.unwrap()), LIMITS, handler).await.unwrap();
    let address = server.local_addr();
    tokio::spawn(server.run(stop));
    address
}

/// A controller that runs until it is dropped.
pub(super) struct Controller {
    pub(super) store: SharedStore,
    pub(super) address: SocketAddr,
    pub(super) reported: Arc<Reported>,
    _stop: DropGuard,
}

impl Controller {
    pub(super) async fn start(authority: &StoredAuthority) -> Self {
        Self::admitting(authority, TOKEN).await
    }

    /// One that takes this token alone.
    pub(super) async fn admitting(authority: &StoredAuthority, token: &'static str) -> Self {
        let (store, reported, stop) =
            (SharedStore::default(), Arc::<Reported>::default(), CancellationToken::new());
        let (kubernetes, lifetimes) = (kubernetes(token), Lifetimes::default());
        let authenticator = Authenticator::new(kubernetes.clone(), None, lifetimes);
        let api = Api {
            store: store.clone(),
            cluster: Arc::<Reported>::clone(&reported),
            guard: Guard::new(authenticator, Authorizer::new(kubernetes, lifetimes)),
            agents: Agents { user: "agents".to_owned(), tokens: watch::channel(NodesInTokens::Present).1 },
            other: Arc::new(|_| Box::pin(std::future::ready(no_such_path()))),
            stop: stop.clone(),
        };
        let address = serve(authority, Speaks::Http2, api.handler(), stop.clone()).await;
        Self { store, address, reported, _stop: stop.drop_guard() }
    }

    /// Has policies on Node n1.
    pub(super) async fn add(&self, policies: &[&str]) {
        let added = policies.iter().map(|name| {
            let (policy, span) = (policy(name), Span::from_sorted(vec!["n1".into()]));
            Update::Policy(PolicyUpdate::Added { policy, span })
        });
        self.store.publish(added.collect()).await;
    }
}

fn policy(name: &str) -> Arc<ComputedPolicy> {
    let source = Source {
        kind: SourceKind::K8sNetworkPolicy,
        namespace: "x".into(),
        name: name.into(),
        uid: name.into(),
    };
    Arc::new(ComputedPolicy { source, generation: 1, rules: Box::default(), applied_to: Box::default() })
}

/// An API server that knows one token, whose owner may do everything.
fn kubernetes(token: &'static str) -> Client {
    let service = tower::service_fn(move |request: Request<kube::client::Body>| async move {
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let mut review: Value = serde_json::from_slice(&body).unwrap();
        review["status"] = match review["spec"]["token"].as_str() {
            Some(given) => json!({"authenticated": given == token, "user": {"username": "agent"}}),
            None => json!({"allowed": true}),
        };
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(review.to_string()))))
    });
    Client::new(service, "default")
}

/// What agents reported, in short.
#[derive(Default)]
pub(super) struct Reported(Mutex<Vec<String>>);

impl Reported {
    pub(super) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Cluster for Reported {
    fn controller_info(&self) -> AntreaControllerInfo {
        AntreaControllerInfo::default()
    }

    fn report_status(&self, status: NetworkPolicyStatus) -> Result<(), CannotReport> {
        if status.metadata.name == "unknown" {
            return Err(CannotReport::UnknownPolicy);
        }
        self.0.lock().unwrap().push(format!("{} on {}", status.metadata.name, status.nodes[0].node_name));
        Ok(())
    }

    fn report_stats(&self, summary: NodeStatsSummary) {
        self.0.lock().unwrap().push(format!("stats of {}", summary.metadata.name));
    }

    fn evaluate(
        &self,
        _: &NetworkPolicyEvaluationRequest,
    ) -> Result<Option<NetworkPolicyEvaluationResponse>, CannotEvaluate> {
        Ok(None)
    }

    fn network_policy_stats(&self) -> Option<Vec<NetworkPolicyStats>> {
        None
    }
}
