//! The leader's loop: learns, decides, sends, for each Common Area on its own.

use std::future::ready;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use antrea_kit::backoff::jitter;
use antrea_kit::keeper::stream;
use antrea_kit::logging::chain;
use antrea_kit::watch::watch;
use antrea_mc_core::limits::Limits;
use antrea_mc_core::membership::LeaseTimes;
use anyhow::Result;
use futures::future::{BoxFuture, try_join_all};
use futures::stream::{FuturesUnordered, Stream, select_all};
use futures::{FutureExt, StreamExt};
use jiff::Timestamp;
use kube::Client;
use kube::runtime::watcher::Config;
use tokio::sync::mpsc;
use tokio::task::yield_now;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, debug, info, info_span, warn};

use crate::action::{Action, Task};
use crate::area::{Area, Rounds, TURN};
use crate::census::Censuses;
use crate::event::{Answer, Event};
use crate::feed::{AreaFeeds, Feeds};
use crate::imports::Import;
use crate::queue::Queue;
use crate::requests::{Requests, failure, is_outdated};

/// How often time is looked at.
const TICK: Duration = Duration::from_secs(1);
/// How often all announces are read, and how long that may take: a leader that cannot read them does not blame members
/// for being silent. Watches do not tell: one that broke may look like one where nothing happens.
const HEARING: Duration = Duration::from_secs(5);
/// Events that are learned before what follows from them is decided.
const BATCH: usize = 1024;
/// Events of a watch that wait to be learned.
const BUFFER: usize = 256;

/// What the leader looks after.
#[derive(Clone, Debug)]
pub struct LeaderConfig {
    /// The Namespaces of its Common Areas, each of one ClusterSet.
    pub namespaces: Vec<String>,
    /// How long members may be silent.
    pub times: LeaseTimes,
    /// How much each of them may export.
    pub limits: Limits,
    /// Where it says how much there is, once a second.
    pub censuses: Censuses,
    /// Where it learns what webhooks watch.
    pub feeds: Feeds,
}

/// Leads until `stop`. Of several replicas only one may: all that it knows is read from the API server when it begins.
///
/// # Errors
/// Never: an API server that is away, or does not know the kinds, is asked again.
pub async fn run(client: Client, config: LeaderConfig, stop: CancellationToken) -> Result<()> {
    let LeaderConfig { namespaces, times, limits, censuses, feeds } = config;
    let areas = namespaces.iter().map(|namespace| {
        let requests = Requests::new(&client, namespace);
        let span = info_span!("common_area", namespace);
        let told = (namespace.as_str(), &censuses);
        let area = Area::new(namespace, times, limits);
        lead(area, requests, feeds.of(namespace), told, stop.clone()).instrument(span)
    });
    let ended = try_join_all(areas).await.map(drop);
    censuses.clear();
    ended
}

async fn lead(
    area: Area,
    requests: Requests,
    feeds: AreaFeeds,
    told: (&str, &Censuses),
    stop: CancellationToken,
) -> Result<()> {
    let (import_events, imports) = mpsc::channel(BUFFER);
    let (heard_events, heard) = mpsc::channel(1);
    let events = select_all([
        feeds.sets.subscribe().map(Event::ClusterSet).boxed(),
        feeds.accounts.subscribe().map(Event::Account).boxed(),
        feeds.announces.subscribe().map(Event::Announce).boxed(),
        feeds.exports.subscribe().map(Event::Export).boxed(),
        stream(imports).map(Event::Import).boxed(),
        stream(heard).boxed(),
    ]);
    let all = requests.imports.clone();
    let import = |object| Some(Box::new(Import::from(object)));
    let round = AtomicU64::new(0);
    tokio::select! {
        ended = watch(all, Config::default(), import, import_events, stop) => ended,
        () = hear(&requests, &round, heard_events) => Ok(()),
        () = Leader::new(area, requests.clone()).follow(events, told, &round) => Ok(()),
    }
}

/// Reads all announces again and again; `round` says how often the watch has listed them.
async fn hear(requests: &Requests, round: &AtomicU64, events: mpsc::Sender<Event>) {
    let mut ticks = interval(HEARING);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let asked = round.load(Ordering::Relaxed);
        let event = match timeout(HEARING, requests.list_announces()).await {
            Ok(Ok(announces)) => Event::Heard { asked, announces },
            Ok(Err(_)) | Err(_) => Event::Deaf,
        };
        if events.send(event).await.is_err() {
            return;
        }
    }
}

