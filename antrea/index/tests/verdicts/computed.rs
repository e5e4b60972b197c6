//! What the computed objects mean: a connection is judged as the agent on the Pod's Node would, by what that Node is
//! told and nothing else.

use std::collections::BTreeMap;
use std::net::IpAddr;

use antrea_policy::{ComputedPolicy, Direction, GroupName, IpBlock, Pod, Port, PortMatch, Rule};
use antrea_policy_reference::{Side, Verdict};
use antrea_types::Protocol;

use super::told::{Group, Told};

/// An end of a connection.
#[derive(Clone, Copy)]
pub(crate) struct End<'a> {
    /// Namespace and name of a Pod that has a network of its own.
    pub(crate) pod: Option<(&'a str, &'a str)>,
    pub(crate) node: Option<&'a str>,
    pub(crate) address: IpAddr,
}

/// What a connection goes to.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) protocol: Protocol,
    pub(crate) port: u16,
}

/// What all Nodes are told, by the Pods that it is about.
pub(crate) struct Computed<'a> {
    told: &'a Told,
    /// By Namespace and name of the Pod, each in the order of the policies' names.
    applied: BTreeMap<(&'a str, &'a str), Vec<Applied<'a>>>,
}

/// A policy that applies to a Pod, as a Node is told.
struct Applied<'a> {
    policy: &'a ComputedPolicy,
    node: &'a str,
    /// The Pod as a member of the AppliedToGroup: with the names of its ports.
    member: &'a Pod,
}

impl<'a> Computed<'a> {
    pub(crate) fn new(told: &'a Told) -> Self {
        let mut applied: BTreeMap<_, Vec<Applied<'_>>> = BTreeMap::new();
        for (policy, span) in told.policies.values() {
            for group in policy.applied_to.iter().filter_map(|name| told.applied_to_groups.get(name)) {
                let is_told = |node: &str| span.contains(node) && group.span.contains(node);
                for (node, member) in placed(group).filter(|(node, _)| is_told(node)) {
                    let key = (member.namespace.as_str(), &*member.name);
                    applied.entry(key).or_default().push(Applied { policy, node, member });
                }
            }
        }
        for policies in applied.values_mut() {
            policies.sort_by_key(|one| &one.policy.source.name);
        }
        Self { told, applied }
    }

    pub(crate) fn verdict(&self, from: &End<'_>, to: &End<'_>, target: Target) -> Verdict {
        Verdict {
            egress: self.side(Direction::Out, from, to, target),
            ingress: self.side(Direction::In, to, from, target),
        }
    }

    fn side(&self, direction: Direction, end: &End<'_>, other: &End<'_>, target: Target) -> Side {
        let Some(pod) = end.pod else { return Side::NotAPod };
        if let Some(reason) = exemption(direction, end, other) {
            return Side::Exempt(reason);
        }
        let mut isolating = Vec::new();
        let applied = self.applied.get(&pod).into_iter().flatten();
        for one in applied.filter(|one| Some(one.node) == end.node) {
            let policy = one.policy;
            let mut rules = policy.rules.iter().filter(|rule| rule.direction == direction).peekable();
            if rules.peek().is_none() {
                continue;
            }
            let name = format!("{}/{}", policy.source.namespace, policy.source.name);
            if let Some(rule) = rules.position(|rule| self.admits(rule, one, other, target)) {
                return Side::Admitted { policy: name, rule };
            }
            isolating.push(name);
        }
        if isolating.is_empty() { Side::NotIsolated } else { Side::Denied { policies: isolating } }
    }

    fn admits(&self, rule: &Rule, applied: &Applied<'_>, other: &End<'_>, target: Target) -> bool {
        if rule.action.is_none() {
            return false;
        }
        let in_block = rule.peer.ip_blocks.iter().any(|block| contains(block, other.address));
        let mut members = self.members(rule, applied.node, other.address);
        match rule.direction {
            Direction::In => {
                (in_block || members.next().is_some()) && has_port(rule, target, Some(applied.member))
            }
            // Of an address in a block nobody knows names of ports.
            Direction::Out => {
                in_block && has_port(rule, target, None)
                    || members.any(|member| has_port(rule, target, Some(member)))
            }
        }
    }

    /// Members with an address, of those groups of a rule that a Node is told of.
    fn members(&self, rule: &Rule, node: &str, address: IpAddr) -> impl Iterator<Item = &Pod> {
        let groups = rule.peer.address_groups.iter().filter_map(move |name| self.group(*name));
        let told = groups.filter(move |group| group.span.contains(node));
        let pods = told.flat_map(|group| group.members.values()).map(|pod| &**pod);
        pods.filter(move |pod| pod.ips.iter().any(|ip| ip == address))
    }

    fn group(&self, name: GroupName) -> Option<&Group> {
        self.told.address_groups.get(&name)
    }
}

/// Members that are on a Node.
fn placed(group: &Group) -> impl Iterator<Item = (&str, &Pod)> {
    group.members.values().filter_map(|pod| Some((pod.node.as_ref()?.as_str(), &**pod)))
}

/// What an agent admits beside all policies: a Pod to itself, and the Node to its own Pods.
fn exemption(direction: Direction, end: &End<'_>, other: &End<'_>) -> Option<&'static str> {
    if end.pod == other.pod {
        return Some("the same Pod");
    }
    let own_node = other.pod.is_none() && other.node.is_some() && other.node == end.node;
    (direction == Direction::In && own_node).then_some("its own Node")
}

fn contains(block: &IpBlock, address: IpAddr) -> bool {
    block.cidr.contains(&address) && !block.except.iter().any(|except| except.contains(&address))
}

fn has_port(rule: &Rule, target: Target, names: Option<&Pod>) -> bool {
    rule.ports.is_empty() || rule.ports.iter().any(|port| is_port(port, target, names))
}

fn is_port(port: &Port, target: Target, names: Option<&Pod>) -> bool {
    let of_number = match &port.ports {
        PortMatch::Any => true,
        PortMatch::Number(number) => *number == target.port,
        PortMatch::Range(first, last) => (*first..=*last).contains(&target.port),
        PortMatch::Name(name) => {
            let mut named = names.iter().flat_map(|pod| pod.ports.iter()).flat_map(|ports| ports.iter());
            named.any(|port| {
                port.name == *name && (port.protocol, port.port) == (target.protocol, target.port)
            })
        }
    };
    of_number && port.protocol == target.protocol
}
