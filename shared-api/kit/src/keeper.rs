//! Keeps objects of the Kubernetes API as they are wanted: learns from watches what there is, sends what is missing, and
//! waits after a failure.
//!
//! What a request brought about is learned from its answer, not only from the watch: otherwise each of the N events that
//! follow N requests would find the others still missing, and ask for them once more.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use futures::stream::{Stream, StreamExt, poll_fn, unfold};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::backoff::{Backoff, jitter};
use crate::logging::chain;

/// Objects that are kept as they are wanted.
pub trait Keep: Send + Sync {
    /// What the watches tell.
    type Event: Send;
    /// One request.
    type Action: Send + Sync;
    /// What is kept, for the log.
    const WHAT: &'static str;

    /// Takes in an event.
    fn learn(&mut self, event: Self::Event);

    /// The requests that bring about what is wanted; `None` before enough is known to say so.
    fn plan(&self) -> Option<Vec<Self::Action>>;

    /// Sends a request.
    fn carry_out(&self, action: &Self::Action) -> impl Future<Output = anyhow::Result<()>> + Send;

    /// Takes in what a request brought about, so that [`Keep::plan`] does not ask for it again.
    fn done(&mut self, action: Self::Action);

    /// All is as wanted, as far as is known.
    fn settled(&self) {}
}

/// Brings about what is wanted after each event, until there are no more of them. After a failure events are only
/// learned until the wait is over: an API server in trouble is not asked more often because more happens.
pub async fn keep<K: Keep>(mut keeper: K, events: impl Stream<Item = K::Event>) {
    let mut events = pin!(events);
    let mut retry = Retry::new();
    loop {
        tokio::select! {
            event = events.next() => match event {
                Some(event) => keeper.learn(event),
                None => return,
            },
            () = retry.due() => {}
        }
        if retry.is_pending() {
            continue;
        }
        match bring_about(&mut keeper).await {
            Ok(()) => retry.succeeded(),
            Err(error) => {
                if retry.failed(Instant::now(), jitter()) {
                    warn!(what = K::WHAT, error = %chain(error.as_ref()), "Objects could not be brought about");
                }
            }
        }
    }
}

async fn bring_about<K: Keep>(keeper: &mut K) -> anyhow::Result<()> {
    let Some(actions) = keeper.plan() else { return Ok(()) };
    for action in actions {
        keeper.carry_out(&action).await?;
        keeper.done(action);
    }
    keeper.settled();
    Ok(())
}

/// When to try again what failed.
struct Retry {
    backoff: Backoff,
    at: Option<Instant>,
}

impl Retry {
    const fn new() -> Self {
        Self { backoff: Backoff::new(Duration::from_secs(1), Duration::from_secs(30)), at: None }
    }

    const fn is_pending(&self) -> bool {
        self.at.is_some()
    }

    /// Resolves when the wait is over, which is then no longer pending; never while nothing failed.
    async fn due(&mut self) {
        match self.at {
            Some(at) => sleep_until(at).await,
            None => std::future::pending().await,
        }
        self.at = None;
    }

    const fn succeeded(&mut self) {
        self.backoff.reset();
    }

    /// Begins to wait, longer each time. Whether the failure is news.
    fn failed(&mut self, now: Instant, jitter: f64) -> bool {
        let news = self.backoff.is_fresh();
        self.at = Some(now + self.backoff.wait(jitter));
        news
    }
}

/// The events of a watch as a stream, which ends with the watch.
pub fn stream<T>(mut events: mpsc::Receiver<T>) -> impl Stream<Item = T> + Unpin {
    poll_fn(move |context| events.poll_recv(context))
}

