//! The flows of all rules together, and what changes them from one set of rules to another.
//!
//! Changes are in an order in which the switch may stop anywhere: at every step it admits nothing that neither the rules of
//! before nor those of afterwards admit. A rule that stays is first narrowed to what it has in common with its new form, then
//! widened, so that what it admits is always part of one of the two. A Pod that is isolated no more is opened first, a Pod
//! that becomes isolated is closed last. Rules that come are there before those that go are gone, so that a Pod which is
//! admitted by one of these instead of one of those is admitted all the time.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use antrea_openflow::{Conjunction, Flow};
use antrea_types::IpFamily;

use super::clauses::{Clause, Part, isolated, parts};
use super::{ConjunctionId, Direction, FlowChange, PolicyRule, RuleChanges};
use crate::layout::Layout;
use crate::tables::policy_rules;

/// The rules that a Node enforces, and their flows. Rules of one match share its flow, which has an action for each of them.
#[derive(Clone, Debug)]
pub struct PolicyFlows {
    layout: Layout,
    families: Vec<IpFamily>,
    rules: BTreeMap<ConjunctionId, PolicyRule>,
    /// What packets of a selector fulfil, in the order of rules. Never empty.
    clauses: BTreeMap<Clause, Vec<Conjunction>>,
    /// How many rules isolate the packets of a selector. Never zero.
    isolated: BTreeMap<Clause, usize>,
}

/// What becomes of a rule.
struct Transition {
    id: ConjunctionId,
    before: Option<Form>,
    after: Option<Form>,
}

/// A rule as it is in the switch.
struct Form {
    direction: Direction,
    parts: Vec<Part>,
    isolated: Vec<Clause>,
}

impl PolicyFlows {
    pub(crate) const fn new(layout: Layout, families: Vec<IpFamily>) -> Self {
        Self { layout, families, rules: BTreeMap::new(), clauses: BTreeMap::new(), isolated: BTreeMap::new() }
    }

    /// The rules.
    pub const fn rules(&self) -> &BTreeMap<ConjunctionId, PolicyRule> {
        &self.rules
    }

    /// Changes rules, and returns the changes of flows in the order in which they have to be made.
    pub fn apply(&mut self, changes: RuleChanges) -> Vec<FlowChange> {
        let transitions: Vec<Transition> =
            changes.into_iter().map(|(id, rule)| self.transition(id, rule)).collect();
        let (opened, closed) = self.count_isolated(&transitions);
        let (gone, stay): (Vec<_>, Vec<_>) = transitions.into_iter().partition(|rule| rule.after.is_none());
        let mut out = Vec::new();
        out.extend(self.dropping(&opened).map(FlowChange::Delete));
        self.narrow(&stay, &mut out);
        self.widen(&stay, &mut out);
        self.narrow(&gone, &mut out);
        out.extend(self.dropping(&closed).map(FlowChange::Add));
        out
    }

    /// All flows, for a switch that has none of them: Pods are isolated first, rules admit last.
    pub fn flows(&self) -> Vec<Flow> {
        let rules = || self.rules.iter().map(|(id, rule)| (*id, rule.direction()));
        let mut flows: Vec<Flow> = self.dropping(self.isolated.keys()).collect();
        flows.extend(rules().flat_map(|(id, direction)| self.counting(id, direction)));
        let clauses = self.clauses.iter();
        flows.extend(clauses.filter_map(|(clause, fulfils)| clause_flow(&self.layout, clause, fulfils)));
        flows.extend(rules().flat_map(|(id, direction)| self.admitting(id, direction)));
        flows
    }

    fn transition(&mut self, id: ConjunctionId, rule: Option<PolicyRule>) -> Transition {
        let form = |rule: &PolicyRule| Form {
            direction: rule.direction(),
            parts: parts(id, rule, &self.families),
            isolated: isolated(rule, &self.families),
        };
        let before = self.rules.get(&id).map(form);
        let after = rule.as_ref().map(form);
        match rule {
            Some(rule) => self.rules.insert(id, rule),
            None => self.rules.remove(&id),
        };
        Transition { id, before, after }
    }

    /// Counts anew who is isolated; returns who is no more, and who was not.
    fn count_isolated(&mut self, transitions: &[Transition]) -> (Vec<Clause>, Vec<Clause>) {
        let isolated = |form: fn(&Transition) -> Option<&Form>| {
            transitions.iter().filter_map(form).flat_map(|form| form.isolated.iter().copied())
        };
        let fewer: Vec<Clause> = isolated(|rule| rule.before.as_ref()).collect();
        let more: Vec<Clause> = isolated(|rule| rule.after.as_ref()).collect();
        let touched: BTreeSet<Clause> = fewer.iter().chain(&more).copied().collect();
        let (closed, open): (Vec<Clause>, Vec<Clause>) =
            touched.into_iter().partition(|clause| self.isolated.contains_key(clause));
        for clause in more {
            *self.isolated.entry(clause).or_default() += 1;
        }
        for clause in fewer {
            if let Entry::Occupied(mut count) = self.isolated.entry(clause) {
                *count.get_mut() -= 1;
                if *count.get() == 0 {
                    count.remove();
                }
            }
        }
        let now = |clause: &Clause| self.isolated.contains_key(clause);
        (closed.into_iter().filter(|clause| !now(clause)).collect(), open.into_iter().filter(now).collect())
    }

