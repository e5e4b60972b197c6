//! Keeps what the switch admits in step with the rules and with the Pods of this Node.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use antrea_pipeline::policy::{ConjunctionId, RuleChanges, Target};
use antrea_shared_api::controlplane::v1beta2::{Direction, NetworkPolicyReference};
use antrea_types::PodRef;

use crate::numbers::{Numbers, Wish};
use crate::plan::{LocalPods, Plan, plan};
use crate::shape::Shape;
use crate::unknown::Unknown;
use crate::{Confirmed, ConjunctionIds, Problem, Rule, RuleCache, RuleId};

/// What the switch was told of rules, and what it has to be told next.
#[derive(Debug)]
pub struct Reconciler {
    pods: LocalPods,
    changed_pods: BTreeSet<PodRef>,
    rules: BTreeMap<RuleId, Shape>,
    shapes: BTreeMap<Shape, Planned>,
    /// The shapes that are applied to a Pod, whether it has an interface or not. No set is empty.
    shapes_of_pods: BTreeMap<PodRef, BTreeSet<Shape>>,
    numbers: Numbers,
    unknown: Unknown,
    /// Whose numbers were that are nobody's now.
    former: BTreeMap<ConjunctionId, Vec<Arc<RuleName>>>,
    pub(crate) unconfirmed: BTreeSet<String>,
    pub(crate) refusal: Option<String>,
    pub(crate) confirmed: Confirmed,
}

/// The rules of a shape, and what has become of them.
#[derive(Debug, Default)]
pub(crate) struct Planned {
    rules: BTreeMap<RuleId, Arc<RuleName>>,
    targets: BTreeSet<PodRef>,
    numbers: BTreeSet<ConjunctionId>,
    pub(crate) problems: BTreeSet<Problem>,
}

/// What a rule is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleName {
    /// The name of its policy, which is the UID of the policy's source.
    pub policy: String,
    /// What the policy was computed from.
    pub source_ref: Option<NetworkPolicyReference>,
    /// Whether it is about traffic to or from what it is applied to.
    pub direction: Direction,
    /// Its own name; policies of Kubernetes have none for their rules.
    pub name: String,
}

/// What has to change at once.
#[derive(Debug, Default)]
pub struct Batch {
    /// For [`antrea_pipeline::policy::PolicyFlows::apply`], all together: parts of it may open Pods.
    pub changes: RuleChanges,
    /// How many rules that say different things were looked at.
    pub planned: usize,
}

impl RuleName {
    fn of(rule: &Rule) -> Self {
        Self {
            policy: rule.policy.clone(),
            source_ref: rule.source_ref.clone(),
            direction: rule.content.direction,
            name: rule.content.name.clone(),
        }
    }
}

impl Reconciler {
    /// Nothing was told to the switch yet.
    pub fn new(ids: ConjunctionIds) -> Self {
        Self {
            pods: BTreeMap::new(),
            changed_pods: BTreeSet::new(),
            rules: BTreeMap::new(),
            shapes: BTreeMap::new(),
            shapes_of_pods: BTreeMap::new(),
            numbers: Numbers::new(ids),
            unknown: Unknown::default(),
            former: BTreeMap::new(),
            unconfirmed: BTreeSet::new(),
            refusal: None,
            confirmed: Confirmed::All,
        }
    }

    /// A Pod has these interfaces now: none when it is gone, more than one while an old sandbox is being removed.
    pub fn set_pod(&mut self, pod: PodRef, interfaces: &BTreeSet<Target>) {
        let old = if interfaces.is_empty() {
            self.pods.remove(&pod)
        } else {
            self.pods.insert(pod.clone(), interfaces.clone())
        };
        if old.unwrap_or_default() != *interfaces {
            self.changed_pods.insert(pod);
        }
    }

    /// These interfaces, and no others, are of Pods of which nobody has said yet what policies want of them: they are
    /// isolated.
    pub fn set_unknown(&mut self, targets: BTreeSet<Target>) {
        self.unknown.set(targets);
    }

    /// What has to change since this was asked last: nothing before the cache is ready. The next batch is for the switch only
    /// after this one.
    pub fn reconcile(&mut self, cache: &mut RuleCache, now: Instant) -> Batch {
        if !cache.is_ready() {
            return Batch::default();
        }
        for id in self.numbers.ids().wake(now, self.confirmed) {
            self.former.remove(&id);
        }
        let (mut touched, gone) = self.take_changed(cache);
        for pod in std::mem::take(&mut self.changed_pods) {
            touched.extend(self.shapes_of_pods.get(&pod).into_iter().flatten().cloned());
        }
        self.note_unconfirmed(&touched);
        let planned = touched.len();
        let wishes = touched.into_iter().map(|shape| self.plan(cache, shape)).collect();
        let mut changes = self.assign(wishes, now);
        changes.extend(self.unknown.changes(self.numbers.ids()));
        self.forget(&gone);
        if !changes.is_empty() {
            self.confirmed = Confirmed::NotAll;
        }
        Batch { changes, planned }
    }

