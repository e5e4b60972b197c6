//! The Namespace that a check makes for its Pods, and removes however the check ends: Ctrl-C included.

use std::collections::BTreeMap;
use std::time::Duration;

use antrea_kit::kube_client::{bounded, delete, status_code};
use anyhow::{Context, Result, bail};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::PostParams;
use kube::{Api, ResourceExt};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep};

use super::verdict::say;
use crate::access::Access;

/// For the Pods in it to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Does `work` with a Namespace of its own. `component` tells the checks' Namespaces apart: `installation-checker`.
pub(super) async fn with<T>(
    access: &Access,
    component: &str,
    work: impl AsyncFnOnce(&str) -> Result<T>,
) -> Result<T> {
    let mut signals = Signals::new()?;
    let api = Api::<Namespace>::all(access.client.clone());
    let created = bounded(api.create(&PostParams::default(), &namespace(component))).await;
    let name = created.context("cannot create a Namespace for the tests")?.name_any();
    say(&access.cluster, &format!("Created Namespace {name} for the tests"));
    let result = tokio::select! {
        result = work(&name) => result,
        () = signals.any() => Err(anyhow::anyhow!("interrupted")),
    };
    say(&access.cluster, &format!("Removing Namespace {name}"));
    let removed = tokio::select! {
        removed = remove(&api, &name) => removed,
        () = signals.any() => bail!("interrupted; Namespace {name} goes as soon as its Pods have ended"),
    };
    // What the check found matters more than what it left.
    if let Err(error) = removed {
        eprintln!("Namespace {name} is still there ({error:#}): kubectl delete namespace {name}");
    }
    result
}

/// The API server chooses the end of the name.
fn namespace(component: &str) -> Namespace {
    let labels = [
        ("app", "antrea"),
        ("component", component),
        // Some Pods ask from the network of their Node.
        ("pod-security.kubernetes.io/enforce", "privileged"),
    ];
    let mut namespace = Namespace::default();
    namespace.metadata.generate_name = Some("antrea-test-".to_owned());
    namespace.metadata.labels =
        Some(BTreeMap::from(labels.map(|(key, value)| (key.to_owned(), value.to_owned()))));
    namespace
}

async fn remove(api: &Api<Namespace>, name: &str) -> Result<()> {
    delete(api, name).await?;
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        match bounded(api.get(name)).await {
            Err(error) if status_code(&error) == Some(404) => return Ok(()),
            Err(error) => return Err(error),
            Ok(_) => sleep(Duration::from_millis(500)).await,
        }
    }
    bail!("its Pods did not end within {} s", PATIENCE.as_secs())
}

/// Whatever ends a program that is at a terminal.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    fn new() -> Result<Self> {
        let listen = |kind| signal(kind).context("cannot wait for signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    async fn any(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}
