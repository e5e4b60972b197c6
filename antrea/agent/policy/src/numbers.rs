//! What the switch admits, by number: what is equal has one, whoever wants it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use antrea_pipeline::policy::{ConjunctionId, PolicyRule, RuleChanges};

use crate::ConjunctionIds;
use crate::shape::Shape;

/// What has a number.
#[derive(Debug)]
pub(crate) struct Numbers {
    ids: ConjunctionIds,
    numbered: BTreeMap<ConjunctionId, Numbered>,
    by_rule: BTreeMap<Arc<PolicyRule>, ConjunctionId>,
}

#[derive(Debug)]
struct Numbered {
    rule: Arc<PolicyRule>,
    owners: BTreeSet<Shape>,
}

/// What a shape comes to now.
#[derive(Debug)]
pub(crate) struct Wish {
    pub(crate) shape: Shape,
    /// Its numbers until now.
    pub(crate) numbers: BTreeSet<ConjunctionId>,
    /// What it wants to have a number each.
    pub(crate) rules: Vec<PolicyRule>,
}

/// What comes of wishes.
#[derive(Debug, Default)]
pub(crate) struct Assigned {
    /// What the switch has to be told.
    pub(crate) changes: RuleChanges,
    /// The numbers of each shape.
    pub(crate) numbers: BTreeMap<Shape, BTreeSet<ConjunctionId>>,
    /// The numbers that are nobody's now, and whose they were.
    pub(crate) released: BTreeMap<ConjunctionId, BTreeSet<Shape>>,
    /// Shapes for which there was no number.
    pub(crate) unnumbered: BTreeSet<Shape>,
}

/// A wish that nothing in the switch fulfils yet.
struct Unfulfilled {
    shape: Shape,
    numbers: BTreeSet<ConjunctionId>,
    rule: PolicyRule,
}

impl Numbers {
    pub(crate) const fn new(ids: ConjunctionIds) -> Self {
        Self { ids, numbered: BTreeMap::new(), by_rule: BTreeMap::new() }
    }

    pub(crate) fn ids(&mut self) -> &mut ConjunctionIds {
        &mut self.ids
    }

    /// The shapes that a number is of.
    pub(crate) fn owners(&self, id: ConjunctionId) -> Option<&BTreeSet<Shape>> {
        self.numbered.get(&id).map(|numbered| &numbered.owners)
    }

    /// Fulfils wishes together. What is in the switch already is shared; else a number that nobody wants any more is kept, if
    /// it was of the same shape and services, so that only its members change; else there is a new one.
    pub(crate) fn assign(&mut self, wishes: Vec<Wish>, now: Instant) -> Assigned {
        let mut assigned = Assigned::default();
        let mut vacant = self.leave(&wishes);
        let mut unfulfilled = Vec::new();
        for Wish { shape, numbers, rules } in wishes {
            assigned.numbers.insert(shape.clone(), BTreeSet::new());
            for rule in rules {
                match self.by_rule.get(&rule) {
                    Some(id) => self.join(*id, &shape, &mut assigned),
                    None => {
                        let (shape, numbers) = (shape.clone(), numbers.clone());
                        unfulfilled.push(Unfulfilled { shape, numbers, rule });
                    }
                }
            }
        }
        for Unfulfilled { shape, numbers, rule } in unfulfilled {
            let there = self.by_rule.get(&rule).copied();
            match there.or_else(|| self.place(&numbers, rule, &mut assigned.changes)) {
                Some(id) => self.join(id, &shape, &mut assigned),
                None => _ = assigned.unnumbered.insert(shape),
            }
        }
        vacant.retain(|id, _| self.numbered.get(id).is_some_and(|numbered| numbered.owners.is_empty()));
        vacant.keys().for_each(|id| self.release(*id, now, &mut assigned.changes));
        assigned.released = vacant;
        assigned
    }

    /// Whoever wishes something has nothing. Returns what was theirs.
    fn leave(&mut self, wishes: &[Wish]) -> BTreeMap<ConjunctionId, BTreeSet<Shape>> {
        let mut left: BTreeMap<_, BTreeSet<Shape>> = BTreeMap::new();
        for wish in wishes {
            for id in &wish.numbers {
                let Some(numbered) = self.numbered.get_mut(id) else { continue };
                left.entry(*id).or_default().extend(numbered.owners.take(&wish.shape));
            }
        }
        left
    }

    fn join(&mut self, id: ConjunctionId, shape: &Shape, assigned: &mut Assigned) {
        if let Some(numbered) = self.numbered.get_mut(&id) {
            numbered.owners.insert(shape.clone());
            assigned.numbers.entry(shape.clone()).or_default().insert(id);
        }
    }

    /// Gives a number to what has none: one of `former` that nobody has and that has the same services, or a new one.
    fn place(
        &mut self,
        former: &BTreeSet<ConjunctionId>,
        rule: PolicyRule,
        changes: &mut RuleChanges,
    ) -> Option<ConjunctionId> {
        let fits = |id: &&ConjunctionId| {
            self.numbered
                .get(id)
                .is_some_and(|held| held.owners.is_empty() && held.rule.services == rule.services)
        };
        let id = match former.iter().find(fits) {
            Some(id) => *id,
            None => self.ids.take()?,
        };
        changes.insert(id, Some(rule.clone()));
        let rule = Arc::new(rule);
        let numbered = Numbered { rule: Arc::clone(&rule), owners: BTreeSet::new() };
        if let Some(old) = self.numbered.insert(id, numbered) {
            self.by_rule.remove(&old.rule);
        }
        self.by_rule.insert(rule, id);
        Some(id)
    }

    fn release(&mut self, id: ConjunctionId, now: Instant, changes: &mut RuleChanges) {
        let Some(old) = self.numbered.remove(&id) else { return };
        self.by_rule.remove(&old.rule);
        self.ids.release(id, now);
        changes.insert(id, None);
    }
}
