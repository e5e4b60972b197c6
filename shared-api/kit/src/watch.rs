//! Watches of the Kubernetes API as a stream of small values, that survive an API server which goes away.

use std::fmt::Debug;
use std::time::Duration;

use futures::StreamExt;
use kube::Api;
use kube::runtime::watcher as watch_objects;
use kube::runtime::watcher::{self, Event};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::backoff::{Backoff, jitter};
use crate::logging::chain;

/// A change of the objects of one kind, each mapped to what the receiver needs of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchEvent<T> {
    /// These are all objects: whatever is not among them is gone. Comes first, and after each interruption.
    Resynced(Vec<T>),
    /// An object is new or has changed.
    Applied(T),
    /// An object is gone; this is its last state.
    Deleted(T),
}

/// Watches until `stop` or until nobody receives. Objects that `map` gives `None` for are left out: for one object it gives
/// always `None`, or never. A slow receiver slows the watch down; nothing is dropped.
///
/// # Errors
/// Never: an API server that is away, or does not know the kind, is asked again, with growing waits.
pub async fn watch<K, T>(
    api: Api<K>,
    config: watcher::Config,
    map: impl Fn(K) -> Option<T>,
    events: mpsc::Sender<WatchEvent<T>>,
    stop: CancellationToken,
) -> anyhow::Result<()>
where
    K: kube::Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let mut listed = Vec::new();
    let map = move |event| translate(event, &map, &mut listed);
    watch_each(&K::kind(&()), api, config, map, events, stop).await
}

/// The same for objects whose kind need be no type, event by event as kube has them, also while all objects are listed:
/// nobody has to hold all objects of a kind at once. Events that `map` gives `None` for are left out.
///
/// # Errors
/// Never, as above.
pub async fn watch_each<K, E>(
    kind: &str,
    api: Api<K>,
    config: watcher::Config,
    mut map: impl FnMut(Event<K>) -> Option<E>,
    events: mpsc::Sender<E>,
    stop: CancellationToken,
) -> anyhow::Result<()>
where
    K: kube::Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let mut stream = std::pin::pin!(watch_objects(api.clone(), config.clone()));
    let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(10));
    while let Some(Some(next)) = stop.run_until_cancelled(stream.next()).await {
        let event = match next {
            // Each attempt begins with Init, before anything was asked.
            Ok(event) => {
                if !matches!(event, Event::Init) && !backoff.is_fresh() {
                    info!(kind, "Watch goes on");
                    backoff.reset();
                }
                map(event)
            }
            Err(error) => {
                if backoff.is_fresh() {
                    report(kind, &error);
                }
                stop.run_until_cancelled(tokio::time::sleep(backoff.wait(jitter()))).await;
                if is_expired(&error) {
                    stream.set(watch_objects(api.clone(), config.clone()));
                }
                None
            }
        };
        let Some(event) = event else { continue };
        match stop.run_until_cancelled(events.send(event)).await {
            Some(Ok(())) => {}
            Some(Err(_)) | None => break,
        }
    }
    Ok(())
}

/// What an event of the watcher means to a receiver. `listed` gathers a list that is not complete yet.
fn translate<K, T>(
    event: Event<K>,
    map: impl Fn(K) -> Option<T>,
    listed: &mut Vec<T>,
) -> Option<WatchEvent<T>> {
    match event {
        Event::Init => {
            listed.clear();
            None
        }
        Event::InitApply(object) => {
            listed.extend(map(object));
            None
        }
        Event::InitDone => Some(WatchEvent::Resynced(std::mem::take(listed))),
        Event::Apply(object) => map(object).map(WatchEvent::Applied),
        Event::Delete(object) => map(object).map(WatchEvent::Deleted),
    }
}

/// Whether the server has forgotten what happened since, and has refused the whole watch for that. kube lists anew only
/// where an event says so, and would ask from the same version forever.
fn is_expired(error: &watcher::Error) -> bool {
    matches!(error, watcher::Error::WatchStartFailed(kube::Error::Api(status)) if status.code == 410)
}

fn report(kind: &str, error: &watcher::Error) {
    if let watcher::Error::InitialListFailed(kube::Error::Api(status)) = error
        && status.code == 404
    {
        warn!(kind, "API server does not know this kind yet; waiting for its CustomResourceDefinition");
    } else {
        warn!(kind, error = %chain(error), "Watch was interrupted");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Odd numbers are objects that nobody is interested in.
    fn check(events: impl IntoIterator<Item = Event<i32>>) -> Vec<WatchEvent<i32>> {
        let mut listed = Vec::new();
        let even = |number| (number % 2 == 0).then_some(number);
        events.into_iter().filter_map(|event| translate(event, even, &mut listed)).collect()
    }

    #[test]
    fn a_list_arrives_as_a_whole() {
        let events =
            [Event::Init, Event::InitApply(2), Event::InitApply(3), Event::InitApply(4), Event::InitDone];
        assert_eq!(check(events), [WatchEvent::Resynced(vec![2, 4])]);
    }

    #[test]
    fn a_list_that_was_interrupted_begins_anew() {
        let events = [Event::Init, Event::InitApply(2), Event::Init, Event::InitApply(4), Event::InitDone];
        assert_eq!(check(events), [WatchEvent::Resynced(vec![4])]);
    }

    #[test]
    fn changes_arrive_one_by_one() {
        let events = [Event::Apply(2), Event::Apply(1), Event::Delete(2), Event::Delete(1)];
        assert_eq!(check(events), [WatchEvent::Applied(2), WatchEvent::Deleted(2)]);
    }
}
