//! What the engine learns from watches, from answers to requests and about the leader, and which subjects it concerns.

use std::mem;

use antrea_kit::logging::chain;
use antrea_kit::watch::WatchEvent;
use anyhow::Error;
use tokio::time::Instant;
use tracing::warn;

use super::answers::Answers;
use super::requests::{Done, Failure};
use super::{Engine, Part, Subject};
use crate::action::Action;
use crate::area::{Area, Lifted};
use crate::kind::{Kind, Side};
use crate::leader::Leader;
use crate::objects::{Change, Key};
use crate::send::Outcome;
use crate::watches::{Told, Watcher};

impl<P: Part> Engine<P> {
    /// Follows the leader: another one, another connection to the same, or none any more.
    pub(super) fn follow(&mut self, leader: &Leader) {
        self.schedule.hurry();
        if let Leader::Joined(joined) = leader
            && (joined.connection, joined.answer_revision) != (self.connection, self.answer_revision)
        {
            self.answer_revision = joined.answer_revision;
            self.reconsider();
        }
        let decides_otherwise = self.decide_for(leader);
        let is_known = match leader {
            Leader::Joined(joined) => self.remote.is_some() && joined.connection == self.connection,
            _ => false,
        };
        if decides_otherwise || (self.remote.is_some() && !is_known) {
            self.schedule.look_for_missing();
            // What is to be done about what only the leader had is decided while it is still known.
            self.decide_all_anew();
        }
        match leader {
            Leader::Joined(_) if is_known => {}
            Leader::Joined(joined) => {
                self.forget_leader();
                // It may keep more fields than before.
                self.answers = Answers::default();
                self.connection = joined.connection;
                self.clients.leader = Some(joined.client.clone());
                let watcher = Watcher { connection: joined.connection, told: self.told.clone() };
                self.remote = Some(watcher.start(&joined.client, &self.part.remote(joined)));
            }
            Leader::Unknown | Leader::Away { .. } => self.forget_leader(),
            Leader::None => {
                self.forget_leader();
                // Nobody exports anything to a cluster that is in no ClusterSet.
                for kind in
                    self.area.iter().flat_map(|area| area.kinds()).filter(|kind| kind.side() == Side::Leader)
                {
                    self.objects.learn(*kind, WatchEvent::Resynced(Vec::new()));
                    self.schedule.listed(*kind);
                }
            }
        }
    }

    /// Decides as is right while the leader is like this, with all that was learned before. Whether that is otherwise than
    /// until now.
    fn decide_for(&mut self, leader: &Leader) -> bool {
        let Some(mut area) = self.part.area(leader) else {
            self.decides = false;
            return false;
        };
        let begins = !mem::replace(&mut self.decides, true);
        let is_other = self.area.as_ref().is_none_or(|before| {
            area.remember(before);
            *before != area
        });
        self.area = Some(area);
        begins || is_other
    }

    fn forget_leader(&mut self) {
        self.remote = None;
        self.clients.leader = None;
        // Connections begin with 1: what an earlier one still tells is for nobody.
        self.connection = 0;
        for kind in crate::leader::KINDS {
            self.objects.forget(kind);
        }
    }

    /// The leader may take now what it has refused.
    fn reconsider(&mut self) {
        self.retries.reconsider();
        self.schedule.reconsider(Instant::now());
    }

    /// The leader may take some more.
    fn reconsider_first(&mut self) {
        for subject in self.schedule.reconsider_first() {
            self.retries.reconsider_one(&subject);
        }
    }

    fn decide_all_anew(&mut self) {
        let Some(area) = &self.area else { return };
        let surroundings = area.surroundings();
        for key in self.objects.keys().filter(|key| !surroundings.contains(&key.kind)) {
            let change = Change { key: key.clone(), before: None };
            self.schedule.extend(area.subjects(&self.objects, &change));
        }
    }

    pub(super) fn learn(&mut self, (kind, connection, event): Told) {
        if kind.side() == Side::Leader && connection != self.connection {
            return;
        }
        let is_list = matches!(event, WatchEvent::Resynced(_));
        let interrupted = is_list && self.objects.has_listed(kind);
        let changes = self.objects.learn(kind, event);
        if is_list {
            self.listed(kind, interrupted);
        }
        self.changed(&changes);
    }

    /// All objects of a kind were listed, which `interrupted` its watch if there was one.
    fn listed(&mut self, kind: Kind, interrupted: bool) {
        self.schedule.listed(kind);
        let now = self.began.elapsed();
        if let Some(area) = self.area.as_mut().filter(|_| interrupted) {
            area.interrupted(now);
            // So does the watch of a kind whose CustomResourceDefinition has changed.
            let keys = self.answers.forget_kind(kind);
            self.look_again(keys);
        }
    }

    /// Decides on what these objects depend on, though they have not changed.
    pub(super) fn look_again(&mut self, keys: Vec<Key>) {
        let Some(area) = &self.area else { return };
        for key in keys {
            self.schedule.extend(area.subjects(&self.objects, &Change { key, before: None }));
        }
    }

    fn changed(&mut self, changes: &[Change]) {
        let now = self.began.elapsed();
        let Some(area) = &mut self.area else { return };
        let lifted = changes.iter().map(|change| area.lifts_refusals(&self.objects, change)).max();
        for change in changes {
            if self.objects.get(&change.key).is_none() {
                self.answers.forget(&change.key);
            }
            area.learned(&self.objects, change, now);
            self.schedule.extend(area.subjects(&self.objects, change));
        }
        match lifted.unwrap_or_default() {
            Lifted::Nothing => {}
            Lifted::Few => self.reconsider_first(),
            Lifted::All => self.reconsider(),
        }
    }

