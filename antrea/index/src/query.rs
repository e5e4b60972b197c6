//! What is there, as of the last settle.

use std::sync::Arc;

use antrea_policy::{AddressGroup, AppliedToGroup, ComputedPolicy, Direction, GroupName, Pod, Span};

use crate::cluster::groups::Group;
use crate::intern::pool::PolicyId;
use crate::{Index, Work};

/// What policies say of one Pod, borrowed from the index.
#[derive(Debug, Default)]
pub struct Endpoint<'a> {
    /// Policies that apply to it.
    pub applied: Vec<&'a Arc<ComputedPolicy>>,
    /// Rules of other Pods that it matches as source, by a group.
    pub source_in: Vec<RuleRef<'a>>,
    /// Rules of other Pods that it matches as destination, by a group.
    pub destination_of: Vec<RuleRef<'a>>,
}

/// A rule of a policy.
#[derive(Clone, Copy, Debug)]
pub struct RuleRef<'a> {
    /// The policy.
    pub policy: &'a Arc<ComputedPolicy>,
    /// The rule's place among the policy's rules, counted from 0.
    pub rule: usize,
}

impl Index {
    /// What policies say of a Pod; nothing for one that they do not concern.
    pub fn endpoint(&self, namespace: &str, pod: &str) -> Option<Endpoint<'_>> {
        let namespace = self.namespaces.find(namespace)?;
        let state = self.pods.get(self.pods.find(namespace, pod)?).state()?;
        let labels = self.namespaces.get(namespace).labels;
        let mut endpoint = Endpoint::default();
        for id in self.groups_of(namespace, self.pods.class(state.class).labels, labels) {
            let group = self.groups.get(id);
            if state.member.node.is_some() {
                let policies = group.applied.policies.iter();
                endpoint.applied.extend(policies.filter_map(|policy| self.computed(*policy)));
            }
            if !state.member.ips.is_empty() {
                self.add_rules(group, &mut endpoint);
            }
        }
        Some(endpoint)
    }

    /// A Pod as it is now; nothing for one that policies do not concern.
    pub fn pod(&self, namespace: &str, pod: &str) -> Option<&Arc<Pod>> {
        let record = self.pods.get(self.pods.find(self.namespaces.find(namespace)?, pod)?);
        record.class.and_then(|_| record.member())
    }

    fn add_rules<'a>(&'a self, group: &Group, endpoint: &mut Endpoint<'a>) {
        for (policy, place) in group.address.uses.iter() {
            let Some(policy) = self.computed(*policy) else { continue };
            let rule = RuleRef { policy, rule: place.place() };
            match place.direction() {
                Direction::In => endpoint.source_in.push(rule),
                Direction::Out => endpoint.destination_of.push(rule),
            }
        }
    }

    fn computed(&self, policy: PolicyId) -> Option<&Arc<ComputedPolicy>> {
        self.policies.get(policy).current().map(|(computed, _)| computed)
    }

    /// A policy, by what it was computed from, and the Nodes that need it.
    pub fn policy(&self, namespace: &str, name: &str) -> Option<(&Arc<ComputedPolicy>, Span)> {
        let id = self.policies.find(self.namespaces.find(namespace)?, name)?;
        let (computed, links) = self.policies.get(id).current()?;
        Some((computed, self.span_of(links.applied_to)))
    }

    /// All policies, and the Nodes that need each.
    pub fn policies(&self) -> impl Iterator<Item = (&Arc<ComputedPolicy>, Span)> {
        let all = self.policies.iter().filter_map(|(_, record)| record.current());
        all.map(|(computed, links)| (computed, self.span_of(links.applied_to)))
    }

    /// An AddressGroup with its members, and the Nodes that need it.
    pub fn address_group(&self, name: GroupName) -> Option<(AddressGroup, Span)> {
        self.whole_address_group(self.groups.get(self.groups.find(name)?))
    }

    /// All of them.
    pub fn address_groups(&self) -> impl Iterator<Item = (AddressGroup, Span)> {
        self.groups.iter().filter_map(|group| self.whole_address_group(group))
    }

    fn whole_address_group(&self, group: &Group) -> Option<(AddressGroup, Span)> {
        let span = group.address.published.as_ref()?.span.clone();
        let members = self.address_members(group);
        Some((AddressGroup { name: group.name, members }, span))
    }

    /// An AppliedToGroup with its members, and the Nodes that need it.
    pub fn applied_to_group(&self, name: GroupName) -> Option<(AppliedToGroup, Span)> {
        self.whole_applied_to_group(self.groups.get(self.groups.find(name)?))
    }

    /// All of them.
    pub fn applied_to_groups(&self) -> impl Iterator<Item = (AppliedToGroup, Span)> {
        self.groups.iter().filter_map(|group| self.whole_applied_to_group(group))
    }

    fn whole_applied_to_group(&self, group: &Group) -> Option<(AppliedToGroup, Span)> {
        let span = group.applied.published.as_ref()?.span.clone();
        let members = self.applied_to_members(group);
        Some((AppliedToGroup { name: group.name, members }, span))
    }

    /// The selector that a group is named after, like `namespace=team-x And podSelector=app=c`.
    pub fn selector(&self, group: GroupName) -> Option<String> {
        let group = self.groups.get(self.groups.find(group)?);
        Some(self.text_of(group.scope, group.pods))
    }

    /// How many things are stored, labels and selectors included: 0 when everything is gone that ever was.
    pub fn size(&self) -> usize {
        let labels: usize = self.vocabulary.sizes().iter().sum();
        let objects = self.namespaces.size() + self.pods.size() + self.policies.size();
        labels + self.selectors.len() + self.groups.size() + objects
    }

    /// What was done so far.
    pub fn work(&self) -> Work {
        self.counter.read()
    }
}
