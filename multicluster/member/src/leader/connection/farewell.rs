//! Leaving: a leader is told for as long as it takes, and the ClusterSet goes when it knows.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use antrea_kit::backoff::{Backoff, jitter};
use antrea_kit::kube_client::status_code;
use antrea_kit::logging::chain;
use anyhow::Error;
use futures::FutureExt;
use futures::future::BoxFuture;
use kube::Client;
use tokio::time::{Instant, sleep};
use tracing::{info, warn};

use super::{Connect, in_time};
use crate::leader::identity::{own_uid, say_goodbye};
use crate::leader::leaving::release;
use crate::leader::{Class, Fault, Target};
use crate::objects::Key;

/// The shortest and the longest wait before the leader is told, or looked at, again.
const FIRST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// A leader that no longer admits this cluster is given up after so many refusals, and not before so long.
const REFUSALS: u32 = 3;
const REFUSED_FOR: Duration = Duration::from_secs(60);

/// The Common Areas that this cluster leaves.
pub(super) struct Farewells {
    local: Client,
    connect: Connect,
    all: Vec<Farewell>,
}

/// One of them.
struct Farewell {
    errand: Errand,
    /// The next attempt, or the one that is under way.
    attempt: BoxFuture<'static, Attempt>,
    backoff: Backoff,
    /// How often in a row the leader has refused to admit this cluster, and since when.
    refused: Option<(u32, Instant)>,
    progress: Progress,
}

/// What is to be done.
#[derive(Clone)]
struct Errand {
    local: Client,
    connect: Connect,
    target: Target,
    /// The ClusterSet that is held until the leader knows; nothing where it has gone, or names another Common Area now.
    set: Option<Key>,
    /// Whether there is no use in telling the leader.
    is_vain: bool,
}

/// How far it has come.
enum Progress {
    Begun,
    /// The leader knows.
    Known,
    Failed(Fault),
}

type Attempt = Result<Step, Failed>;

/// What an attempt has brought about.
pub(super) enum Step {
    /// Nothing is left to do.
    Done,
    /// The leader knows, and removes what this cluster exported.
    Known,
    /// Somebody else has changed the ClusterSet at the same moment.
    Again,
}

/// Why an attempt failed.
pub(super) struct Failed {
    fault: Fault,
    /// Whether the leader no longer admits this cluster.
    is_refusal: bool,
}

impl Farewells {
    pub(super) fn new(local: Client, connect: Connect) -> Self {
        Self { local, connect, all: Vec::new() }
    }

    /// Begins to tell the leader that this cluster leaves a Common Area.
    pub(super) fn begin(&mut self, target: Target) {
        if self.of(&target).is_none() {
            self.push(target, None);
        }
    }

    /// The same for a ClusterSet that is being deleted, which goes then. Of the way that was known before and the present
    /// one, one that cannot be used does not count.
    pub(super) fn begin_for(&mut self, set: &Key, target: Target) {
        let connect = self.connect;
        let Some(known) = self.of(&target) else { return self.push(target, Some(set.clone())) };
        let is_another_way = known.errand.target != target && connect(&target).is_ok();
        if is_another_way {
            known.errand.target = target;
        }
        if is_another_way || known.errand.set.is_none() {
            known.errand.set = Some(set.clone());
            known.start_over();
        }
    }

    /// The same where nobody knows a way but the one from before.
    pub(super) fn go_on_for(&mut self, set: &Key) {
        let of_set = self.all.iter_mut().rfind(|known| known.errand.target.set == set.name);
        if let Some(known) = of_set.filter(|known| known.errand.set.is_none()) {
            known.errand.set = Some(set.clone());
            known.start_over();
        }
    }

    /// This cluster has joined again: nobody in that Common Area is told that it leaves. What is under way is given up.
    pub(super) fn end(&mut self, target: &Target) {
        self.all.retain(|known| !known.errand.target.is_same_area(target));
    }

    /// How far it has come for a ClusterSet, in words for its users.
    pub(super) fn progress(&self, set: &Key) -> Option<String> {
        let known = self.all.iter().find(|known| known.errand.set.as_ref() == Some(set))?;
        Some(match &known.progress {
            Progress::Begun => "the leader is told that this cluster leaves".to_owned(),
            Progress::Known => waits(set, "the leader removes what this cluster has exported"),
            Progress::Failed(fault) => waits(set, &format!("the leader was not told yet: {}", fault.class())),
        })
    }