    /// What an earlier agent left is gone from the switch: its numbers may be used.
    pub fn forget_foreign(&mut self, now: Instant) {
        self.numbers.ids().forget_foreign(now);
    }

    /// The rules of a number; for a while also those of a number that is nobody's any more. More than one, where rules say the
    /// same.
    pub fn rules_of(&self, number: ConjunctionId) -> Vec<&RuleName> {
        match self.numbers.owners(number) {
            Some(owners) => self.names(owners).map(Arc::as_ref).collect(),
            None => self.former.get(&number).into_iter().flatten().map(Arc::as_ref).collect(),
        }
    }

    /// What was planned of a rule.
    pub(crate) fn planned(&self, rule: &RuleId) -> Option<&Planned> {
        self.shapes.get(self.rules.get(rule)?)
    }

    /// The numbers of a rule: more than one where Pods give a port's name to different ports, none while no Pod that it is
    /// applied to has an interface.
    pub fn numbers_of(&self, rule: &RuleId) -> impl Iterator<Item = ConjunctionId> {
        self.planned(rule).into_iter().flat_map(|planned| planned.numbers.iter().copied())
    }

    /// The shapes of rules that changed, among them new ones, and the rules that are gone.
    fn take_changed(&mut self, cache: &mut RuleCache) -> (BTreeSet<Shape>, Vec<RuleId>) {
        let (mut touched, mut gone) = (BTreeSet::new(), Vec::new());
        for id in cache.take_changed() {
            let completed = cache.completed(&id);
            if let Some(shape) = self.rules.get(&id) {
                touched.insert(shape.clone());
                if completed.is_none() {
                    gone.push(id);
                }
            } else if let Some(completed) = completed {
                touched.insert(self.add(id, completed.rule));
            }
        }
        (touched, gone)
    }

    fn add(&mut self, id: RuleId, rule: &Rule) -> Shape {
        let shape = Shape::of(rule);
        let planned = self.shapes.entry(shape.clone()).or_default();
        planned.rules.insert(id.clone(), Arc::new(RuleName::of(rule)));
        self.rules.insert(id, shape.clone());
        shape
    }

    fn note_unconfirmed(&mut self, touched: &BTreeSet<Shape>) {
        let policies: Vec<_> = self.names(touched).map(|name| name.policy.clone()).collect();
        self.unconfirmed.extend(policies);
    }

    /// Any rule of the shape stands for all: they have the same members.
    fn plan(&mut self, cache: &RuleCache, shape: Shape) -> Wish {
        let planned = self.shapes.entry(shape.clone()).or_default();
        let completed = planned.rules.keys().find_map(|id| cache.completed(id));
        let Plan { rules, targets, problems } =
            completed.map(|completed| plan(&completed, &self.pods)).unwrap_or_default();
        for pod in planned.targets.difference(&targets) {
            let Some(shapes) = self.shapes_of_pods.get_mut(pod) else { continue };
            shapes.remove(&shape);
            if shapes.is_empty() {
                self.shapes_of_pods.remove(pod);
            }
        }
        for pod in targets.difference(&planned.targets) {
            self.shapes_of_pods.entry(pod.clone()).or_default().insert(shape.clone());
        }
        (planned.targets, planned.problems) = (targets, problems);
        Wish { numbers: std::mem::take(&mut planned.numbers), shape, rules }
    }

    fn assign(&mut self, wishes: Vec<Wish>, now: Instant) -> RuleChanges {
        let assigned = self.numbers.assign(wishes, now);
        for (shape, numbers) in assigned.numbers {
            self.shapes.entry(shape).or_default().numbers = numbers;
        }
        for shape in assigned.unnumbered {
            self.shapes.entry(shape).or_default().problems.insert(Problem::NoNumber);
        }
        for (number, owners) in assigned.released {
            let names = self.names(&owners).cloned().collect();
            self.former.insert(number, names);
        }
        assigned.changes
    }

    fn forget(&mut self, gone: &[RuleId]) {
        for id in gone {
            let Some(shape) = self.rules.remove(id) else { continue };
            let Some(planned) = self.shapes.get_mut(&shape) else { continue };
            planned.rules.remove(id);
            if planned.rules.is_empty() {
                self.shapes.remove(&shape);
            }
        }
    }

    fn names<'a>(&'a self, shapes: &'a BTreeSet<Shape>) -> impl Iterator<Item = &'a Arc<RuleName>> {
        shapes.iter().filter_map(|shape| self.shapes.get(shape)).flat_map(|planned| planned.rules.values())
    }
}