/// The values that a channel gets, as a stream, which ends with the channel or at `stop`.
pub fn changes<T: Clone>(channel: watch::Receiver<T>, stop: CancellationToken) -> impl Stream<Item = T> {
    let next = |mut channel: watch::Receiver<T>| async move {
        channel.changed().await.ok()?;
        let value = channel.borrow_and_update().clone();
        Some((value, channel))
    };
    unfold(channel, next).take_until(stop.cancelled_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use futures::stream;
    use tokio::time::timeout;

    use super::*;
    use crate::known::Known;
    use crate::watch::WatchEvent;

    type Event = WatchEvent<(String, ())>;

    /// Wants objects `0`, `1`, …; requests whose number is in `failing` fail.
    struct Numbers {
        wanted: usize,
        failing: Vec<usize>,
        known: Known<()>,
        requests: Arc<Mutex<Vec<(String, Instant)>>>,
    }

    impl Keep for Numbers {
        type Event = Event;
        type Action = String;
        const WHAT: &'static str = "Numbers";

        fn learn(&mut self, event: Event) {
            self.known.learn(event);
        }

        fn plan(&self) -> Option<Vec<String>> {
            let known = self.known.all()?;
            let wanted = (0..self.wanted).map(|number| number.to_string());
            Some(wanted.filter(|name| !known.contains_key(name)).collect())
        }

        async fn carry_out(&self, action: &String) -> anyhow::Result<()> {
            let mut requests = self.requests.lock().unwrap();
            requests.push((action.clone(), Instant::now()));
            anyhow::ensure!(!self.failing.contains(&requests.len()), "away");
            Ok(())
        }

        fn done(&mut self, action: String) {
            self.known.insert(action, ());
        }
    }

    /// Lets the keeper have the events and a minute more; gives its requests and when each was sent.
    async fn run(wanted: usize, failing: &[usize], events: Vec<Event>) -> Vec<(String, Instant)> {
        let requests = Arc::default();
        let keeper = Numbers {
            wanted,
            failing: failing.to_vec(),
            known: Known::default(),
            requests: Arc::clone(&requests),
        };
        let events = stream::iter(events).chain(stream::pending());
        let kept = timeout(Duration::from_secs(60), keep(keeper, events)).await;
        assert!(kept.is_err(), "it ended although the watch goes on");
        requests.lock().unwrap().clone()
    }

    fn names(requests: &[(String, Instant)]) -> String {
        requests.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" ")
    }

    fn applied(name: &str) -> Event {
        WatchEvent::Applied((name.to_owned(), ()))
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_brought_about_is_not_asked_for_again_when_the_watch_tells_of_it() {
        let told = ["0", "1", "2"].map(applied);
        let requests =
            run(3, &[], [WatchEvent::Resynced(Vec::new())].into_iter().chain(told).collect()).await;
        assert_eq!(names(&requests), "0 1 2");
    }

    #[tokio::test(start_paused = true)]
    async fn what_goes_away_is_brought_back() {
        let gone = WatchEvent::Deleted(("1".to_owned(), ()));
        let requests = run(2, &[], vec![WatchEvent::Resynced(Vec::new()), applied("1"), gone]).await;
        assert_eq!(names(&requests), "0 1 1");
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_asked_for_before_the_first_list() {
        assert_eq!(names(&run(2, &[], vec![applied("5"), applied("6")]).await), "");
    }

    #[tokio::test(start_paused = true)]
    async fn while_a_retry_is_pending_events_are_only_learned() {
        let events = vec![WatchEvent::Resynced(Vec::new()), applied("7"), applied("8"), applied("1")];
        let requests = run(2, &[1], events).await;
        assert_eq!(names(&requests), "0 0", "object 1 was learned meanwhile");
        assert!(requests[1].1 - requests[0].1 >= Duration::from_millis(500), "it did not wait");
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_failure_what_was_done_is_not_done_again() {
        assert_eq!(names(&run(3, &[2], vec![WatchEvent::Resynced(Vec::new())]).await), "0 1 1 2");
    }

    #[tokio::test(start_paused = true)]
    async fn waits_grow_until_a_success_and_only_the_first_failure_is_news() {
        let (mut retry, now) = (Retry::new(), Instant::now());
        assert!(!retry.is_pending());
        assert!(retry.failed(now, 1.0));
        assert_eq!(retry.at, Some(now + Duration::from_secs(1)));
        assert!(!retry.failed(now, 1.0));
        assert_eq!(retry.at, Some(now + Duration::from_secs(2)));
        retry.due().await;
        assert!(!retry.is_pending());
        retry.succeeded();
        assert!(retry.failed(now, 1.0));
    }
}