    /// The next attempt that is over.
    pub(super) async fn next(&mut self) -> (usize, Attempt) {
        let all = &mut self.all;
        poll_fn(|context| {
            for (index, known) in all.iter_mut().enumerate() {
                if let Poll::Ready(attempt) = known.attempt.poll_unpin(context) {
                    return Poll::Ready((index, attempt));
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Takes in what came of it.
    pub(super) fn attempted(&mut self, index: usize, attempt: Attempt) {
        if self.all.get_mut(index).is_some_and(|known| known.attempted(attempt)) {
            self.all.remove(index);
        }
    }

    fn of(&mut self, target: &Target) -> Option<&mut Farewell> {
        self.all.iter_mut().find(|known| known.errand.target.is_same_area(target))
    }

    fn push(&mut self, target: Target, set: Option<Key>) {
        let (local, connect) = (self.local.clone(), self.connect);
        self.all.push(Farewell::new(Errand { local, connect, target, set, is_vain: false }));
    }
}

/// Tells users how not to wait for a ClusterSet to go.
pub(super) fn waits(Key { namespace, name, .. }: &Key, why: &str) -> String {
    format!("{why}; `antctl mc leave --clusterset {name} --namespace {namespace} --now` does not wait for it")
}

impl Farewell {
    fn new(errand: Errand) -> Self {
        let attempt = errand.clone().run(Duration::ZERO).boxed();
        let backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        Self { errand, attempt, backoff, refused: None, progress: Progress::Begun }
    }

    fn start_over(&mut self) {
        *self = Self::new(Errand { is_vain: false, ..self.errand.clone() });
    }

    /// Takes in what came of an attempt. Whether it was the last.
    fn attempted(&mut self, attempt: Attempt) -> bool {
        match attempt {
            Ok(Step::Done) => {
                info!(
                    leader = self.errand.target.leader,
                    area = self.errand.target.area,
                    "Left the ClusterSet"
                );
                return true;
            }
            Ok(Step::Known) => self.told(),
            Ok(Step::Again) => {}
            Err(failed) => self.failed(failed),
        }
        self.attempt = self.errand.clone().run(self.backoff.wait(jitter())).boxed();
        false
    }

    fn told(&mut self) {
        self.refused = None;
        if !matches!(self.progress, Progress::Known) {
            self.progress = Progress::Known;
            self.backoff.reset();
        }
    }

    fn failed(&mut self, Failed { fault, is_refusal }: Failed) {
        let leader = &self.errand.target.leader;
        if !matches!(&self.progress, Progress::Failed(before) if *before == fault) {
            warn!(leader, reason = fault.text(), "The leader was not told yet that this cluster leaves");
        }
        let before = self.refused.filter(|_| is_refusal);
        let (times, since) = before.map_or((1, Instant::now()), |(times, since)| (times + 1, since));
        self.refused = is_refusal.then_some((times, since));
        if is_refusal && times >= REFUSALS && since.elapsed() >= REFUSED_FOR {
            warn!(leader, "The leader no longer admits this cluster and was not told that it is leaving");
            self.errand.is_vain = true;
            self.backoff.reset();
        }
        self.progress = Progress::Failed(fault);
    }
}

impl Errand {
    async fn run(self, wait: Duration) -> Attempt {
        sleep(wait).await;
        let step = if self.is_vain { Step::Done } else { self.tell().await? };
        match (step, &self.set) {
            (Step::Done, Some(set)) => self.release(set).await,
            (step, _) => Ok(step),
        }
    }

    /// Each time over a connection of its own: an older one may be as late as TCP is after a partition.
    async fn tell(&self) -> Attempt {
        let uid = in_time(own_uid(&self.local)).await;
        let uid = uid
            .map_err(|error| Failed::here("Namespace kube-system of this cluster cannot be read", &error))?;
        let leader = (self.connect)(&self.target).map_err(|error| {
            let why = chain(error.as_ref());
            Failed { fault: Fault::no_way(why), is_refusal: false }
        })?;
        match in_time(say_goodbye(&leader, &self.target, &uid)).await {
            Ok(true) => Ok(Step::Done),
            Ok(false) => Ok(Step::Known),
            Err(error) => Err(Failed::of(&error)),
        }
    }

    async fn release(&self, set: &Key) -> Attempt {
        match in_time(release(&self.local, set)).await {
            Ok(true) => Ok(Step::Done),
            Ok(false) => Ok(Step::Again),
            Err(error) => Err(Failed::here("the finalizer of the ClusterSet cannot be taken off", &error)),
        }
    }
}

impl Failed {
    fn of(error: &Error) -> Self {
        let is_refusal = matches!(status_code(error), Some(401 | 403 | 404));
        Self { fault: Fault::of(error), is_refusal }
    }

    /// It is our own API server.
    fn here(what: &str, error: &Error) -> Self {
        let fault = Fault::new(Class::NoWay(what.to_owned()), chain(error.as_ref()));
        Self { fault, is_refusal: false }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use hyper::{Request, Response};
    use kube::client::Body;
    use tokio::time::timeout;

    use super::*;
    use crate::kind::Kind;
    use crate::leader::Credentials;

    const NAMESPACE: &str = r#"{"metadata": {"name": "kube-system", "uid": "west-uid"}}"#;

    /// The leader answers with the status that its URL ends with.
    fn connect(target: &Target) -> anyhow::Result<Client> {
        let code: u16 = target.server.rsplit('/').next().unwrap().parse()?;
        let service = tower::service_fn(move |_: Request<Body>| async move {
            let answer = Response::builder().status(code).body(Body::from(b"no".to_vec()));
            Ok::<_, Infallible>(answer.unwrap())
        });
        Ok(Client::new(service, "default"))
    }

    /// Our own API server has the Namespace that says who we are, and trouble with everything else.
    fn farewells() -> Farewells {
        let service = tower::service_fn(|request: Request<Body>| async move {
            let is_read = request.uri().path() == "/api/v1/namespaces/kube-system";
            let (code, text) = if is_read { (200, NAMESPACE) } else { (500, "in trouble") };
            let answer = Response::builder().status(code).body(Body::from(text.as_bytes().to_vec()));
            Ok::<_, Infallible>(answer.unwrap())
        });
        Farewells::new(Client::new(service, "default"), connect)
    }

    fn target(code: u16) -> Target {
        Target {
            set: "set".to_owned(),
            cluster: "west".parse().unwrap(),
            leader: "east".to_owned(),
            area: "area".to_owned(),
            server: format!("https://east/{code}"),
            secret: "token".to_owned(),
            credentials: Credentials { ca: None, token: "token".to_owned() },
        }
    }

    fn set() -> Key {
        Key::new(Kind::ClusterSet, "kube-system", "set")
    }

    /// How many seconds pass until nothing is left to do; nothing where it takes more than an hour.
    async fn leave(farewells: &mut Farewells) -> Option<u64> {
        let began = Instant::now();
        let over = async {
            while !farewells.all.is_empty() {
                let (index, attempt) = farewells.next().await;
                farewells.attempted(index, attempt);
            }
        };
        timeout(Duration::from_secs(3600), over).await.ok().map(|()| began.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn a_leader_that_lets_nobody_in_any_more_holds_nobody() {
        for code in [401, 403, 404] {
            let mut farewells = farewells();
            farewells.begin(target(code));
            let seconds = leave(&mut farewells).await;
            assert!(seconds.is_some_and(|seconds| (60..100).contains(&seconds)), "{code}: {seconds:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_leader_that_is_in_trouble_is_told_for_as_long_as_it_is() {
        let mut farewells = farewells();
        farewells.begin_for(&set(), target(503));
        assert_eq!(leave(&mut farewells).await, None);
        assert_eq!(
            farewells.progress(&set()).unwrap(),
            "the leader was not told yet: the leader's API server cannot take heartbeats now (HTTP status 503); `antctl mc \
             leave --clusterset set --namespace kube-system --now` does not wait for it"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_token_is_another_chance() {
        let mut farewells = farewells();
        farewells.begin(target(503));
        farewells.begin_for(&set(), target(401));
        assert_eq!(leave(&mut farewells).await, None, "our own API server is in trouble");
        let are_vain = |farewells: &Farewells| -> Vec<bool> {
            farewells.all.iter().map(|known| known.errand.is_vain).collect()
        };
        assert_eq!(are_vain(&farewells), [true]);
        farewells.begin_for(&set(), target(401));
        assert_eq!(are_vain(&farewells), [true], "it is the same token");
        farewells.begin_for(&set(), target(403));
        assert_eq!(are_vain(&farewells), [false]);
    }

    #[tokio::test]
    async fn who_has_joined_again_leaves_no_more() {
        let mut farewells = farewells();
        farewells.begin(target(503));
        farewells.begin(target(503));
        assert_eq!(farewells.all.len(), 1);
        farewells.end(&Target { area: "second".to_owned(), ..target(503) });
        assert_eq!(farewells.all.len(), 1);
        farewells.end(&target(503));
        assert_eq!(farewells.all.len(), 0);
    }
}
