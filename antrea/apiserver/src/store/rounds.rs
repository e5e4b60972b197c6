//! Where rounds end, for watchers on Nodes that asked for it: one bookmark in each of their watches.

use std::collections::BTreeSet;
use std::sync::Arc;

use antrea_policy::{Text, Uid};
use antrea_shared_api::controlplane::Round;

use super::content::round;
use super::{Content, Event, Kind, Rounds, Selector, Store};

impl Store {
    /// Numbers rounds on from this one, before any has ended.
    pub const fn number_rounds_after(&mut self, round: u64) {
        self.round = round;
    }

    /// All that changed together has been taken in: the watchers of Nodes that it concerns are told.
    pub fn end_round(&mut self) {
        self.round += 1;
        let fuller = self.pods.take_fuller();
        let mut nodes: BTreeSet<Text> = fuller.clone();
        nodes.extend(self.policies.take_touched());
        nodes.extend(self.address_groups.take_touched());
        nodes.extend(self.applied_to_groups.take_touched());
        if nodes.is_empty() {
            return;
        }
        let [policies, address_groups, same_pods] = Kind::ALL.map(|kind| self.end(kind, None));
        for node in &nodes {
            let has_news = fuller.contains(node) && self.applied_to_groups.is_told_of_rounds(node.as_str());
            let applied_to_groups = if has_news {
                self.end(Kind::AppliedToGroups, Some(self.pods.on(node.as_str())))
            } else {
                Arc::clone(&same_pods)
            };
            self.tell(node, &[Arc::clone(&policies), Arc::clone(&address_groups), applied_to_groups]);
        }
    }

    /// The round that a watch begins with. Other watches on the Node are told that they have come to it as well: they may
    /// never be told anything else.
    pub(super) fn first_round(&mut self, kind: Kind, selector: &Selector, rounds: Rounds) -> Option<Round> {
        let node = selector.node.as_ref().filter(|_| rounds == Rounds::Told && selector.name.is_none())?;
        let ends = Kind::ALL.map(|kind| self.end(kind, None));
        self.tell(node, &ends);
        let pods = (kind == Kind::AppliedToGroups).then(|| self.pods.on(node.as_str()));
        Some(round(self.round, pods.as_deref()))
    }

    /// Tells the watchers on a Node, those of each kind their own.
    fn tell(&mut self, node: &Text, [policies, address_groups, applied_to_groups]: &[Arc<Event>; 3]) {
        self.policies.end_round(node.as_str(), policies);
        self.address_groups.end_round(node.as_str(), address_groups);
        self.applied_to_groups.end_round(node.as_str(), applied_to_groups);
    }

    fn end(&self, kind: Kind, pods: Option<Vec<Uid>>) -> Arc<Event> {
        let version = match kind {
            Kind::Policies => self.policies.version(),
            Kind::AddressGroups => self.address_groups.version(),
            Kind::AppliedToGroups => self.applied_to_groups.version(),
        };
        Arc::new(Event::new(Content::RoundEnded { kind, version, number: self.round, pods }))
    }
}