    pub(super) fn done(&mut self, done: Done<Subject<P>>) {
        let Done { subject, connection, actions, rounds, outcomes, result, refusal } = done;
        let has_answered = |(action, outcome): (&Action, &Option<Outcome>)| {
            action.key().kind.side() == Side::Leader && outcome.is_some()
        };
        // What another leader says, or our own API server, tells nothing of what this one refuses.
        let is_judged = connection == self.connection
            && (refusal.is_some() || actions.iter().zip(&outcomes).any(has_answered));
        let unanswered = actions.iter().zip(&outcomes).filter(|(_, outcome)| outcome.is_none());
        let unanswered: Vec<Action> = unanswered.map(|(action, _)| action.clone()).collect();
        for ((action, round), outcome) in actions.iter().zip(rounds).zip(outcomes) {
            let Some(outcome) = outcome else { continue };
            let changes = match outcome {
                // Another leader has other objects.
                ref other if other.kind().side() == Side::Leader && connection != self.connection => {
                    Vec::new()
                }
                // It may have changed before the list; whatever came after that the watch tells.
                ref other if round < self.objects.round(other.kind()) => Vec::new(),
                // What is not watched would be kept forever.
                Outcome::Is(kind, _) | Outcome::Changed(kind, _) if !self.objects.has_listed(kind) => {
                    Vec::new()
                }
                Outcome::Is(kind, object) => {
                    let kept = self.answers.note(action, &object, self.began.elapsed());
                    self.look_again(kept);
                    self.objects.insert(kind, object)
                }
                Outcome::Changed(kind, object) => self.objects.insert(kind, object),
                Outcome::Gone(key) => self.objects.remove(&key),
            };
            self.changed(&changes);
        }
        if let Some(area) = self.area.as_mut().filter(|_| is_judged) {
            area.answered(&self.objects, &subject, refusal);
        }
        match result {
            Ok(()) => {
                self.retries.succeeded(&subject, actions);
                self.schedule.finish(subject);
            }
            Err(error) if connection == self.connection => self.failed(&subject, unanswered, &error),
            // Another leader may take it.
            Err(error) => self.failed(&subject, Vec::new(), &error),
        }
    }

    fn failed(&mut self, subject: &Subject<P>, unanswered: Vec<Action>, error: &Error) {
        let (now, is_early) = (Instant::now(), self.schedule.is_put_off(subject));
        let is_news = match Failure::of(error, &unanswered) {
            Failure::Server => {
                let failed = self.retries.failed(subject);
                self.schedule.wait(subject.clone(), now + failed.wait);
                failed.is_news
            }
            Failure::Refused(by) => {
                let failed = self.retries.refused(subject, by, unanswered);
                self.schedule.put_off(subject, now + failed.wait);
                if is_early {
                    // What is another each time is not sent as fast as it is refused.
                    let wait = self.retries.failed(subject).wait;
                    self.schedule.wait(subject.clone(), now + wait);
                } else {
                    self.schedule.finish(subject.clone());
                }
                failed.is_news
            }
        };
        if is_news {
            warn!(%subject, error = %chain(error.as_ref()), "Objects could not be written");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::pending;

    use hyper::{Request, Response};
    use kube::Client;
    use kube::client::Body;
    use serde_json::{Value, json};
    use tokio::sync::mpsc;
    use tower::service_fn;

    use super::*;
    use crate::gateway::{Election, Subject as Gateway};
    use crate::leader::Joined;
    use crate::objects::Key;
    use crate::watches::Watched;

    /// Learns, and decides nothing.
    struct Learner;

    impl Part for Learner {
        type Area = Election;

        fn local(&self) -> Vec<Watched> {
            Vec::new()
        }

        fn remote(&self, _: &Joined) -> Vec<Watched> {
            Vec::new()
        }

        fn area(&self, _: &Leader) -> Option<Election> {
            None
        }
    }

    fn engine() -> Engine<Learner> {
        let silent = service_fn(|_: Request<Body>| pending::<Result<Response<Body>, Infallible>>());
        Engine::new(Learner, Client::new(silent, "default"), mpsc::channel(1).0)
    }

    fn key() -> Key {
        Key::new(Kind::Gateway, "kube-system", "n1")
    }

    fn gateway(version: u32) -> Value {
        json!({ "metadata": { "name": "n1", "namespace": "kube-system", "resourceVersion": version.to_string() } })
    }

    fn listed(all: Vec<Value>) -> Told {
        (Kind::Gateway, 0, WatchEvent::Resynced(all))
    }

    /// What a request of this round was answered.
    fn answered(round: u64, outcome: Outcome) -> Done<Gateway> {
        Done {
            subject: Gateway,
            connection: 0,
            actions: vec![Action::Create(key(), gateway(0))],
            rounds: vec![round],
            outcomes: vec![Some(outcome)],
            result: Ok(()),
            refusal: None,
        }
    }

    #[tokio::test]
    async fn an_answer_to_a_question_from_before_a_list_counts_for_nothing() {
        let mut engine = engine();
        engine.learn(listed(Vec::new()));
        engine.learn(listed(Vec::new()));
        engine.done(answered(1, Outcome::Is(Kind::Gateway, gateway(5))));
        assert_eq!(engine.objects.get(&key()), None, "it was deleted before the list");
        engine.done(answered(2, Outcome::Is(Kind::Gateway, gateway(6))));
        assert_eq!(engine.objects.get(&key()), Some(&gateway(6)));
        engine.learn(listed(vec![gateway(8)]));
        engine.done(answered(2, Outcome::Gone(key())));
        assert_eq!(engine.objects.get(&key()), Some(&gateway(8)), "it was made again before the list");
    }
}
