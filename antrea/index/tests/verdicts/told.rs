//! Somebody who is told of updates only, and of each the part that an agent uses.

use std::collections::BTreeMap;
use std::sync::Arc;

use antrea_policy::{
    ComputedPolicy, GroupMember, GroupName, GroupUpdate, Pod, PolicyUpdate, Span, Uid, Update,
};

/// A group's members, by Namespace and name, and who gets it.
#[derive(Default)]
pub(crate) struct Group {
    pub(crate) members: BTreeMap<(String, String), Arc<Pod>>,
    pub(crate) span: Span,
}

type Groups = BTreeMap<GroupName, Group>;

/// All objects, as they were told.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) policies: BTreeMap<Uid, (Arc<ComputedPolicy>, Span)>,
    pub(crate) address_groups: Groups,
    pub(crate) applied_to_groups: Groups,
}

impl Told {
    pub(crate) fn learn(&mut self, update: Update) {
        match update {
            Update::Policy(update) => self.learn_policy(update),
            Update::AddressGroup(update) => {
                learn_group(&mut self.address_groups, update, |group| (group.name, group.members));
            }
            Update::AppliedToGroup(update) => {
                learn_group(&mut self.applied_to_groups, update, |group| (group.name, group.members));
            }
            // Verdicts do not depend on it.
            Update::Pods(_) => {}
        }
    }

    fn learn_policy(&mut self, update: PolicyUpdate) {
        let (policy, span) = match update {
            PolicyUpdate::Added { policy, span } => (policy, span),
            PolicyUpdate::Modified { policy, span, .. } => (policy, span.after),
            PolicyUpdate::Removed { policy, .. } => {
                self.policies.remove(policy.name());
                return;
            }
        };
        self.policies.insert(policy.name().clone(), (policy, span));
    }
}

fn learn_group<G>(
    groups: &mut Groups,
    update: GroupUpdate<G>,
    parts: impl Fn(G) -> (GroupName, Vec<GroupMember>),
) {
    match update {
        GroupUpdate::Added { group, span } => {
            let (name, members) = parts(group);
            groups.insert(name, Group { members: members.into_iter().map(named).collect(), span });
        }
        GroupUpdate::Modified { name, added, removed, span } => {
            // A watcher that missed the group's beginning knows nothing of it.
            let Some(group) = groups.get_mut(&name) else { return };
            for (key, _) in removed.into_iter().map(named) {
                group.members.remove(&key);
            }
            group.members.extend(added.into_iter().map(named));
            group.span = span.after;
        }
        GroupUpdate::Removed { name, .. } => drop(groups.remove(&name)),
    }
}

fn named(member: GroupMember) -> ((String, String), Arc<Pod>) {
    let GroupMember::Pod(pod) = member;
    ((pod.namespace.to_string(), pod.name.to_string()), pod)
}
