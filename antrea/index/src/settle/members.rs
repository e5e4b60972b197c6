//! Members of groups: all of them, and what became of some.

use std::sync::Arc;

use antrea_policy::{GroupMember, Pod};

use super::Round;
use crate::Index;
use crate::cluster::groups::Scope;
use crate::cluster::pods::{Journal, State};
use crate::intern::pool::{ClassId, GroupId, NamespaceId, SelectorId, SetId};

/// What became of one possible member of a group: what it was there at the last settle, and what it is.
#[derive(Debug)]
pub(super) struct Delta {
    pub(super) before: Option<Arc<Pod>>,
    pub(super) after: Option<Arc<Pod>>,
}

impl Index {
    /// The classes of the Pods that a group selects, whether these can be members or not.
    pub(super) fn each_class(&self, scope: Scope, pods: Option<SelectorId>, mut each: impl FnMut(ClassId)) {
        match scope {
            Scope::Namespace(namespace) => self.each_class_in(namespace, pods, &mut each),
            Scope::Selected(selector) if self.selectors.get(selector).is_unanchored() => {
                self.each_class_of_many(selector, pods, &mut each);
            }
            Scope::Selected(selector) => {
                for label in self.selectors.get(selector).anchors() {
                    for namespace in self.namespaces.with(*label) {
                        if self.is_in(namespace, selector) {
                            self.each_class_in(namespace, pods, &mut each);
                        }
                    }
                }
            }
        }
    }

    fn each_class_in(
        &self,
        namespace: NamespaceId,
        pods: Option<SelectorId>,
        each: &mut impl FnMut(ClassId),
    ) {
        for label in self.selectors.anchors(pods) {
            for class in self.pods.classes_in(namespace, *label) {
                if self.is_match(pods, self.vocabulary.set(self.pods.class(class).labels)) {
                    each(class);
                }
            }
        }
    }

    /// For a scope that may be most of the cluster: from the Pods' labels to Namespaces, not the other way.
    fn each_class_of_many(
        &self,
        scope: SelectorId,
        pods: Option<SelectorId>,
        each: &mut impl FnMut(ClassId),
    ) {
        for label in self.selectors.anchors(pods) {
            let mut last: Option<(NamespaceId, bool)> = None;
            for (namespace, class) in self.pods.classes_with(*label) {
                let known = last.filter(|(other, _)| *other == namespace);
                let (_, is_in) = *last.insert(known.unwrap_or((namespace, self.is_in(namespace, scope))));
                if is_in && self.is_match(pods, self.vocabulary.set(self.pods.class(class).labels)) {
                    each(class);
                }
            }
        }
    }

    fn is_in(&self, namespace: NamespaceId, scope: SelectorId) -> bool {
        let labels = self.namespaces.get(namespace).labels;
        labels.is_some_and(|labels| self.is_match(Some(scope), self.vocabulary.set(labels)))
    }

    /// What became of Pods.
    pub(super) fn follow_pods(&self, journal: &Journal, round: &mut Round) {
        for (id, before) in journal {
            let after = self.pods.get(*id).state();
            let groups_before = before.as_ref().map(|state| self.groups_with(state, Time::Before));
            let groups_after = after.as_ref().map(|state| self.groups_with(state, Time::After));
            let (groups_before, groups_after) =
                (groups_before.unwrap_or_default(), groups_after.unwrap_or_default());
            let mut all = [groups_before.as_slice(), groups_after.as_slice()].concat();
            all.sort_unstable();
            all.dedup();
            for group in all {
                let member = |state: Option<&State>, groups: &[GroupId]| {
                    let is_in = groups.binary_search(&group).is_ok();
                    state.filter(|_| is_in).map(|state| state.member.clone())
                };
                let delta = Delta {
                    before: member(before.as_deref(), &groups_before),
                    after: member(after.as_ref(), &groups_after),
                };
                self.note(group, delta, round);
            }
        }
    }

    fn groups_with(&self, state: &State, time: Time) -> Vec<GroupId> {
        let class = self.pods.class(state.class);
        let labels = match time {
            Time::Before => self.namespaces.labels_before(class.namespace),
            Time::After => self.namespaces.get(class.namespace).labels,
        };
        self.groups_of(class.namespace, class.labels, labels)
    }

    /// What became of the Pods that are as they were, of Namespaces that are not.
    pub(super) fn follow_namespaces(&self, round: &mut Round) {
        for (namespace, before) in &self.namespaces.journal {
            let after = self.namespaces.get(*namespace).labels;
            self.follow_namespace(*namespace, *before, after, round);
        }
    }

    fn follow_namespace(
        &self,
        namespace: NamespaceId,
        before: Option<SetId>,
        after: Option<SetId>,
        round: &mut Round,
    ) {
        let (before, after) = (self.scopes_of(before), self.scopes_of(after));
        let left = before.iter().filter(|scope| !after.contains(scope)).map(|scope| (scope, Time::Before));
        let entered = after.iter().filter(|scope| !before.contains(scope)).map(|scope| (scope, Time::After));
        for (scope, time) in left.chain(entered) {
            let groups = self.groups.of(*scope);
            // A group that asks for one of several values is found by each of them.
            let mut groups: Vec<GroupId> =
                groups.filter(|group| self.groups.get(*group).is_published()).collect();
            groups.sort_unstable();
            groups.dedup();
            for group in groups {
                let pods = self.groups.get(group).pods;
                self.each_class_in(namespace, pods, &mut |class| self.move_class(class, group, time, round));
            }
        }
    }

    fn move_class(&self, class: ClassId, group: GroupId, time: Time, round: &mut Round) {
        for pod in &self.pods.class(class).pods {
            let record = self.pods.get(*pod);
            if record.is_journaled {
                continue;
            }
            let member = record.member().cloned();
            let delta = match time {
                Time::Before => Delta { before: member, after: None },
                Time::After => Delta { before: None, after: member },
            };
            self.note(group, delta, round);
        }
    }

    fn note(&self, group: GroupId, delta: Delta, round: &mut Round) {
        if !self.groups.get(group).is_published() {
            return;
        }
        self.counter.touched(1);
        round.applied_to.push(group);
        round.addresses.push(group);
        round.deltas.entry(group).or_default().push(delta);
    }
}

/// At the last settle, or now.
#[derive(Clone, Copy, Debug)]
enum Time {
    Before,
    After,
}

/// Members that a group has more, and fewer. `of` says whether something can be a member, `same` whether the group says
/// the same of both.
pub(super) fn changes(
    deltas: &[Delta],
    of: impl Fn(&Arc<Pod>) -> bool,
    same: impl Fn(&Pod, &Pod) -> bool,
) -> (Vec<Arc<Pod>>, Vec<Arc<Pod>>) {
    let (mut added, mut removed) = (Vec::new(), Vec::new());
    for delta in deltas {
        let before = delta.before.as_ref().filter(|pod| of(pod));
        let after = delta.after.as_ref().filter(|pod| of(pod));
        match (before, after) {
            (Some(before), Some(after)) if same(before, after) => {}
            _ => {
                removed.extend(before.cloned());
                added.extend(after.cloned());
            }
        }
    }
    (added, removed)
}

pub(super) fn members(pods: Vec<Arc<Pod>>) -> Vec<GroupMember> {
    pods.into_iter().map(GroupMember::Pod).collect()
}
