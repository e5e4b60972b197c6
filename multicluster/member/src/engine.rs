//! Does what an area decides: learns from watches and answers what there is, sends what is missing, several subjects at
//! a time, and waits after a failure.

mod answers;
mod learn;
mod problems;
mod queue;
mod requests;
mod retries;

use std::collections::BTreeMap;
use std::future::{pending, ready};
use std::time::Duration;

use anyhow::{Context, Error, Result};
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use jiff::Timestamp;
use kube::Client;
use tokio::sync::{mpsc, watch};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::area::Area;
use crate::kind::Kind;
use crate::leader::Leader;
use crate::objects::Objects;
use crate::send::Clients;
use crate::watches::{Keep, Told, Watched, Watcher, Watches};
use answers::Answers;
use problems::report;
use queue::Schedule;
use requests::{Done, carry_out};
use retries::Retries;

/// Changes that wait to be acted on.
const QUEUE: usize = 1024;
/// Subjects whose requests are under way at a time.
const PARALLEL: usize = 16;
/// Subjects that are looked at in one turn. Whatever else the thread does has a turn in between, such as heartbeats to the
/// leader.
const TURN: usize = 256;

/// A part of a member that can be run.
pub(crate) trait Part: Send + 'static {
    /// What it decides.
    type Area: Area;

    /// The objects of this cluster that are watched from the beginning.
    fn local(&self) -> Vec<Watched>;

    /// The objects at the leader that are watched while there is one.
    fn remote(&self, leader: &crate::leader::Joined) -> Vec<Watched>;

    /// What is decided while the leader is like this, by somebody who has learned nothing yet; nothing while it is not
    /// known what to decide.
    fn area(&self, leader: &Leader) -> Option<Self::Area>;
}

type Subject<P> = <<P as Part>::Area as Area>::Subject;
type Running<P> = BoxFuture<'static, Done<Subject<P>>>;

struct Engine<P: Part> {
    part: P,
    /// What decides; nothing before the leader is known for the first time.
    area: Option<P::Area>,
    /// Whether it does now. While it does not it learns.
    decides: bool,
    clients: Clients,
    objects: Objects,
    schedule: Schedule<Subject<P>>,
    running: FuturesUnordered<Running<P>>,
    retries: Retries<Subject<P>>,
    answers: Answers,
    problems: BTreeMap<Subject<P>, Vec<<P::Area as Area>::Problem>>,
    told: mpsc::Sender<Told>,
    /// The connection to the leader that objects of the leader are learned from.
    connection: u64,
    /// How often the leader has said something else of our networks, by what this part knows.
    answer_revision: u64,
    remote: Option<Watches>,
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
    let mut engine = Engine::new(part, local, told);
    let mut watches = engine.watch();
    leader.mark_changed();
    let mut is_over = true;
    loop {
        let look = engine.next_look();
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            error = watches.ended() => return Err(error),
            error = ended(&mut engine.remote) => return Err(error),
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
            () = ready(()), if !is_over => {}
        }
        engine.tick();
        is_over = engine.start();
        if !is_over {
            yield_now().await;
        }
    }
}

/// What became of watches, which do not end by themselves.
async fn ended(watches: &mut Option<Watches>) -> Error {
    match watches {
        Some(watches) => watches.ended().await,
        None => pending().await,
    }
}

async fn wait_until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}

impl<P: Part> Engine<P> {
    fn new(part: P, local: Client, told: mpsc::Sender<Told>) -> Self {
        let exported = part.local().into_iter().filter(|watched| watched.keep == Keep::Exported);
        let exported = exported.map(|watched| watched.kind).collect();
        Self {
            part,
            area: None,
            decides: false,
            clients: Clients::new(local),
            objects: Objects::keeping_exported(exported),
            schedule: Schedule::new(<P::Area as Area>::goes_first),
            running: FuturesUnordered::new(),
            retries: Retries::default(),
            answers: Answers::default(),
            problems: BTreeMap::new(),
            told,
            connection: 0,
            answer_revision: 0,
            remote: None,
            began: Instant::now(),
            tick: None,
        }
    }

    /// Begins to watch the objects of this cluster.
    fn watch(&self) -> Watches {
        let watcher = Watcher { connection: 0, told: self.told.clone() };
        watcher.start(&self.clients.local, &self.part.local())
    }

    fn tick(&mut self) {
        let now = self.began.elapsed();
        let Some(area) = &mut self.area else {
            self.tick = None;
            return;
        };
        let tick = area.tick(&self.objects, now);
        self.schedule.extend(tick.changed);
        let keys = self.answers.ask_again(now);
        self.look_again(keys);
        self.tick = tick.again.into_iter().chain(self.answers.next()).min();
    }

    /// When something is to be done though nothing happens.
    fn next_look(&self) -> Option<Instant> {
        let tick = self.tick.map(|tick| self.began + tick);
        tick.into_iter().chain(self.schedule.next()).min()
    }

    /// Starts what is to be done about subjects that are ready. Whether nothing is left to start now.
    fn start(&mut self) -> bool {
        self.schedule.wake(Instant::now());
        for _ in 0..TURN {
            if !self.decides || self.running.len() >= PARALLEL {
                return true;
            }
            let Some(subject) = self.schedule.take() else { return true };
            self.decide(subject);
        }
        false
    }

    /// Starts what is to be done about a subject.
    fn decide(&mut self, subject: Subject<P>) {
        let Some(area) = &self.area else { return };
        let is_missing = |kind: &&Kind| !self.objects.has_listed(**kind);
        if let Some(kind) = area.kinds_of(&subject).iter().find(is_missing) {
            return self.schedule.wait_for(*kind, subject);
        }
        let mut plan = area.plan(&self.objects, &subject, Timestamp::now());
        plan.actions.retain(|action| !self.answers.is_in_vain(action));
        report(&mut self.problems, &subject, plan.problems);
        let is_withheld =
            self.schedule.is_put_off(&subject) && self.retries.withhold(&subject, &mut plan.actions);
        if is_withheld && plan.actions.is_empty() {
            return;
        }
        if let Some(wait) = self.retries.repeats(&subject, &plan.actions) {
            self.schedule.wait(subject, Instant::now() + wait);
        } else if plan.actions.is_empty() {
            self.schedule.recall(&subject);
            if self.retries.settled(&subject) {
                self.schedule.hurry();
            }
        } else {
            self.schedule.begin(subject.clone());
            let rounds = plan.actions.iter().map(|action| self.objects.round(action.key().kind)).collect();
            let requests = carry_out(self.clients.clone(), self.connection, subject, plan.actions, rounds);
            self.running.push(Box::pin(requests));
        }
    }
}

#[cfg(test)]
mod tests;
