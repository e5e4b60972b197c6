//! One watch: what it has sent, until the other watches have come as far.
//!
//! Until its bookmark a watch sends what there is, which then replaces what was known; after that it sends what changes. Where
//! the controller tells where rounds end, what a watch sends waits until all watches have come to the end of the same round:
//! what changed together is taken in together. Where it does not, as upstream's, everything is taken in as it comes.

use std::collections::{BTreeSet, VecDeque};

use antrea_shared_api::controlplane::Round;
use antrea_shared_api::controlplane::v1beta2::{AddressGroup, AppliedToGroup, NetworkPolicy};
use antrea_shared_api::meta::Metadata;
use antrea_shared_api::watch::{Event, EventType, Watched};

use crate::{Refused, Watch};

/// How much of a watch waits for other watches at most.
const WAITING: usize = 1 << 16;

/// What is watched.
pub(crate) trait Object: Watched {
    fn metadata(&self) -> &Metadata;

    /// The object that has to be there for a change of it; none where a change is a whole object.
    fn patched(change: &Self::Change) -> Option<&Metadata>;
}

impl Object for NetworkPolicy {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn patched(_: &Self) -> Option<&Metadata> {
        None
    }
}

impl Object for AddressGroup {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn patched(change: &Self::Change) -> Option<&Metadata> {
        Some(&change.metadata)
    }
}

impl Object for AppliedToGroup {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn patched(change: &Self::Change) -> Option<&Metadata> {
        Some(&change.metadata)
    }
}

/// What an event means.
#[derive(Debug)]
pub(crate) enum Step<T: Watched> {
    /// These are all objects.
    Replace(Vec<T>),
    /// There is this object, which may have been there before.
    Set(T),
    /// An object has changed.
    Change(T::Change),
    /// This object is gone.
    Remove(T),
}

/// How far a watch is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reached {
    /// It has not sent yet what there is.
    #[default]
    Nothing,
    /// It has, and knows no rounds.
    NoRounds,
    /// It has, and everything up to the end of this round.
    Round(u64),
}

/// A watch.
#[derive(Debug)]
pub(crate) struct Stream<T: Watched> {
    watch: Watch,
    reached: Reached,
    /// What there is, until all of it is there.
    collected: Vec<T>,
    /// The names of the objects that it has sent.
    names: BTreeSet<String>,
    /// What rounds consist of that have ended here.
    ended: VecDeque<(Round, Vec<Step<T>>)>,
    /// What came since.
    open: Vec<Step<T>>,
    waiting: usize,
}

impl<T: Object> Stream<T> {
    pub(crate) fn new(watch: Watch) -> Self {
        let (collected, names, ended, open) = (Vec::new(), BTreeSet::new(), VecDeque::new(), Vec::new());
        Self { watch, reached: Reached::Nothing, collected, names, ended, open, waiting: 0 }
    }

    /// The watch begins anew. What it sent and has not been taken in will be sent again.
    pub(crate) fn begin(&mut self) {
        *self = Self::new(self.watch);
    }

    pub(crate) const fn reached(&self) -> Reached {
        self.reached
    }

    /// Takes an event in.
    pub(crate) fn take(&mut self, event: Event<T>) -> Result<(), Refused> {
        let watch = self.watch;
        let too_early = |event| Err(Refused::TooEarly { watch, event });
        match (self.reached, event) {
            (_, Event::Error(status)) => {
                return Err(Refused::Failed { watch, message: status.message.clone() });
            }
            (_, Event::Bookmark(object)) => self.end_round(Round::of(object.metadata())),
            (Reached::Nothing, Event::Added(object)) => self.collected.push(object),
            (Reached::Nothing, Event::Modified(_)) => return too_early(EventType::Modified),
            (Reached::Nothing, Event::Deleted(_)) => return too_early(EventType::Deleted),
            (_, Event::Added(object)) => {
                self.names.insert(object.metadata().name.clone());
                self.wait(Step::Set(object));
            }
            (_, Event::Modified(change)) => {
                self.check_patch(&change)?;
                self.wait(Step::Change(change));
            }
            (_, Event::Deleted(object)) => {
                self.names.remove(&object.metadata().name);
                self.wait(Step::Remove(object));
            }
        }
        if self.waiting > WAITING { Err(Refused::TooFarAhead { watch }) } else { Ok(()) }
    }

    fn check_patch(&self, change: &T::Change) -> Result<(), Refused> {
        match T::patched(change) {
            Some(metadata) if !self.names.contains(&metadata.name) => {
                Err(Refused::UnknownGroup { watch: self.watch, group: metadata.name.clone() })
            }
            _ => Ok(()),
        }
    }

    fn wait(&mut self, step: Step<T>) {
        self.waiting += 1;
        self.open.push(step);
    }

    /// A bookmark: the first one ends what there is.
    fn end_round(&mut self, round: Option<Round>) {
        if self.reached == Reached::Nothing {
            self.names = self.collected.iter().map(|object| object.metadata().name.clone()).collect();
            let all = std::mem::take(&mut self.collected);
            self.wait(Step::Replace(all));
            self.reached = Reached::NoRounds;
        }
        if let Some(round) = round {
            self.reached = Reached::Round(round.number);
            self.ended.push_back((round, std::mem::take(&mut self.open)));
        }
    }

    /// What is to be taken in when all watches have come to the end of a round, if there is one that they have come to.
    /// `told` is the last that rounds say of the Pods of this Node.
    pub(crate) fn take_up_to(&mut self, round: Option<u64>, told: &mut Option<Vec<String>>) -> Vec<Step<T>> {
        let mut steps = Vec::new();
        while let Some((ended, _)) = self.ended.front()
            && round.is_some_and(|round| ended.number <= round)
        {
            let Some((ended, of_round)) = self.ended.pop_front() else { break };
            steps.extend(of_round);
            *told = ended.pods.or(told.take());
        }
        if self.reached == Reached::NoRounds {
            steps.append(&mut self.open);
        }
        self.waiting -= steps.len();
        steps
    }
}
