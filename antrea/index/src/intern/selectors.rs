//! Selectors over labels, each stored once, and found by a label that what they match must have.

use std::hash::Hash;

use super::pool::{KeyId, PairId, Pool, SelectorId};
use super::vocabulary::{ANY, Vocabulary};
use crate::parse::selector::{self, Condition};

/// One condition on a set of labels.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Requirement {
    Is(PairId),
    In(Box<[PairId]>),
    NotIn(Box<[PairId]>),
    Exists(KeyId),
    DoesNotExist(KeyId),
}

/// Conditions that all have to hold; without any, everything matches.
#[derive(Debug, Default)]
pub(crate) struct Selector {
    requirements: Box<[Requirement]>,
    /// As upstream writes it in the names of groups.
    text: Box<str>,
    /// Every set of labels that matches has exactly one of these, [`ANY`] included.
    anchors: Box<[PairId]>,
}

impl Selector {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn anchors(&self) -> &[PairId] {
        &self.anchors
    }

    /// Whether nothing but going through all labels finds what matches.
    pub(crate) fn is_unanchored(&self) -> bool {
        self.anchors.first() == Some(&ANY)
    }

    pub(crate) fn matches(&self, vocabulary: &Vocabulary, set: &[PairId]) -> bool {
        self.requirements.iter().all(|requirement| match requirement {
            Requirement::Is(pair) => set.contains(pair),
            Requirement::In(pairs) => pairs.iter().any(|pair| set.contains(pair)),
            Requirement::NotIn(pairs) => !pairs.iter().any(|pair| set.contains(pair)),
            Requirement::Exists(key) => vocabulary.has_key(set, *key),
            Requirement::DoesNotExist(key) => !vocabulary.has_key(set, *key),
        })
    }
}

/// All selectors in use.
#[derive(Debug, Default)]
pub(crate) struct Selectors {
    pool: Pool<SelectorId, Selector>,
    /// Of the selector that is being looked for; kept so that looking allocates nothing.
    scratch: Vec<Requirement>,
}

impl Selectors {
    pub(crate) fn get(&self, id: SelectorId) -> &Selector {
        self.pool.get(id)
    }

    /// The anchors of a selector; [`ANY`] where there is none.
    pub(crate) fn anchors(&self, id: Option<SelectorId>) -> &[PairId] {
        id.map_or(&[ANY], |id| self.get(id).anchors())
    }

    pub(crate) fn len(&self) -> usize {
        self.pool.len()
    }

    pub(crate) fn hold_again(&mut self, id: SelectorId) {
        self.pool.hold(id);
    }

    /// A selector. Whoever keeps its number holds it; nobody may look for another before that.
    pub(crate) fn intern(
        &mut self,
        wanted: &selector::Selector<'_>,
        vocabulary: &mut Vocabulary,
    ) -> SelectorId {
        self.scratch.clear();
        self.scratch.extend(wanted.iter().map(|one| requirement(one, vocabulary)));
        let hash = self.pool.hash(&self.scratch);
        if let Some(found) = self.pool.find(hash, |other| *other.requirements == *self.scratch) {
            return found;
        }
        let requirements: Box<[Requirement]> = self.scratch.drain(..).collect();
        let anchors = anchors(&requirements, vocabulary);
        requirements.iter().for_each(|one| hold(one, vocabulary));
        let text = wanted.to_string().into();
        self.pool.insert(hash, Selector { requirements, text, anchors })
    }

    pub(crate) fn release(&mut self, id: SelectorId, vocabulary: &mut Vocabulary) {
        for requirement in self.pool.release(id).iter().flat_map(|selector| selector.requirements.iter()) {
            release(requirement, vocabulary);
        }
    }
}

fn requirement(wanted: &selector::Requirement<'_>, vocabulary: &mut Vocabulary) -> Requirement {
    let key = wanted.key;
    let mut pairs =
        |values: &[&str]| values.iter().map(|value| vocabulary.pair(key, value)).collect::<Box<[_]>>();
    match &wanted.condition {
        Condition::Is(value) => Requirement::Is(vocabulary.pair(key, value)),
        Condition::In(values) => Requirement::In(pairs(values)),
        Condition::NotIn(values) => Requirement::NotIn(pairs(values)),
        Condition::Exists => Requirement::Exists(vocabulary.key(key)),
        Condition::DoesNotExist => Requirement::DoesNotExist(vocabulary.key(key)),
    }
}

/// Labels that narrow the search: the rarest that is required, else some of which one is. A set has one value for a
/// key, so it has at most one of those.
fn anchors(requirements: &[Requirement], vocabulary: &Vocabulary) -> Box<[PairId]> {
    let required = requirements.iter().filter_map(|requirement| match requirement {
        Requirement::Is(pair) => Some(*pair),
        _ => None,
    });
    let one = required.min_by_key(|pair| vocabulary.uses(*pair)).map(|pair| vec![pair]);
    let several = || {
        requirements.iter().find_map(|requirement| match requirement {
            Requirement::In(pairs) => Some(pairs.to_vec()),
            _ => None,
        })
    };
    let mut anchors = one.or_else(several).unwrap_or_else(|| vec![ANY]);
    anchors.sort_unstable();
    anchors.dedup();
    anchors.into()
}

fn hold(requirement: &Requirement, vocabulary: &mut Vocabulary) {
    match requirement {
        Requirement::Is(pair) => vocabulary.hold_pair(*pair),
        Requirement::In(pairs) | Requirement::NotIn(pairs) => {
            pairs.iter().for_each(|pair| vocabulary.hold_pair(*pair));
        }
        Requirement::Exists(key) | Requirement::DoesNotExist(key) => vocabulary.hold_key(*key),
    }
}

fn release(requirement: &Requirement, vocabulary: &mut Vocabulary) {
    match requirement {
        Requirement::Is(pair) => vocabulary.release_pair(*pair),
        Requirement::In(pairs) | Requirement::NotIn(pairs) => {
            pairs.iter().for_each(|pair| vocabulary.release_pair(*pair));
        }
        Requirement::Exists(key) | Requirement::DoesNotExist(key) => vocabulary.release_key(*key),
    }
}
