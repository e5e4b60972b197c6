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
use crate::parse::selector::{self, Selector};

/// The priority of rules whose order does not matter.
const UNORDERED: i32 = -1;

/// The groups that rules name, and by which rule.
type Uses = Vec<(GroupId, RuleUse)>;

/// A group as a policy writes it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Wanted<'a> {
    /// The Namespaces; nothing for the policy's own.
    namespaces: Option<&'a Selector<'a>>,
    pods: Option<&'a Selector<'a>>,
}

/// The group that the policy held last: the next one is often the same.
type Last<'a> = Option<(Wanted<'a>, GroupId)>;

impl Index {
    /// Computes a policy, with a hold on each of its groups.
    pub(crate) fn compile(&mut self, namespace: NamespaceId, spec: &PolicySpec<'_>) -> State {
        let logging = self.namespaces.get(namespace).logging;
        let applied_to = Wanted { namespaces: None, pods: Some(&spec.pods) };
        let mut last = None;
        let applied_to = self.hold_group(namespace, applied_to, &mut last);
        let mut uses = Uses::with_capacity(spec.rules.len());
        let mut rules = Vec::with_capacity(spec.rules.len().max(spec.isolated.len()));
        for rule in &spec.rules {
            let peer = self.peer(namespace, (rule, rules.len()), &mut uses, &mut last);
            rules.push(Rule {
                direction: rule.direction,
                peer,
                ports: rule.ports.clone(),
                priority: UNORDERED,
                action: Some(Action::Allow),
                logging,
            });
        }
        for direction in spec.isolated {
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

    /// The other side of a rule, which has a place among those of its policy.
    fn peer<'a>(
        &mut self,
        namespace: NamespaceId,
        (rule, at): (&'a RuleSpec<'a>, usize),
        uses: &mut Uses,
        last: &mut Last<'a>,
    ) -> Peer {
        let (groups, blocks) = rule.peers.counts();
        let mut groups: Vec<GroupName> = Vec::with_capacity(groups);
        let mut blocks: Vec<IpBlock> = Vec::with_capacity(blocks);
        let mut add = |index: &mut Self, wanted: Wanted<'a>| {
            let group = index.hold_group(namespace, wanted, last);
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
                    add(self, Wanted { namespaces: Some(&selector::EVERYTHING), pods: None });
                }
            }
            PeersSpec::Some(peers) => {
                for peer in peers {
                    match peer {
                        PeerSpec::Pods(pods) => add(self, Wanted { namespaces: None, pods: Some(pods) }),
                        PeerSpec::Namespaces(namespaces, pods) => {
                            add(self, Wanted { namespaces: Some(namespaces), pods: pods.as_ref() });
                        }
                        PeerSpec::Block(block) => blocks.push(block.clone()),
                    }
                }
            }
        }
        Peer { address_groups: groups.into(), ip_blocks: blocks.into() }
    }

    /// A group, with one hold more.
    fn hold_group<'a>(&mut self, own: NamespaceId, wanted: Wanted<'a>, last: &mut Last<'a>) -> GroupId {
        let group = match last {
            Some((other, group)) if *other == wanted => *group,
            _ => self.wanted_group(own, wanted),
        };
        self.groups.hold(group);
        *last = Some((wanted, group));
        group
    }

    fn wanted_group(&mut self, own: NamespaceId, Wanted { namespaces, pods }: Wanted<'_>) -> GroupId {
        let namespaces = namespaces.map(|selector| self.selectors.intern(selector, &mut self.vocabulary));
        // Held while the other is looked for.
        namespaces.into_iter().for_each(|selector| self.selectors.hold_again(selector));
        let pods = pods.map(|pods| self.selectors.intern(pods, &mut self.vocabulary));
        let group = self.group(namespaces.map_or(Scope::Namespace(own), Scope::Selected), pods);
        namespaces.into_iter().for_each(|selector| self.selectors.release(selector, &mut self.vocabulary));
        group
    }
}

fn has_names(rule: &RuleSpec<'_>) -> bool {
    rule.ports.iter().any(|port| matches!(port.ports, PortMatch::Name(_)))
}
