//! Objects on their way from the watches of webhooks to the leader, so that a replica watches and reads a kind once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use antrea_kit::watch::WatchEvent;
use antrea_shared_api::multicluster::v1alpha1::MemberClusterAnnounce;
use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use futures::stream::{iter, unfold};
use futures::{Stream, StreamExt};
use tokio::sync::{Notify, watch};

use crate::approvals::KnownAccount;
use crate::export::Export;
use crate::objects::Record;

/// The feeds of all Common Areas, by Namespace. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Feeds(Arc<Mutex<BTreeMap<String, AreaFeeds>>>);

impl Feeds {
    /// The feeds of a Common Area.
    pub fn of(&self, namespace: &str) -> AreaFeeds {
        lock(&self.0).entry(namespace.to_owned()).or_default().clone()
    }
}

/// The feeds of a Common Area, one for each kind that webhooks watch. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct AreaFeeds {
    /// ClusterSets.
    pub sets: Feed<ClusterSet>,
    /// ServiceAccounts.
    pub accounts: Feed<KnownAccount>,
    /// Announces.
    pub announces: Feed<MemberClusterAnnounce>,
    /// ResourceExports.
    pub exports: Feed<Export>,
}

/// The feed of a kind. Clones share it.
#[derive(Debug)]
pub struct Feed<T>(Arc<Shared<T>>);

#[derive(Debug)]
struct Shared<T> {
    pending: Mutex<Option<Pending<T>>>,
    published: Notify,
    /// How often a leader has subscribed.
    subscriptions: watch::Sender<u64>,
}

/// What the leader has not taken yet: of each object the last state alone, so that a leader that is busy holds nothing up
/// and the feed is no larger than the Common Area.
#[derive(Debug)]
struct Pending<T> {
    listed: Option<Vec<T>>,
    changed: BTreeMap<String, WatchEvent<T>>,
}

impl<T> Clone for Feed<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Feed<T> {
    fn default() -> Self {
        let subscriptions = watch::Sender::default();
        Self(Arc::new(Shared { pending: Mutex::default(), published: Notify::default(), subscriptions }))
    }
}

impl<T> Default for Pending<T> {
    fn default() -> Self {
        Self { listed: None, changed: BTreeMap::new() }
    }
}

impl<T: Record> Feed<T> {
    /// How often a leader has subscribed. The watch begins again after each time: a leader needs a list first.
    pub fn subscriptions(&self) -> watch::Receiver<u64> {
        self.0.subscriptions.subscribe()
    }

    /// Hands the leader an event, if there is one that leads.
    pub fn publish(&self, event: WatchEvent<T>) {
        let Some(pending) = &mut *lock(&self.0.pending) else { return };
        match event {
            WatchEvent::Resynced(all) => *pending = Pending { listed: Some(all), changed: BTreeMap::new() },
            WatchEvent::Applied(ref object) | WatchEvent::Deleted(ref object) => {
                pending.changed.insert(object.name().to_owned(), event);
            }
        }
        self.0.published.notify_one();
    }

    /// The events from now on, a list first. There is one subscriber at a time.
    pub(crate) fn subscribe(&self) -> impl Stream<Item = WatchEvent<T>> + use<T> {
        *lock(&self.0.pending) = Some(Pending::default());
        self.0.subscriptions.send_modify(|count| *count += 1);
        unfold(Subscription(Arc::clone(&self.0)), |subscription| async move {
            Some((iter(subscription.next().await), subscription))
        })
        .flatten()
    }
}

/// Ends when the leader drops it.
struct Subscription<T>(Arc<Shared<T>>);

impl<T> Subscription<T> {
    /// Takes all that is pending, as soon as there is something.
    async fn next(&self) -> impl Iterator<Item = WatchEvent<T>> + use<T> {
        loop {
            let pending = lock(&self.0.pending).replace(Pending::default()).unwrap_or_default();
            if pending.listed.is_some() || !pending.changed.is_empty() {
                return pending
                    .listed
                    .map(WatchEvent::Resynced)
                    .into_iter()
                    .chain(pending.changed.into_values());
            }
            self.0.published.notified().await;
        }
    }
}

impl<T> Drop for Subscription<T> {
    fn drop(&mut self) {
        *lock(&self.0.pending) = None;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each critical section leaves the value whole, whatever panicked.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use antrea_shared_api::multicluster::v1alpha1::ResourceExport;
    use futures::FutureExt;

    use super::*;

    fn export(name: &str) -> Export {
        Export::from(ResourceExport::new("area", name))
    }

    fn next(events: &mut (impl Stream<Item = WatchEvent<Export>> + Unpin)) -> Option<String> {
        let text = |event: WatchEvent<Export>| match event {
            WatchEvent::Resynced(all) => {
                let names: Vec<&str> = all.iter().map(Record::name).collect();
                format!("all: {}", names.join(" "))
            }
            WatchEvent::Applied(export) => format!("+{}", export.name()),
            WatchEvent::Deleted(export) => format!("-{}", export.name()),
        };
        events.next().now_or_never().flatten().map(text)
    }

    #[test]
    fn a_busy_leader_gets_the_last_state_of_each_export() {
        let feed = Feed::<Export>::default();
        let mut events = Box::pin(feed.subscribe());
        assert_eq!(next(&mut events), None);
        feed.publish(WatchEvent::Resynced(vec![export("old")]));
        feed.publish(WatchEvent::Applied(export("old")));
        feed.publish(WatchEvent::Resynced(vec![export("a"), export("b")]));
        feed.publish(WatchEvent::Applied(export("c")));
        feed.publish(WatchEvent::Applied(export("b")));
        feed.publish(WatchEvent::Deleted(export("c")));
        let seen: Vec<String> = std::iter::from_fn(|| next(&mut events)).collect();
        assert_eq!(seen, ["all: a b", "+b", "-c"]);
        feed.publish(WatchEvent::Applied(export("d")));
        assert_eq!(next(&mut events).as_deref(), Some("+d"));
    }

    #[test]
    fn nothing_is_kept_for_a_leader_that_does_not_lead() {
        let feed = Feed::<Export>::default();
        feed.publish(WatchEvent::Resynced(vec![export("a")]));
        let mut events = Box::pin(feed.subscribe());
        assert_eq!(next(&mut events), None);
        drop(events);
        feed.publish(WatchEvent::Resynced(vec![export("b")]));
        assert!(lock(&feed.0.pending).is_none());
        assert_eq!(next(&mut Box::pin(feed.subscribe())), None);
        assert_eq!(*feed.subscriptions().borrow(), 2);
    }
}
