//! A NetworkPolicy → rules and groups, as upstream converts them.

use std::sync::Arc;

use antrea_policy::{
    Action, ComputedPolicy, Direction, GroupName, IpBlock, Peer, PortMatch, Rule, Source, SourceKind,
};

use crate::Index;
use crate::cluster::groups::Scope;
use crate::cluster::policies::{Links, State};
use crate::cluster::roles::RuleUse;
use crate::intern::pool::{GroupId, NamespaceId};
use crate::parse::network_policy::{PolicySpec, RuleSpec};
use crate::parse::peer::{PeerSpec, PeersSpec, everywhere};
use crate::parse::selector::Selector;

/// The priority of rules whose order does not matter.
const UNORDERED: i32 = -1;

/// The groups that rules name, and by which rule.
type Uses = Vec<(GroupId, RuleUse)>;

impl Index {
    /// Computes a policy, with a hold on each of its groups.
    pub(crate) fn compile(&mut self, namespace: NamespaceId, spec: &PolicySpec<'_>) -> State {
        let logging = self.namespaces.get(namespace).logging;
        let applied_to = self.hold_group(Scope::Namespace(namespace), Some(&spec.pods));
        let mut uses = Uses::with_capacity(spec.rules.len());
        let mut rules = Vec::with_capacity(spec.rules.len().max(spec.isolated.len()));
        for rule in &spec.rules {
            let peer = self.peer(namespace, rule, rules.len(), &mut uses);
            rules.push(Rule {
                direction: rule.direction,
                peer,
                ports: rule.ports.clone(),
                priority: UNORDERED,
                action: Some(Action::Allow),
                logging,
            });
        }
        for direction in &spec.isolated {
            if !rules.iter().any(|rule| rule.direction == *direction) {
                rules.push(Rule::isolation(*direction, logging));
            }
        }
        let source = Source {
            kind: SourceKind::K8sNetworkPolicy,
            namespace: self.namespaces.get(namespace).name.clone(),
            name: spec.name.into(),
            uid: spec.uid.into(),
        };
        let computed = ComputedPolicy {
            source,
            generation: spec.generation,
            rules: rules.into(),
            applied_to: Box::new([self.groups.get(applied_to).name]),
        };
        State { computed: Arc::new(computed), links: Links { applied_to, uses: uses.into() } }
    }

    fn peer(&mut self, namespace: NamespaceId, rule: &RuleSpec<'_>, at: usize, uses: &mut Uses) -> Peer {
        let (groups, blocks) = rule.peers.counts();
        let mut groups: Vec<GroupName> = Vec::with_capacity(groups);
        let mut blocks: Vec<IpBlock> = Vec::with_capacity(blocks);
        let mut add = |index: &mut Self, scope, pods: Option<&Selector<'_>>| {
            let group = index.hold_group(scope, pods);
            let name = index.groups.get(group).name;
            if groups.contains(&name) {
                index.release_group(group);
                return;
            }
            groups.push(name);
            uses.push((group, RuleUse::new(rule.direction, at)));
        };
        match &rule.peers {
            PeersSpec::Everybody => {
                blocks.extend(everywhere());
                // Only members of a group say which number a name of a port has.
                if rule.direction == Direction::Out && has_names(rule) {
                    let everywhere = self.selectors.intern(&Selector::default(), &mut self.vocabulary);
                    add(self, Scope::Selected(everywhere), None);
                }
            }
            PeersSpec::Some(peers) => {
                for peer in peers {
                    match peer {
                        PeerSpec::Pods(pods) => add(self, Scope::Namespace(namespace), Some(pods)),
                        PeerSpec::Namespaces(selector, pods) => {
                            let scope = self.selectors.intern(selector, &mut self.vocabulary);
                            add(self, Scope::Selected(scope), pods.as_ref());
                        }
                        PeerSpec::Block(block) => blocks.push(block.clone()),
                    }
                }
            }
        }
        Peer { address_groups: groups.into(), ip_blocks: blocks.into() }
    }

    /// A group, with one hold more. `scope` may be a selector that nobody holds yet.
    fn hold_group(&mut self, scope: Scope, pods: Option<&Selector<'_>>) -> GroupId {
        if let Scope::Selected(selector) = scope {
            self.selectors.hold_again(selector);
        }
        let pods = pods.map(|pods| self.selectors.intern(pods, &mut self.vocabulary));
        let group = self.group(scope, pods);
        self.groups.hold(group);
        if let Scope::Selected(selector) = scope {
            self.selectors.release(selector, &mut self.vocabulary);
        }
        group
    }
}

fn has_names(rule: &RuleSpec<'_>) -> bool {
    rule.ports.iter().any(|port| matches!(port.ports, PortMatch::Name(_)))
}
