//! NetworkPolicies, as they are computed.

use std::sync::Arc;

use antrea_policy::{ComputedPolicy, Logging};
use k8s_openapi::api::networking::v1::NetworkPolicy;

use super::Listing;
use super::roles::RuleUse;
use crate::intern::pool::{GroupId, NamespaceId, PolicyId, Pool, insert_sorted, remove_sorted};
use crate::parse::network_policy::PolicySpec;
use crate::{Index, Problem};

/// A policy, or what the journal remembers of one.
#[derive(Debug, Default)]
pub(crate) struct Record {
    namespace: NamespaceId,
    /// As it is, or was.
    computed: Option<Arc<ComputedPolicy>>,
    /// Nothing when it is gone. The policy holds these groups.
    links: Option<Links>,
    /// Whether the journal has it.
    is_journaled: bool,
    listing: Listing,
}

impl Record {
    fn is(&self, namespace: NamespaceId, name: &str) -> bool {
        let is_named = |computed: &Arc<ComputedPolicy>| *computed.source.name == *name;
        self.namespace == namespace && self.computed.as_ref().is_some_and(is_named)
    }

    pub(crate) fn is_journaled(&self) -> bool {
        self.is_journaled
    }

    /// The policy, if it is there.
    pub(crate) fn current(&self) -> Option<(&Arc<ComputedPolicy>, &Links)> {
        Some((self.computed.as_ref()?, self.links.as_ref()?))
    }
}

/// The groups of a policy.
#[derive(Clone, Debug)]
pub(crate) struct Links {
    pub(crate) applied_to: GroupId,
    pub(crate) uses: Box<[(GroupId, RuleUse)]>,
}

/// A policy with its groups.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) computed: Arc<ComputedPolicy>,
    pub(crate) links: Links,
}

/// Policies that change, and what they were before: mostly nothing, when there are many.
pub(crate) type Journal = Vec<(PolicyId, Option<Box<State>>)>;

/// All policies. A policy is held by itself and by the journal.
#[derive(Debug, Default)]
pub(crate) struct Policies {
    pool: Pool<PolicyId, Record>,
    /// What policies were at the last settle, where they are something else now, with the holds on their groups.
    pub(crate) journal: Journal,
    pub(crate) listing: Listing,
}

impl Policies {
    /// How many things are stored.
    pub(crate) fn size(&self) -> usize {
        self.pool.len()
    }

    pub(crate) fn get(&self, id: PolicyId) -> &Record {
        self.pool.get(id)
    }

    /// Takes the groups of a policy out, for as long as something else is changed.
    pub(crate) fn take_links(&mut self, id: PolicyId) -> Option<Links> {
        self.pool.get_mut(id).links.take()
    }

    pub(crate) fn put_links(&mut self, id: PolicyId, links: Links) {
        self.pool.get_mut(id).links = Some(links);
    }

    pub(crate) fn find(&self, namespace: NamespaceId, name: &str) -> Option<PolicyId> {
        self.pool.find(self.pool.hash((namespace, name)), |record| record.is(namespace, name))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (PolicyId, &Record)> {
        self.pool.iter()
    }
}

impl Index {
    /// Takes a NetworkPolicy as it is now.
    pub fn apply_network_policy(&mut self, policy: &NetworkPolicy) -> Vec<Problem> {
        let (spec, problems) = PolicySpec::from_resource(policy);
        let namespace = self.namespaces.named(spec.namespace);
        let name = spec.name;
        let hash = self.policies.pool.hash((namespace, name));
        let found = self.policies.pool.find(hash, |record| record.is(namespace, name));
        let id = found.unwrap_or_else(|| {
            self.namespaces.hold(namespace);
            self.policies.pool.insert(hash, Record { namespace, ..Record::default() })
        });
        let state = self.compile(namespace, &spec);
        self.policies.pool.get_mut(id).listing = self.policies.listing;
        self.put_policy(id, state);
        problems
    }

    /// Forgets a NetworkPolicy.
    pub fn delete_network_policy(&mut self, namespace: &str, name: &str) {
        let id = self.namespaces.find(namespace).and_then(|namespace| self.policies.find(namespace, name));
        id.into_iter().for_each(|id| self.remove_policy(id));
    }

    pub(super) fn drop_unlisted_policies(&mut self) {
        let current = self.policies.listing;
        let all = self.policies.iter().filter(|(_, record)| record.listing != current);
        let gone: Vec<PolicyId> = all.map(|(id, _)| id).collect();
        gone.into_iter().for_each(|id| self.remove_policy(id));
    }

    fn remove_policy(&mut self, id: PolicyId) {
        let record = self.policies.get(id);
        if record.links.is_some() {
            remove_sorted(&mut self.namespaces.get_mut(record.namespace).policies, &id);
            self.journal_policy(id);
            self.release_policy(id);
        }
    }

    /// The logging of a Namespace is another: so is that of the rules in it.
    pub(super) fn relog(&mut self, namespace: NamespaceId) {
        let logging = self.namespaces.get(namespace).logging;
        for id in self.namespaces.get(namespace).policies.clone() {
            let Some((computed, links)) = self.policies.get(id).current() else { continue };
            let (computed, links) = (logged(computed, logging), links.clone());
            self.hold_links(&links);
            self.put_policy(id, State { computed: Arc::new(computed), links });
        }
    }

    /// Puts a policy in its place; the holds on its groups come with it.
    fn put_policy(&mut self, id: PolicyId, state: State) {
        let record = self.policies.get(id);
        if record.links.is_some() && record.computed.as_ref() == Some(&state.computed) {
            self.release_links(&state.links);
            return;
        }
        if record.links.is_none() {
            self.policies.pool.hold(id);
            insert_sorted(&mut self.namespaces.get_mut(self.policies.get(id).namespace).policies, id);
        }
        self.journal_policy(id);
        let record = self.policies.pool.get_mut(id);
        record.computed = Some(state.computed);
        record.links = Some(state.links);
    }

    /// Takes the current state out: into the journal, if it is the one that watchers know.
    fn journal_policy(&mut self, id: PolicyId) {
        let record = self.policies.pool.get_mut(id);
        let links = record.links.take();
        let before =
            record.computed.clone().zip(links).map(|(computed, links)| Box::new(State { computed, links }));
        if record.is_journaled {
            before.iter().for_each(|state| self.release_links(&state.links));
            return;
        }
        record.is_journaled = true;
        self.policies.pool.hold(id);
        self.policies.journal.push((id, before));
    }

    /// The journal was read: what it held is let go.
    pub(crate) fn forget_policy_journal(&mut self, journal: Journal) {
        for (id, before) in journal {
            self.policies.pool.get_mut(id).is_journaled = false;
            self.release_policy(id);
            before.iter().for_each(|state| self.release_links(&state.links));
        }
    }

    pub(crate) fn hold_links(&mut self, links: &Links) {
        self.groups.hold(links.applied_to);
        links.uses.iter().for_each(|(group, _)| self.groups.hold(*group));
    }

    fn release_links(&mut self, links: &Links) {
        self.release_group(links.applied_to);
        links.uses.iter().for_each(|(group, _)| self.release_group(*group));
    }

    fn release_policy(&mut self, id: PolicyId) {
        if let Some(record) = self.policies.pool.release(id) {
            self.namespaces.release(record.namespace);
        }
    }
}

fn logged(computed: &ComputedPolicy, logging: Logging) -> ComputedPolicy {
    let mut computed = computed.clone();
    computed.rules.iter_mut().for_each(|rule| rule.logging = logging);
    computed
}
