//! What others wait for: health, metrics, webhooks and the Lease. They have a thread and connections of their own, so that
//! they go on while the work keeps its thread busy, as a leader does that merges ten thousand exports.

use std::thread;
use std::time::Duration;

use antrea_kit::api;
use antrea_kit::components::Components;
use antrea_kit::health::{Checks, Kind};
use antrea_kit::leases::{Elector, Leadership, Terms};
use antrea_kit::watchdog::Watchdog;
use anyhow::{Context, Result};
use kube::Client;
use tokio::runtime::Builder;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::config::Listen;
use crate::metrics::Figures;
use crate::{listen, metrics, webhooks};

/// The Lease of the replica that works.
const LEASE: &str = "antrea-mc-controller";

/// How long the components have to end, once the work has ended and they are told to.
const GRACE: Duration = Duration::from_secs(15);

/// All of it.
pub(crate) struct Front {
    pub(crate) checks: Checks,
    pub(crate) health: Listen,
    pub(crate) figures: Figures,
    pub(crate) metrics: Listen,
    pub(crate) webhooks: webhooks::Settings,
    pub(crate) readiness: webhooks::Readiness,
    /// Where replicas elect the one that works.
    pub(crate) candidacy: Option<Candidacy>,
    /// Watches the thread of the work.
    pub(crate) worker: Watchdog,
}

/// Takes part in the election.
pub(crate) struct Candidacy {
    /// The Namespace of the Lease.
    pub(crate) namespace: String,
    /// What tells this replica from the others.
    pub(crate) replica: String,
    /// Who is told whether this replica works.
    pub(crate) leadership: watch::Sender<Leadership>,
}

/// Runs it on a thread of its own until `stop`. There `connect` makes its client: connections belong to the runtime of
/// who makes them.
///
/// # Errors
/// When somebody else has a port, or a part ends by itself.
pub(crate) async fn run(
    front: Front,
    connect: impl FnOnce() -> Result<Client> + Send + 'static,
    stop: CancellationToken,
) -> Result<()> {
    start(front, connect, stop)?.await.context("the thread ended by itself")?
}

fn start(
    front: Front,
    connect: impl FnOnce() -> Result<Client> + Send + 'static,
    stop: CancellationToken,
) -> Result<oneshot::Receiver<Result<()>>> {
    let (ending, ended) = oneshot::channel();
    let serve = move || {
        let runtime = Builder::new_current_thread().enable_all().build().context("cannot start the runtime");
        let outcome = runtime.and_then(|runtime| runtime.block_on(front.serve(connect, stop)));
        // Nobody waits at the end of the process.
        let _ = ending.send(outcome);
    };
    thread::Builder::new().name("front".to_owned()).spawn(serve).context("cannot start the thread")?;
    Ok(ended)
}

impl Front {
    async fn serve(self, connect: impl FnOnce() -> Result<Client>, stop: CancellationToken) -> Result<()> {
        let Self { checks, health, figures, metrics, webhooks, readiness, candidacy, worker } = self;
        let client = connect()?;
        let working = checks.add("work", Kind::Liveness);
        let health = listen::bind(health, api::health(checks)).await?;
        let metrics = listen::bind(metrics, metrics::handler(figures)).await?;

        let mut components = Components::new();
        components.add("work-check", |stop| worker.clone().report(working, stop));
        if let Some(server) = health {
            components.add("health", |stop| server.run(stop));
        }
        if let Some(server) = metrics {
            components.add("metrics", |stop| server.run(stop));
        }
        components.add("webhooks", |stop| webhooks::run(client.clone(), webhooks, readiness, stop));
        if let Some(Candidacy { namespace, replica, leadership }) = candidacy {
            let terms = Terms::usual(replica);
            let elector = Elector::new(client, &namespace, LEASE, terms, worker, leadership);
            components.add("lease", |stop| elector.run(stop));
        }
        components.run_until(stop.cancelled(), GRACE).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::net::{Ipv4Addr, TcpListener};
    use std::sync::atomic::{AtomicU16, Ordering};
    use std::sync::mpsc;

    use antrea_kit::kube_client::{connect, root_certificates};
    use antrea_kit::object_files;
    use antrea_mc_leader::{Censuses, Feeds};
    use antrea_mc_webhook::{Hook, Installation};
    use hyper::Request;
    use k8s_openapi::api::coordination::v1::Lease;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::Api;
    use serde_json::{Value, json};
    use tokio::time::{sleep, timeout};

    use super::*;
    use crate::cli::Mode;
    use crate::config::Webhook;

    const PATIENCE: Duration = Duration::from_secs(60);
    const NAMESPACE: &str = "antrea-mc";

    /// Another each time, below those that the kernel gives to connections.
    fn free_port() -> u16 {
        static NEXT: AtomicU16 = AtomicU16::new(13_000);
        loop {
            let port = NEXT.fetch_add(1, Ordering::Relaxed);
            if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
                return port;
            }
        }
    }

