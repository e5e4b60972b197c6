//! What the parts of a member decide, apart from when they do and from sending anything.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;

use crate::action::Action;
use crate::kind::Kind;
use crate::objects::{Change, Objects};

/// What is to be done about a subject, as far as it can be done now. What follows from the answers is planned again.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan<P> {
    /// Requests, in the order in which they are sent.
    pub actions: Vec<Action>,
    /// Why more cannot be done.
    pub problems: Vec<P>,
}

impl<P> Default for Plan<P> {
    fn default() -> Self {
        Self { actions: Vec::new(), problems: Vec::new() }
    }
}

/// What became of the passing of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick<S> {
    /// When to look at the time again.
    pub again: Option<Duration>,
    /// The subjects that are to be decided anew.
    pub changed: Vec<S>,
}

/// What may be taken now of what the leader has refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lifted {
    /// What it took before.
    #[default]
    Nothing,
    /// A little of it: there is room for that.
    Few,
    /// All of it.
    All,
}

impl Lifted {
    /// What follows from a change of an export: the leader limits how much a member exports.
    pub fn by_room(objects: &Objects, change: &Change) -> Self {
        let is_export = change.key.kind == Kind::ResourceExport;
        let is_gone = is_export && change.before.is_some() && objects.get(&change.key).is_none();
        if is_gone { Self::Few } else { Self::Nothing }
    }
}

/// A part of a member: decides subject by subject what objects should be like. Two that are equal decide the same.
pub trait Area: PartialEq + Send + 'static {
    /// What is decided together.
    type Subject: Clone + fmt::Display + Ord + Send + Sync;
    /// Why something cannot be done.
    type Problem: Clone + fmt::Display + PartialEq + Send + Sync;

    /// Takes over what the one before it has learned that counts still: the leader, or the way to it, was another.
    fn remember(&mut self, _before: &Self) {}

    /// The kinds that decisions are made of.
    fn kinds(&self) -> &'static [Kind];

    /// The kinds that decisions on a subject are made of. Nothing is decided on it before all of them are known.
    fn kinds_of(&self, _subject: &Self::Subject) -> &'static [Kind] {
        self.kinds()
    }

    /// Whether a subject is decided on before others that have waited for longer.
    fn goes_first(_subject: &Self::Subject) -> bool {
        false
    }

    /// The kinds that subjects depend on and that name none: all subjects of their objects are those of other objects, too.
    /// They are left out where all objects are looked at.
    fn surroundings(&self) -> &'static [Kind] {
        &[]
    }

    /// Takes in the time, which only grows. Most decisions do not depend on it.
    fn tick(&mut self, _objects: &Objects, _now: Duration) -> Tick<Self::Subject> {
        Tick { again: None, changed: Vec::new() }
    }

    /// Takes in a change, of which objects tell already, and when it was learned. Most decisions do not depend on that.
    fn learned(&mut self, _objects: &Objects, _change: &Change, _now: Duration) {}

    /// The API server was away until now.
    fn interrupted(&mut self, _now: Duration) {}

    /// Takes in that the leader refuses what was sent about a subject, and why, or that it does not any more.
    fn answered(&mut self, _objects: &Objects, _subject: &Self::Subject, _refusal: Option<String>) {}

    /// What the leader may take now that it has refused: what it takes depends on what has changed.
    fn lifts_refusals(&self, _objects: &Objects, _change: &Change) -> Lifted {
        Lifted::Nothing
    }

    /// The subjects that a change concerns.
    fn subjects(&self, objects: &Objects, change: &Change) -> Vec<Self::Subject>;

    /// What is to be done about a subject.
    fn plan(&self, objects: &Objects, subject: &Self::Subject, now: Timestamp) -> Plan<Self::Problem>;
}
