//! Namespaces, by name and by label.

use std::collections::BTreeMap;

use antrea_policy::{Logging, Text};
use k8s_openapi::api::core::v1::Namespace;

use super::Listing;
use crate::Index;
use crate::intern::lists::Lists;
use crate::intern::pool::{NamespaceId, PairId, PolicyId, Pool, SetId};
use crate::parse::namespace::NamespaceSpec;

/// A Namespace that is there, or that something which is there names.
#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(crate) name: Text,
    /// Nothing while the Namespace itself is not there: no selector matches it then.
    pub(crate) labels: Option<SetId>,
    pub(crate) logging: Logging,
    pub(crate) policies: Vec<PolicyId>,
    listing: Listing,
}

/// All Namespaces. A Namespace is held by itself, its Pods, its policies and its groups.
#[derive(Debug, Default)]
pub(crate) struct Namespaces {
    pool: Pool<NamespaceId, Record>,
    by_label: Lists<PairId, NamespaceId>,
    /// The one that was named last: the next object is often of the same.
    last: Option<NamespaceId>,
    /// The labels that Namespaces had at the last settle, where they have others now.
    pub(crate) journal: BTreeMap<NamespaceId, Option<SetId>>,
    pub(crate) listing: Listing,
}

impl Namespaces {
    /// How many things are stored.
    pub(crate) fn size(&self) -> usize {
        self.pool.len() + self.by_label.len()
    }

    pub(crate) fn get(&self, id: NamespaceId) -> &Record {
        self.pool.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: NamespaceId) -> &mut Record {
        self.pool.get_mut(id)
    }

    pub(crate) fn find(&self, name: &str) -> Option<NamespaceId> {
        self.pool.find(self.pool.hash(name), |other| other.name.as_str() == name)
    }

    /// A Namespace, there or not. Whoever keeps its number holds it.
    pub(crate) fn named(&mut self, name: &str) -> NamespaceId {
        let is_last =
            |id: &NamespaceId| self.pool.holders(*id) > 0 && self.pool.get(*id).name.as_str() == name;
        if let Some(last) = self.last.filter(is_last) {
            return last;
        }
        let hash = self.pool.hash(name);
        let found = self.pool.find(hash, |other| other.name.as_str() == name);
        let id = found
            .unwrap_or_else(|| self.pool.insert(hash, Record { name: name.into(), ..Record::default() }));
        self.last = Some(id);
        id
    }

    pub(crate) fn hold(&mut self, id: NamespaceId) {
        self.pool.hold(id);
    }

    pub(crate) fn release(&mut self, id: NamespaceId) {
        self.pool.release(id);
    }

    /// Those that have a label.
    pub(crate) fn with(&self, label: PairId) -> impl Iterator<Item = NamespaceId> + '_ {
        self.by_label.get(label)
    }

    /// The labels at the last settle.
    pub(crate) fn labels_before(&self, id: NamespaceId) -> Option<SetId> {
        self.journal.get(&id).copied().unwrap_or(self.pool.get(id).labels)
    }
}

impl Index {
    /// Takes a Namespace as it is now.
    pub fn apply_namespace(&mut self, namespace: &Namespace) {
        let spec = NamespaceSpec::from_resource(namespace);
        let id = self.namespaces.named(spec.name);
        let labels = self.vocabulary.hold_set(spec.labels);
        self.relabel(id, Some(labels));
        self.namespaces.get_mut(id).listing = self.namespaces.listing;
        if self.namespaces.get(id).logging != spec.logging {
            self.namespaces.get_mut(id).logging = spec.logging;
            self.relog(id);
        }
    }

    /// Forgets a Namespace. What is in it stays until it is deleted itself.
    pub fn delete_namespace(&mut self, name: &str) {
        let Some(id) = self.namespaces.find(name) else { return };
        // Held by the journal, should nothing else be there.
        self.namespaces.hold(id);
        self.relabel(id, None);
        self.namespaces.get_mut(id).logging = Logging::Off;
        self.relog(id);
        self.namespaces.release(id);
    }

    pub(super) fn drop_unlisted_namespaces(&mut self) {
        let current = self.namespaces.listing;
        let all = self.namespaces.pool.iter();
        let gone: Vec<Text> = all
            .filter(|(_, record)| record.labels.is_some() && record.listing != current)
            .map(|(_, record)| record.name.clone())
            .collect();
        gone.iter().for_each(|name| self.delete_namespace(name.as_str()));
    }

    /// Gives a Namespace other labels; a hold on these comes with them.
    fn relabel(&mut self, id: NamespaceId, labels: Option<SetId>) {
        let before = self.namespaces.get(id).labels;
        if before == labels {
            labels.into_iter().for_each(|set| self.vocabulary.release_set(set));
            return;
        }
        if before.is_none() {
            self.namespaces.hold(id);
        }
        for label in before.into_iter().flat_map(|set| self.vocabulary.set(set)) {
            self.namespaces.by_label.remove(*label, &id);
        }
        for label in labels.into_iter().flat_map(|set| self.vocabulary.set(set)) {
            self.namespaces.by_label.insert(*label, id);
        }
        self.namespaces.get_mut(id).labels = labels;
        self.journal_namespace(id, before);
        if labels.is_none() {
            self.namespaces.release(id);
        }
    }

    /// The journal has the holds on the old labels, and one on the Namespace.
    fn journal_namespace(&mut self, id: NamespaceId, before: Option<SetId>) {
        if self.namespaces.journal.contains_key(&id) {
            before.into_iter().for_each(|set| self.vocabulary.release_set(set));
            return;
        }
        self.namespaces.hold(id);
        self.namespaces.journal.insert(id, before);
    }

    /// The journal was read: what it held is let go.
    pub(crate) fn forget_namespace_journal(&mut self, journal: BTreeMap<NamespaceId, Option<SetId>>) {
        for (id, before) in journal {
            before.into_iter().for_each(|set| self.vocabulary.release_set(set));
            self.namespaces.release(id);
        }
    }
}