    fn front(port: u16, leadership: watch::Sender<Leadership>) -> Front {
        let checks = Checks::new();
        let readiness = webhooks::Readiness::new(&checks);
        let installation = Installation {
            controller: NAMESPACE.to_owned(),
            agent: "kube-system".to_owned(),
            common_areas: vec![NAMESPACE.to_owned()],
            ..Installation::default()
        };
        let config = Webhook { port, host: Some(Ipv4Addr::LOCALHOST.into()) };
        Front {
            checks,
            health: Listen::Off,
            figures: Figures::new(Mode::Leader, "v0", leadership.subscribe(), Censuses::default()),
            metrics: Listen::Off,
            webhooks: webhooks::Settings {
                config,
                installation,
                farewell: Duration::ZERO,
                leadership: leadership.subscribe(),
                feeds: Feeds::default(),
            },
            readiness,
            candidacy: Some(Candidacy {
                namespace: NAMESPACE.to_owned(),
                replica: "mc-0".to_owned(),
                leadership,
            }),
            worker: Watchdog::new(PATIENCE * 2),
        }
    }

    /// Waits until the Lease has been written so often.
    async fn lease_is_renewed(client: &Client, times: usize) {
        let leases: Api<Lease> = Api::namespaced(client.clone(), NAMESPACE);
        let mut renewals = BTreeSet::new();
        while renewals.len() < times {
            let lease = leases.get_opt(LEASE).await.unwrap();
            renewals.extend(lease.and_then(|lease| lease.spec?.renew_time).map(|time| time.0));
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Asks a webhook as API servers do, with the certificate that is published for them.
    async fn review(client: &Client, port: u16) -> Value {
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
        let ca = loop {
            let map = maps.get_opt("antrea-mc-ca").await.unwrap();
            match map.and_then(|map| map.data?.remove("ca.crt")) {
                Some(ca) => break ca,
                None => sleep(Duration::from_millis(20)).await,
            }
        };
        let mut config = kube::Config::new(format!("https://127.0.0.1:{port}").parse().unwrap());
        config.root_cert = Some(root_certificates(ca.as_bytes()).unwrap());
        let question = json!({
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": { "uid": "one", "operation": "DELETE", "namespace": NAMESPACE, "name": "set" },
        });
        let request = Request::post(Hook::ClusterSet.path()).body(question.to_string().into_bytes()).unwrap();
        connect(config).unwrap().request(request).await.unwrap()
    }

    /// This test's own thread is that of the work, and does nothing else than to wait for the other two.
    #[test]
    fn lease_and_webhooks_go_on_while_the_leader_is_busy() {
        let work = Builder::new_current_thread().enable_all().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (connected, clients) = mpsc::channel();
        let path = folder.path().to_owned();
        let connect = move || -> Result<Client> {
            let client = object_files::client(&path)?;
            connected.send(client.clone()).unwrap();
            Ok(client)
        };
        let (port, stop) = (free_port(), CancellationToken::new());
        let (told, leadership) = watch::channel(Leadership::Following);
        work.block_on(async {
            let ended = start(front(port, told), connect, stop.clone()).unwrap();
            let others = thread::spawn(move || {
                let client = clients.recv().unwrap();
                let runtime = Builder::new_current_thread().enable_all().build().unwrap();
                let asked = async {
                    lease_is_renewed(&client, 2).await;
                    let answer = review(&client, port).await;
                    lease_is_renewed(&client, 2).await;
                    answer
                };
                runtime.block_on(async { timeout(PATIENCE, asked).await.expect("nobody answers") })
            });
            let answer = others.join().unwrap();
            assert_eq!(answer["response"]["uid"], "one", "{answer}");
            assert_eq!(*leadership.borrow(), Leadership::Leading);
            stop.cancel();
            timeout(PATIENCE, ended).await.unwrap().unwrap().unwrap();
        });
    }

    #[tokio::test]
    async fn a_port_that_somebody_else_has_ends_it() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = taken.local_addr().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let (told, _leadership) = watch::channel(Leadership::Following);
        let front = Front { health: Listen::At(address), ..front(free_port(), told) };
        let connect = move || -> Result<Client> { Ok(object_files::client(&path)?) };
        let ended = timeout(PATIENCE, run(front, connect, CancellationToken::new())).await.unwrap();
        let error = format!("{:#}", ended.unwrap_err());
        assert!(error.starts_with(&format!("cannot listen on {address}")), "{error}");
    }
}