    /// Takes from rules what they have no more. A rule that goes stops admitting with its first change.
    fn narrow(&mut self, transitions: &[Transition], out: &mut Vec<FlowChange>) {
        let old = || transitions.iter().filter_map(|rule| Some((rule, rule.before.as_ref()?)));
        let moved = |rule: &Transition, form: &Form| direction(&rule.after) != Some(form.direction);
        for (rule, form) in old().filter(|(rule, form)| moved(rule, form)) {
            out.extend(self.admitting(rule.id, form.direction).map(FlowChange::Delete));
        }
        let lost = old().flat_map(|(rule, form)| difference(&form.parts, rule.after.as_ref())).collect();
        self.take(lost, out);
        for (rule, form) in old().filter(|(rule, form)| moved(rule, form)) {
            out.extend(self.counting(rule.id, form.direction).map(FlowChange::Delete));
        }
    }

    /// Gives rules what they did not have. A rule that comes begins to admit with its last change.
    fn widen(&mut self, transitions: &[Transition], out: &mut Vec<FlowChange>) {
        let new = || transitions.iter().filter_map(|rule| Some((rule, rule.after.as_ref()?)));
        let moved = |rule: &Transition, form: &Form| direction(&rule.before) != Some(form.direction);
        for (rule, form) in new().filter(|(rule, form)| moved(rule, form)) {
            out.extend(self.counting(rule.id, form.direction).map(FlowChange::Add));
        }
        let gained = new().flat_map(|(rule, form)| difference(&form.parts, rule.before.as_ref())).collect();
        self.give(gained, out);
        for (rule, form) in new().filter(|(rule, form)| moved(rule, form)) {
            out.extend(self.admitting(rule.id, form.direction).map(FlowChange::Add));
        }
    }

    fn take(&mut self, mut parts: Vec<Part>, out: &mut Vec<FlowChange>) {
        parts.sort_unstable();
        for lost in parts.chunk_by(|left, right| left.0 == right.0) {
            let Some((clause, _)) = lost.first() else { continue };
            let Some(fulfils) = self.clauses.get_mut(clause) else { continue };
            fulfils.retain(|held| lost.binary_search(&(*clause, *held)).is_err());
            let change = if fulfils.is_empty() { FlowChange::Delete } else { FlowChange::Modify };
            out.extend(clause_flow(&self.layout, clause, fulfils).map(change));
            if fulfils.is_empty() {
                self.clauses.remove(clause);
            }
        }
    }

    fn give(&mut self, mut parts: Vec<Part>, out: &mut Vec<FlowChange>) {
        parts.sort_unstable();
        for gained in parts.chunk_by(|left, right| left.0 == right.0) {
            let Some((clause, _)) = gained.first() else { continue };
            let fulfils = self.clauses.entry(*clause).or_default();
            let change = if fulfils.is_empty() { FlowChange::Add } else { FlowChange::Modify };
            fulfils.extend(gained.iter().map(|(_, conjunction)| *conjunction));
            fulfils.sort_unstable();
            out.extend(clause_flow(&self.layout, clause, fulfils).map(change));
        }
    }

    fn dropping<'a>(&'a self, clauses: impl IntoIterator<Item = &'a Clause>) -> impl Iterator<Item = Flow> {
        let flow = |clause: &Clause| {
            policy_rules::isolated(&self.layout, clause.direction, clause.selector.matching())
        };
        clauses.into_iter().filter_map(flow)
    }

    fn admitting(&self, id: ConjunctionId, direction: Direction) -> impl Iterator<Item = Flow> {
        let flow = move |family: &IpFamily| policy_rules::admitted(&self.layout, direction, id, *family);
        self.families.iter().filter_map(flow)
    }

    fn counting(&self, id: ConjunctionId, direction: Direction) -> impl Iterator<Item = Flow> {
        let flows = move |family: &IpFamily| policy_rules::counted(&self.layout, direction, id, *family);
        self.families.iter().flat_map(flows)
    }
}

fn clause_flow(layout: &Layout, clause: &Clause, fulfils: &[Conjunction]) -> Option<Flow> {
    policy_rules::clause(layout, clause.direction, clause.selector.matching(), fulfils)
}

fn direction(form: &Option<Form>) -> Option<Direction> {
    form.as_ref().map(|form| form.direction)
}

/// The parts that a rule's other form does not have.
fn difference(parts: &[Part], other: Option<&Form>) -> Vec<Part> {
    let others = other.map(|form| form.parts.as_slice()).unwrap_or_default();
    parts.iter().filter(|part| others.binary_search(part).is_err()).copied().collect()
}