/// What became of a request.
struct Outcome {
    task: Task,
    action: Action,
    asked: Rounds,
    answer: Result<Answer>,
}

struct Leader {
    area: Area,
    requests: Requests,
    queue: Queue,
    under_way: FuturesUnordered<BoxFuture<'static, Outcome>>,
}

impl Leader {
    fn new(area: Area, requests: Requests) -> Self {
        Self { area, requests, queue: Queue::default(), under_way: FuturesUnordered::new() }
    }

    /// Follows the events until there are no more.
    async fn follow(
        mut self,
        mut events: impl Stream<Item = Event> + Unpin,
        (namespace, censuses): (&str, &Censuses),
        round: &AtomicU64,
    ) {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut settles, mut is_over) = (None, true);
        loop {
            tokio::select! {
                event = events.next() => match event {
                    Some(event) => self.learn(event, &mut events),
                    None => return,
                },
                Some(outcome) = self.under_way.next() => self.finish(outcome),
                _ = ticks.tick() => {
                    self.area.learn(Event::Tick, now());
                    censuses.set(namespace, self.area.census());
                }
                () = wait_until(settles) => {}
                () = ready(()), if !is_over => {}
            }
            round.store(self.area.rounds().announces, Ordering::Relaxed);
            let at = now();
            self.queue.add(self.area.settle(at), at);
            is_over = self.send(at) && self.area.is_settled();
            settles = self.queue.settles(at);
            if !is_over {
                yield_now().await;
            }
        }
    }

    /// Learns an event, and those that wait behind it.
    fn learn(&mut self, event: Event, events: &mut (impl Stream<Item = Event> + Unpin)) {
        self.area.learn(event, now());
        for _ in 1..BATCH {
            let Some(Some(event)) = events.next().now_or_never() else { return };
            self.area.learn(event, now());
        }
    }

    /// Sends what is due at an instant. Whether that was all of it.
    fn send(&mut self, at: std::time::Instant) -> bool {
        for _ in 0..TURN {
            let Some(task) = self.queue.next(at) else { return true };
            let Some(action) = self.area.plan(&task, Timestamp::now()) else {
                self.queue.succeeded(&task);
                continue;
            };
            let (requests, asked) = (self.requests.clone(), self.area.rounds());
            let request = async move {
                let answer = requests.send(&action).await;
                Outcome { task, action, asked, answer }
            };
            self.under_way.push(request.boxed());
        }
        false
    }

    fn finish(&mut self, Outcome { task, action, asked, answer }: Outcome) {
        let error = match answer {
            Ok(answer) => {
                log(&action);
                self.queue.answered();
                self.queue.succeeded(&task);
                return self.area.learn_answer(&action, answer, asked, now());
            }
            Err(error) => error,
        };
        let is_news = self.queue.failed(&task, failure(&error), now(), jitter());
        if is_news && !is_outdated(&error) {
            warn!(error = %chain(error.as_ref()), "Common Area could not be written");
        }
    }
}

/// What members notice is worth a line; that they are answered is not.
fn log(action: &Action) {
    match action {
        Action::WriteExportStatus(_) | Action::WriteClusterSetStatus(_) => debug!(%action, "Wrote"),
        _ => info!(%action, "Changed the Common Area"),
    }
}

async fn wait_until(at: Option<std::time::Instant>) {
    match at {
        Some(at) => sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

/// By the clock that tests can stop.
fn now() -> std::time::Instant {
    Instant::now().into_std()
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::pending;

    use hyper::{Request, Response};
    use kube::client::Body;
    use tower::service_fn;

    use super::*;

    #[tokio::test]
    async fn no_turn_plans_more_than_256() {
        let silent = service_fn(|_: Request<Body>| pending::<Result<Response<Body>, Infallible>>());
        let requests = Requests::new(&Client::new(silent, "default"), "area");
        let mut leader = Leader::new(Area::new("area", LeaseTimes::default(), Limits::default()), requests);
        let at = now();
        // Nothing is to be done about them.
        leader.queue.add((0..600).map(|number| Task::Import(format!("web-{number}"))), at);
        assert_eq!([(); 4].map(|()| leader.send(at)), [false, false, true, true]);
    }
}
