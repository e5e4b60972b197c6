//! The watches of Namespaces, Pods and NetworkPolicies, and the computation that follows them.
//!
//! Changes are taken in as many at a time as wait, up to a limit, and settled once. That happens on a thread of its own:
//! whatever clients ask, and however many, policies are computed meanwhile, and a large batch keeps nobody from an answer.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use antrea_kit::ca_publisher::Publication;
use antrea_kit::health::Check;
use antrea_kit::watch::watch_each;
use anyhow::{Context as _, Result};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::runtime::watcher::{Config, Event};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::change::Change;
use super::first_round;
use super::watched_pod::WatchedPod;
use super::{BATCH, Computation, Queue};

/// Runs until `stop`. `check` passes once agents can watch what was computed. Rounds are numbered beyond those of earlier
/// controllers, by the ConfigMap of `publication`.
///
/// # Errors
/// When there is no thread to compute on. An API server that is away is asked again.
pub(crate) async fn run(
    client: Client,
    publication: Publication,
    computation: Arc<Computation>,
    queue: Queue,
    check: Check,
    stop: CancellationToken,
) -> Result<()> {
    let first = first_round::settle(client.clone(), &publication, Timestamp::now());
    let Some(first) = stop.run_until_cancelled(first).await else { return Ok(()) };
    computation.store.look(|store| store.number_rounds_after(first));
    let Queue { sender, receiver: changes } = queue;
    let computing = on_own_thread(computation, changes, check)?;
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
        ended = computing => ended.context("the thread that computes policies ended"),
    }
}

/// Computes on a thread, until nobody sends changes any more. What is given ends with the thread.
fn on_own_thread(
    computation: Arc<Computation>,
    changes: Receiver<Change>,
    check: Check,
) -> Result<oneshot::Receiver<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .context("cannot start the runtime that computes policies")?;
    let (running, ended) = oneshot::channel();
    thread::Builder::new()
        .name("compute".to_owned())
        .spawn(move || {
            runtime.block_on(compute(&computation, changes, check));
            // Nobody waits at the end of the process.
            let _ = running.send(());
        })
        .context("cannot start the thread that computes policies")?;
    Ok(ended)
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use antrea_apiserver::SharedStore;
    use antrea_kit::health::{Checks, Kind};
    use serde_json::json;
    use tokio::runtime::Builder;
    use tokio::time::timeout;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    /// All that there is of a kind.
    fn listed<K>(change: fn(Event<K>) -> Change, objects: Vec<K>) -> Vec<Change> {
        let objects = objects.into_iter().map(Event::InitApply);
        [Event::Init].into_iter().chain(objects).chain([Event::InitDone]).map(change).collect()
    }

    /// Namespace x, which has no Pods, and its policy p.
    fn cluster() -> Vec<Change> {
        let namespace = serde_json::from_value(json!({"metadata": {"name": "x"}})).unwrap();
        let metadata = json!({"namespace": "x", "name": "p", "uid": "p"});
        let policy = json!({"metadata": metadata, "spec": {"podSelector": {}, "policyTypes": ["Ingress"]}});
        let policy = serde_json::from_value(policy).unwrap();
        let namespaces = listed(Change::Namespace, vec![namespace]);
        let policies = listed(Change::NetworkPolicy, vec![policy]);
        [namespaces, listed(Change::Pod, Vec::new()), policies].into_iter().flatten().collect()
    }

    /// The runtime of the API is there, but nothing that it is given is done: as if requests had all that it has.
    #[test]
    fn policies_are_computed_while_the_api_has_no_thread_for_anything_else() {
        let api = Builder::new_current_thread().enable_all().build().unwrap();
        let _entered = api.enter();
        let (computation, Queue { sender, receiver }) = Computation::new(SharedStore::filling());
        let checks = Checks::new();
        let check = checks.add("networkpolicies", Kind::Readiness);
        let ended = on_own_thread(Arc::clone(&computation), receiver, check).unwrap();
        cluster().into_iter().for_each(|change| sender.try_send(change).unwrap());
        // The computation ends with what is sent.
        drop(sender);
        let own = Builder::new_current_thread().enable_time().build().unwrap();
        let waited = own.block_on(async { timeout(PATIENCE, ended).await });
        assert!(matches!(waited, Ok(Ok(()))), "the computation waits for the API: {waited:?}");
        assert!(checks.ready(), "agents cannot watch what was computed");
        assert_eq!(computation.numbers().policies, 1);
    }
}
