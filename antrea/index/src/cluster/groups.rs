//! Groups: a selector of Pods within a scope of Namespaces, each stored once, whatever it is used for.

use std::collections::BTreeSet;

use antrea_policy::GroupName;

use super::roles::{Address, AppliedTo};
use crate::Index;
use crate::intern::lists::Lists;
use crate::intern::pool::{GroupId, Id, NamespaceId, PairId, Pool, SelectorId, SetId};
use crate::intern::vocabulary::ANY;

/// The Namespaces that a group takes its Pods from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Scope {
    /// One.
    Namespace(NamespaceId),
    /// All that have these labels.
    Selected(SelectorId),
}

impl Default for Scope {
    fn default() -> Self {
        Self::Namespace(NamespaceId::default())
    }
}

/// A group.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) name: GroupName,
    pub(crate) scope: Scope,
    /// Nothing said of Pods selects all, as the empty selector does, but under another name.
    pub(crate) pods: Option<SelectorId>,
    pub(crate) applied: AppliedTo,
    pub(crate) address: Address,
}

impl Group {
    /// Whether watchers know of it, in either use.
    pub(crate) fn is_published(&self) -> bool {
        self.applied.published.is_some() || self.address.published.is_some()
    }
}

/// All groups. They are held by policies, and by the journal for those that policies had.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    pool: Pool<GroupId, Group>,
    /// Of a Namespace, by a label that members must have.
    own: Lists<(NamespaceId, PairId), GroupId>,
    /// Of selected Namespaces, the same.
    selected: BTreeSet<(SelectorId, PairId, GroupId)>,
    /// Selectors that are the scope of some group, by a label that their Namespaces must have.
    scopes: BTreeSet<(PairId, SelectorId)>,
    /// How many groups watchers know of.
    pub(crate) published: usize,
}

impl Groups {
    /// How many things are stored.
    pub(crate) fn size(&self) -> usize {
        let labels = self.own.len() + self.selected.len();
        self.pool.len() + labels + self.scopes.len()
    }

    pub(crate) fn get(&self, id: GroupId) -> &Group {
        self.pool.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: GroupId) -> &mut Group {
        self.pool.get_mut(id)
    }

    pub(crate) fn hold(&mut self, id: GroupId) {
        self.pool.hold(id);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Group> {
        self.pool.iter().map(|(_, group)| group)
    }

    /// Looks at all groups: nothing that happens in a cluster asks for one by its name.
    pub(crate) fn find(&self, name: GroupName) -> Option<GroupId> {
        self.pool.iter().find(|(_, group)| group.name == name).map(|(id, _)| id)
    }

    /// All groups that have a selector as scope.
    pub(crate) fn of(&self, scope: SelectorId) -> impl Iterator<Item = GroupId> + '_ {
        let all = (scope, PairId::MIN, GroupId::MIN)..=(scope, PairId::MAX, GroupId::MAX);
        self.selected.range(all).map(|(_, _, id)| *id)
    }

    /// The groups that have a selector as scope and ask for a label.
    fn asking_for(&self, scope: SelectorId, label: PairId) -> impl Iterator<Item = GroupId> + '_ {
        let all = (scope, label, GroupId::MIN)..=(scope, label, GroupId::MAX);
        self.selected.range(all).map(|(_, _, id)| *id)
    }

    fn note_label(&mut self, scope: Scope, label: PairId, id: GroupId) {
        match scope {
            Scope::Namespace(namespace) => {
                self.own.insert((namespace, label), id);
            }
            Scope::Selected(selector) => {
                self.selected.insert((selector, label, id));
            }
        }
    }

    fn forget_label(&mut self, scope: Scope, label: PairId, id: GroupId) {
        match scope {
            Scope::Namespace(namespace) => {
                self.own.remove((namespace, label), &id);
            }
            Scope::Selected(selector) => {
                self.selected.remove(&(selector, label, id));
            }
        }
    }

    /// The scopes that ask for a label of Namespaces.
    fn scopes_asking_for(&self, label: PairId) -> impl Iterator<Item = SelectorId> + '_ {
        let all = (label, SelectorId::MIN)..=(label, SelectorId::MAX);
        self.scopes.range(all).map(|(_, id)| *id)
    }
}

