//! Does what an area decides: learns from watches and answers what there is, sends what is missing, several subjects at
//! a time, and waits after a failure.

mod answers;
mod learn;
mod problems;
mod queue;
mod requests;
mod retries;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, Result};
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use jiff::Timestamp;
use kube::Client;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::area::Area;
use crate::leader::Leader;
use crate::objects::Objects;
use crate::send::Clients;
use crate::watches::{Told, Watched, Watcher};
use answers::Answers;
use problems::report;
use queue::Queue;
use requests::{Done, carry_out};
use retries::Retries;

/// Changes that wait to be acted on.
const QUEUE: usize = 1024;
/// Subjects whose requests are under way at a time.
const PARALLEL: usize = 16;

/// A part of a member that can be run.
pub(crate) trait Part: Send + 'static {
    /// What it decides.
    type Area: Area;

    /// The objects of this cluster that are watched from the beginning.
    fn local(&self) -> Vec<Watched>;

    /// The objects at the leader that are watched while there is one.
    fn remote(&self, leader: &crate::leader::Joined) -> Vec<Watched>;

    /// What is decided while the leader is like this; nothing before that is known.
    fn area(&self, leader: &Leader) -> Option<Self::Area>;
}

type Subject<P> = <<P as Part>::Area as Area>::Subject;
type Running<P> = BoxFuture<'static, Done<Subject<P>>>;

struct Engine<P: Part> {
    part: P,
    area: Option<P::Area>,
    clients: Clients,
    objects: Objects,
    dirty: Queue<Subject<P>>,
    busy: BTreeSet<Subject<P>>,
    running: FuturesUnordered<Running<P>>,
    retries: Retries<Subject<P>>,
    answers: Answers,
    problems: BTreeMap<Subject<P>, Vec<<P::Area as Area>::Problem>>,
    told: mpsc::Sender<Told>,
    /// The connection to the leader that objects of the leader are learned from.
    connection: u64,
    remote: Option<DropGuard>,
    began: Instant,
    tick: Option<Duration>,
}

/// Runs a part until `stop`.
pub(crate) async fn run<P: Part>(
    part: P,
    local: Client,
    mut leader: watch::Receiver<Leader>,
    stop: CancellationToken,
) -> Result<()> {
    let (told, mut events) = mpsc::channel(QUEUE);
    let watches = stop.child_token();
    let _end = watches.clone().drop_guard();
    Watcher { connection: 0, told: told.clone(), stop: watches }.start(&local, &part.local());
    let mut engine = Engine::new(part, local, told);
    leader.mark_changed();
    loop {
        let look = engine.next_look();
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            changed = leader.changed() => {
                changed.context("nobody knows the leader any more")?;
                let leader = leader.borrow_and_update().clone();
                engine.follow(&leader);
            }
            event = events.recv() => {
                engine.learn(event.context("the watches ended")?);
                while let Ok(event) = events.try_recv() {
                    engine.learn(event);
                }
            }
            Some(done) = engine.running.next() => engine.done(done),
            () = wait_until(look) => {}
        }
        engine.tick();
        engine.start();
    }
}

async fn wait_until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

impl<P: Part> Engine<P> {
    fn new(part: P, local: Client, told: mpsc::Sender<Told>) -> Self {
        Self {
            part,
            area: None,
            clients: Clients { local, leader: None },
            objects: Objects::default(),
            dirty: Queue::default(),
            busy: BTreeSet::new(),
            running: FuturesUnordered::new(),
            retries: Retries::default(),
            answers: Answers::default(),
            problems: BTreeMap::new(),
            told,
            connection: 0,
            remote: None,
            began: Instant::now(),
            tick: None,
        }
    }

    fn tick(&mut self) {
        let now = self.began.elapsed();
        let Some(area) = &mut self.area else {
            self.tick = None;
            return;
        };
        let tick = area.tick(&self.objects, now);
        self.tick = tick.again;
        self.dirty.extend(tick.changed);
    }

    /// When something is to be done though nothing happens.
    fn next_look(&self) -> Option<Instant> {
        let tick = self.tick.map(|tick| self.began + tick);
        tick.into_iter().chain(self.retries.next(self.dirty.all(), Instant::now())).min()
    }

    /// Starts what is to be done about subjects that are not busy and need not wait.
    fn start(&mut self) {
        let Some(area) = &self.area else { return };
        if !area.kinds().iter().all(|kind| self.objects.has_listed(*kind)) {
            return;
        }
        let now = Instant::now();
        while self.running.len() < PARALLEL {
            let is_due =
                |subject: &Subject<P>| !self.busy.contains(subject) && !self.retries.must_wait(subject, now);
            let Some(subject) = self.dirty.take(is_due) else { return };
            let mut plan = area.plan(&self.objects, &subject, Timestamp::now());
            plan.actions.retain(|action| !self.answers.is_in_vain(action));
            report(&mut self.problems, &subject, plan.problems);
            if self.retries.repeats(&subject, &plan.actions, now) {
                self.dirty.add(subject);
                continue;
            }
            if plan.actions.is_empty() {
                self.retries.settled(&subject);
                continue;
            }
            self.busy.insert(subject.clone());
            let rounds = plan.actions.iter().map(|action| self.objects.round(action.key().kind)).collect();
            self.running.push(Box::pin(carry_out(
                self.clients.clone(),
                self.connection,
                subject,
                plan.actions,
                rounds,
            )));
        }
    }
}
