//! What agents watch: the computed policies and groups as they are now, and who has to be told when they change.
//!
//! A watcher first gets what it selects (a snapshot), then a bookmark, then changes: that an object is there for it, what
//! of it changed, that it is gone for it. Nothing is told to a watcher for whom nothing changed. There is no IO in here and
//! no clock; watchers are queues that somebody else empties.

mod collection;
mod content;
mod event;
mod fanout;
mod mailbox;
mod members;
mod needs;
mod objects;
mod pods;
mod rounds;
mod selector;
mod shown;
mod watch;
mod watchable;
mod watchers;

use std::sync::Arc;
use std::time::Instant;

use antrea_policy::{
    AddressGroup, AppliedToGroup, ComputedPolicy, Content as PolicyContent, GroupUpdate, PolicyUpdate, Update,
};

use collection::Collection;
pub(crate) use content::{Content, Patch, bookmark};
pub use event::{Encoding, Event};
use fanout::Modification;
pub use mailbox::Events;
pub(crate) use members::{AddressMembers, AppliedToMembers};
use pods::Pods;
pub use selector::Selector;
pub(crate) use watch::WatcherId;
pub use watch::{Counts, Rounds, Watch};

/// The kinds that are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// NetworkPolicies.
    Policies,
    /// AddressGroups.
    AddressGroups,
    /// AppliedToGroups.
    AppliedToGroups,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Policies, Self::AddressGroups, Self::AppliedToGroups];
}

/// Policies and groups, and those who watch them.
#[derive(Default)]
pub struct Store {
    policies: Collection<Arc<ComputedPolicy>>,
    address_groups: Collection<AddressMembers>,
    applied_to_groups: Collection<AppliedToMembers>,
    pods: Pods,
    /// The last round that has ended.
    round: u64,
}

impl Store {
    /// Takes in what changed, and tells those who watch it.
    pub fn apply(&mut self, update: Update) {
        match update {
            Update::Policy(update) => self.apply_policy(update),
            Update::AddressGroup(update) => self.apply_address_group(update),
            Update::AppliedToGroup(update) => self.apply_applied_to_group(update),
            Update::Pods(update) => self.pods.apply(update),
        }
    }

    fn apply_policy(&mut self, update: PolicyUpdate) {
        let policies = &mut self.policies;
        match update {
            PolicyUpdate::Added { policy, span } => policies.insert(policy, span),
            PolicyUpdate::Modified { policy, content, span } => {
                let name = policy.name().clone();
                policies.modify(&name, span.after, |object| {
                    *object = Arc::clone(&policy);
                    match content {
                        PolicyContent::Same => Modification::Nothing,
                        PolicyContent::Changed => Modification::of(Content::PolicyModified(policy)),
                    }
                });
            }
            PolicyUpdate::Removed { policy, .. } => policies.remove(policy.name()),
        }
    }

    fn apply_address_group(&mut self, update: GroupUpdate<AddressGroup>) {
        let groups = &mut self.address_groups;
        match update {
            GroupUpdate::Added { group: AddressGroup { name, members }, span } => {
                groups.insert(AddressMembers::new(name, members), span);
            }
            GroupUpdate::Modified { name, added, removed, span } => {
                groups.modify(&name, span.after, |group| {
                    group.change(&added, &removed);
                    match Patch::new(name, added, removed) {
                        None => Modification::Nothing,
                        Some(patch) => Modification::of(Content::AddressGroupPatch(patch)),
                    }
                });
            }
            GroupUpdate::Removed { name, .. } => groups.remove(&name),
        }
    }

    fn apply_applied_to_group(&mut self, update: GroupUpdate<AppliedToGroup>) {
        let groups = &mut self.applied_to_groups;
        match update {
            GroupUpdate::Added { group: AppliedToGroup { name, members }, span } => {
                groups.insert(AppliedToMembers::new(name, members), span);
            }
            GroupUpdate::Modified { name, added, removed, span } => {
                groups.modify(&name, span.after, |group| {
                    group.change(&added, &removed);
                    Patch::by_node(name, added, removed).map_or(Modification::Nothing, Modification::PerNode)
                });
            }
            GroupUpdate::Removed { name, .. } => groups.remove(&name),
        }
    }

    /// Begins a watch. Who is told of rounds has to begin between them.
    pub fn watch(&mut self, kind: Kind, selector: Selector, rounds: Rounds) -> Watch {
        let round = self.first_round(kind, &selector, rounds);
        let watch = match kind {
            Kind::Policies => self.policies.watch(selector, rounds),
            Kind::AddressGroups => self.address_groups.watch(selector, rounds),
            Kind::AppliedToGroups => self.applied_to_groups.watch(selector, rounds),
        };
        Watch { round, ..watch }
    }

    /// What there is, for who does not watch it.
    pub(crate) fn list(&mut self, kind: Kind, selector: &Selector) -> Vec<Content> {
        match kind {
            Kind::Policies => self.policies.list(selector),
            Kind::AddressGroups => self.address_groups.list(selector),
            Kind::AppliedToGroups => self.applied_to_groups.list(selector),
        }
    }

    /// A watcher has so many no more of the events that its watch began with: it sent them, or ends.
    pub(crate) fn give_back(&mut self, kind: Kind, count: usize) {
        match kind {
            Kind::Policies => self.policies.give_back(count),
            Kind::AddressGroups => self.address_groups.give_back(count),
            Kind::AppliedToGroups => self.applied_to_groups.give_back(count),
        }
    }

    /// Ends a watch: nothing more is sent to it.
    pub(crate) fn unwatch(&mut self, kind: Kind, watcher: WatcherId) {
        match kind {
            Kind::Policies => self.policies.unwatch(watcher),
            Kind::AddressGroups => self.address_groups.unwatch(watcher),
            Kind::AppliedToGroups => self.applied_to_groups.unwatch(watcher),
        }
    }

    /// Ends the watches of clients that have been slow for too long.
    pub(crate) fn cut_late(&mut self, now: Instant) {
        self.policies.cut_late(now);
        self.address_groups.cut_late(now);
        self.applied_to_groups.cut_late(now);
    }

    /// How many objects of a kind there are.
    pub fn len(&self, kind: Kind) -> usize {
        match kind {
            Kind::Policies => self.policies.len(),
            Kind::AddressGroups => self.address_groups.len(),
            Kind::AppliedToGroups => self.applied_to_groups.len(),
        }
    }

    /// What was done for the watchers of a kind.
    pub fn counts(&self, kind: Kind) -> Counts {
        match kind {
            Kind::Policies => self.policies.counts(),
            Kind::AddressGroups => self.address_groups.counts(),
            Kind::AppliedToGroups => self.applied_to_groups.counts(),
        }
    }

    /// How many Nodes watch policies: the agents that are connected.
    pub fn watching_nodes(&self) -> usize {
        self.policies.watching_nodes()
    }
}