impl Index {
    /// A group. Whoever keeps its number holds it; nobody may look for another selector before that.
    pub(crate) fn group(&mut self, scope: Scope, pods: Option<SelectorId>) -> GroupId {
        let hash = self.groups.pool.hash((scope, pods));
        let same = |group: &Group| group.scope == scope && group.pods == pods;
        if let Some(found) = self.groups.pool.find(hash, same) {
            return found;
        }
        let name = GroupName::of_parts(&self.parts_of(scope, pods));
        pods.into_iter().for_each(|pods| self.selectors.hold_again(pods));
        let id = self.groups.pool.insert(hash, Group { name, scope, pods, ..Group::default() });
        for label in self.selectors.anchors(pods) {
            self.groups.note_label(scope, *label, id);
        }
        match scope {
            Scope::Namespace(namespace) => self.namespaces.hold(namespace),
            Scope::Selected(selector) => {
                self.selectors.hold_again(selector);
                for label in self.selectors.get(selector).anchors() {
                    self.groups.scopes.insert((*label, selector));
                }
            }
        }
        id
    }

    pub(crate) fn release_group(&mut self, id: GroupId) {
        let Some(group) = self.groups.pool.release(id) else { return };
        for label in self.selectors.anchors(group.pods) {
            self.groups.forget_label(group.scope, *label, id);
        }
        group.pods.into_iter().for_each(|pods| self.selectors.release(pods, &mut self.vocabulary));
        match group.scope {
            Scope::Namespace(namespace) => self.namespaces.release(namespace),
            Scope::Selected(selector) => self.release_scope(selector),
        }
    }

    fn release_scope(&mut self, selector: SelectorId) {
        if self.groups.of(selector).next().is_none() {
            for label in self.selectors.get(selector).anchors() {
                self.groups.scopes.remove(&(*label, selector));
            }
        }
        self.selectors.release(selector, &mut self.vocabulary);
    }

    /// The normalised selector that a group is named after.
    pub(crate) fn text_of(&self, scope: Scope, pods: Option<SelectorId>) -> String {
        self.parts_of(scope, pods).concat()
    }

    fn parts_of(&self, scope: Scope, pods: Option<SelectorId>) -> [&str; 4] {
        let (prefix, value) = match scope {
            Scope::Namespace(id) => ("namespace=", self.namespaces.get(id).name.as_str()),
            Scope::Selected(id) => ("namespaceSelector=", self.selectors.get(id).text()),
        };
        let (infix, pods) = match pods {
            Some(pods) => (" And podSelector=", self.selectors.get(pods).text()),
            None => ("", ""),
        };
        [prefix, value, infix, pods]
    }

    /// The groups that Pods of a Namespace with some labels are in. `namespace_labels` are those of the Namespace then.
    pub(crate) fn groups_of(
        &self,
        namespace: NamespaceId,
        labels: SetId,
        namespace_labels: Option<SetId>,
    ) -> Vec<GroupId> {
        let labels = self.vocabulary.set(labels);
        let scopes = self.scopes_of(namespace_labels);
        let is_match = |id: &GroupId| self.is_match(self.groups.get(*id).pods, labels);
        let mut groups = Vec::new();
        for label in labels.iter().chain(&[ANY]) {
            groups.extend(self.groups.own.get((namespace, *label)).filter(is_match));
            let selected = scopes.iter().flat_map(|scope| self.groups.asking_for(*scope, *label));
            groups.extend(selected.filter(is_match));
        }
        groups.sort_unstable();
        groups
    }

    /// The selectors in use as scope that a Namespace with some labels is in.
    pub(crate) fn scopes_of(&self, labels: Option<SetId>) -> Vec<SelectorId> {
        let Some(labels) = labels else { return Vec::new() };
        let labels = self.vocabulary.set(labels);
        let candidates = labels.iter().chain(&[ANY]).flat_map(|label| self.groups.scopes_asking_for(*label));
        candidates.filter(|id| self.is_match(Some(*id), labels)).collect()
    }

    /// Whether labels match a selector.
    pub(crate) fn is_match(&self, selector: Option<SelectorId>, labels: &[PairId]) -> bool {
        let Some(selector) = selector else { return true };
        self.counter.matched();
        self.selectors.get(selector).matches(&self.vocabulary, labels)
    }
}
