//! What load balancers ask this Node: whether a Service has endpoints here (`healthCheckNodePort`), and whether the Node
//! serves Services at all.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use antrea_agent_proxy::{ExternalServices, HealthCheck, ServiceName};
use antrea_kit::server::{Answer, BindError, Handler, Limits, Server};
use anyhow::Result;
use http_body_util::Full;
use hyper::{Response, StatusCode, header};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::{info, warn};

use super::proxy_health::{ProxyHealthSource, Told};

/// How soon a port that somebody else has is asked for again.
const RETRY: Duration = Duration::from_secs(30);

/// How much of the Service's traffic this Node can take: some load balancers go by it.
const WEIGHT: &str = "X-Load-Balancing-Endpoint-Weight";

/// A server for each Service that asks for one.
pub(crate) struct HealthServers {
    external: ExternalServices,
    source: ProxyHealthSource,
    running: BTreeMap<ServiceName, Running>,
}

/// The server of a Service. It ends when this is dropped.
struct Running {
    port: u16,
    told: watch::Sender<HealthCheck>,
    _stop: DropGuard,
}

impl HealthServers {
    /// Where the host serves what comes from outside, it answers for it, too.
    pub(crate) const fn new(external: ExternalServices, source: ProxyHealthSource) -> Self {
        Self { external, source, running: BTreeMap::new() }
    }

    /// How the proxy is.
    pub(crate) const fn source(&self) -> &ProxyHealthSource {
        &self.source
    }

    /// This is what is told of a Service from now on; nothing where nobody asks.
    pub(crate) fn set(&mut self, service: &ServiceName, check: Option<HealthCheck>) {
        let check = check.filter(|_| self.external == ExternalServices::ByAgent);
        let Some(check) = check else {
            self.running.remove(service);
            return;
        };
        match self.running.get(service) {
            Some(running) if running.port == check.port => {
                running.told.send_replace(check);
            }
            _ => {
                // The port is free before somebody else asks for it.
                self.running.remove(service);
                self.running.insert(service.clone(), start(check, self.source.clone()));
            }
        }
    }
}

fn start(check: HealthCheck, source: ProxyHealthSource) -> Running {
    let stop = CancellationToken::new();
    let port = check.port;
    let (told, tells) = watch::channel(check);
    tokio::spawn(serve(port, tells, source, stop.clone()));
    Running { port, told, _stop: stop.drop_guard() }
}

async fn serve(
    port: u16,
    tells: watch::Receiver<HealthCheck>,
    source: ProxyHealthSource,
    stop: CancellationToken,
) {
    let handler: Handler = Arc::new(move |_| {
        let (check, proxy) = (tells.borrow(), source.proxy());
        let mut answer = answer(check.status(proxy), check.body(proxy));
        answer.headers_mut().insert(WEIGHT, check.local_endpoints.into());
        Box::pin(std::future::ready(answer))
    });
    let bind = || Server::bind_everywhere(port, None, Limits::default(), Arc::clone(&handler));
    let Some(server) = stop.run_until_cancelled(bound(bind)).await else { return };
    // Serving never fails; it ends with `stop`.
    let _ = server.run(stop).await;
}

/// The server, once its port can be had.
async fn bound<Binding>(bind: impl Fn() -> Binding) -> Server
where
    Binding: Future<Output = Result<Server, BindError>>,
{
    let mut told = None;
    loop {
        match bind().await {
            Ok(server) => return server,
            Err(error) => {
                let text = error.to_string();
                if told.as_ref() != Some(&text) {
                    warn!(
                        error = &error as &dyn std::error::Error,
                        "A health check is not answered; trying again"
                    );
                    told = Some(text);
                }
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

/// Answers on `address` whether this Node serves Services, until `stop`, as kube-proxy does on its `/healthz`.
pub(crate) async fn serve_health(
    address: SocketAddr,
    source: ProxyHealthSource,
    stop: CancellationToken,
) -> Result<()> {
    let handler: Handler = Arc::new(move |request| {
        let answer = match source.tell(request.uri().path()) {
            Some(Told { status, body }) => answer(status, body),
            None => answer(404, String::new()),
        };
        Box::pin(std::future::ready(answer))
    });
    // As with kube-proxy, whose 0.0.0.0 stands for all addresses of both families.
    let bind = async || match address.ip().is_unspecified() {
        true => Server::bind_everywhere(address.port(), None, Limits::default(), Arc::clone(&handler)).await,
        false => Server::bind(address, None, Limits::default(), Arc::clone(&handler)).await,
    };
    let Some(server) = stop.run_until_cancelled(bound(bind)).await else { return Ok(()) };
    info!(%address, "Answering whether Services are served");
    server.run(stop).await
}

fn answer(status: u16, body: String) -> Answer {
    let mut answer = Response::new(Full::from(body));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    answer.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    answer.headers_mut().insert("X-Content-Type-Options", header::HeaderValue::from_static("nosniff"));
    answer
}
