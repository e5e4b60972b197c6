//! The watches of Namespaces, Pods and NetworkPolicies, and the computation that follows them.
//!
//! Changes are taken in as many at a time as wait, up to a limit, and settled once. That happens on the runtime's one
//! thread between requests, not beside them: a batch takes less than what a watcher would notice (a change of a Pod takes
//! microseconds), only the first is longer, and nobody is answered before it.

use std::sync::Arc;
use std::time::Instant;

use antrea_kit::health::Check;
use antrea_kit::watch::watch_each;
use anyhow::Result;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::runtime::watcher::{Config, Event};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::{Receiver, Sender};
use tokio_util::sync::CancellationToken;

use super::change::Change;
use super::watched_pod::WatchedPod;
use super::{BATCH, Computation, Queue};

/// Runs until `stop`. `check` passes once agents can watch what was computed.
///
/// # Errors
/// Never: an API server that is away is asked again.
pub(crate) async fn run(
    client: Client,
    computation: Arc<Computation>,
    queue: Queue,
    check: Check,
    stop: CancellationToken,
) -> Result<()> {
    let Queue { sender, receiver: changes } = queue;
    let watches = async {
        tokio::try_join!(
            follow::<Namespace>(&client, Change::Namespace, sender.clone(), &stop),
            follow::<WatchedPod>(&client, Change::Pod, sender.clone(), &stop),
            follow::<NetworkPolicy>(&client, Change::NetworkPolicy, sender.clone(), &stop),
        )
    };
    // Changes that wait at the end are nobody's any more.
    tokio::select! {
        result = watches => result.map(drop),
        () = compute(&computation, changes, check) => Ok(()),
    }
}

async fn follow<K>(
    client: &Client,
    change: fn(Event<K>) -> Change,
    changes: Sender<Change>,
    stop: &CancellationToken,
) -> Result<()>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    let api = Api::<K>::all(client.clone());
    let kind = K::kind(&());
    watch_each(&kind, api, Config::default(), |event| Some(change(event)), changes, stop.clone()).await
}

async fn compute(computation: &Computation, mut changes: Receiver<Change>, check: Check) {
    let mut batch = Vec::with_capacity(BATCH);
    while changes.recv_many(&mut batch, BATCH).await > 0 {
        let begun = Instant::now();
        let updates = computation.take(batch.drain(..), Timestamp::now());
        computation.store.publish(updates).await;
        computation.told(begun.elapsed());
        if !computation.is_filling() {
            check.pass();
        }
    }
}
