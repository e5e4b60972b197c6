//! Events as lines of text, and rules as lines of text.
//!
//! ```text
//! ag ADDED g n/a=10.0.0.1 n/b=10.0.0.2        a group with its members
//! ag MODIFIED g +n/c=10.0.0.3 -n/a=10.0.0.1   a patch of it
//! np ADDED p to=x,y | In g,h Allow | Out - -  a policy: AppliedToGroups, rules with AddressGroups and action
//! np DELETED p; np BOOKMARK; np CONNECTED     (also of ag and atg)
//! atg BOOKMARK round=3 pods=u1,u2             the end of a round
//! ```

use std::collections::BTreeMap;

use antrea_agent_policy::{CompletedRule, PolicyEvent, Refused, RuleCache, RuleId, Watch};
use antrea_shared_api::controlplane::Round;
use antrea_shared_api::controlplane::v1beta2::{
    AddressGroup, AddressGroupPatch, AppliedToGroup, AppliedToGroupPatch, Direction, GroupMember, IpBlock,
    NamedPort, NetworkPolicy, NetworkPolicyReference, NetworkPolicyRule, PodReference, Port, Service,
};
use antrea_shared_api::meta::{Metadata, Status, StatusOutcome};
use antrea_shared_api::watch::Event;

/// A cache that is told lines and tells lines.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) cache: RuleCache,
    /// What rules were called that may be gone now.
    names: BTreeMap<RuleId, String>,
}

impl Script {
    /// A cache that has been told these lines, which it takes.
    #[track_caller]
    pub(crate) fn told(lines: &str) -> Self {
        let mut script = Self::default();
        script.tell(lines);
        script
    }

    #[track_caller]
    pub(crate) fn tell(&mut self, lines: &str) {
        for line in lines.lines() {
            self.line(line).unwrap_or_else(|refused| panic!("{line}: {refused}"));
        }
    }

    /// Takes a line in, if it is one that fits.
    pub(crate) fn line(&mut self, line: &str) -> Result<(), Refused> {
        let mut words = line.split_whitespace();
        let (kind, event) = (words.next().unwrap(), words.next().unwrap());
        let rest: Vec<_> = words.collect();
        match (kind, event) {
            ("np", "CONNECTED") => self.cache.connected(Watch::NetworkPolicies),
            ("ag", "CONNECTED") => self.cache.connected(Watch::AddressGroups),
            ("atg", "CONNECTED") => self.cache.connected(Watch::AppliedToGroups),
            ("np", "AWAY") => self.cache.away(Watch::NetworkPolicies),
            _ => self.cache.apply(policy_event(kind, event, line, &rest))?,
        }
        Ok(())
    }

    /// The rules that have changed, as they are now, in the order of their names.
    pub(crate) fn changes(&mut self) -> Vec<String> {
        let mut lines: Vec<_> = self.cache.take_changed().iter().map(|id| self.describe(id)).collect();
        lines.sort();
        lines
    }

    /// What a rule is now, if it is anything.
    pub(crate) fn state(&self, id: &RuleId) -> Option<String> {
        self.cache.completed(id).map(|completed| state(&completed))
    }

    fn describe(&mut self, id: &RuleId) -> String {
        let Some(completed) = self.cache.completed(id) else {
            return format!("{}: none", self.names.get(id).map_or("a rule of nothing here", String::as_str));
        };
        let (name, state) = (name(&completed), state(&completed));
        self.names.insert(id.clone(), name.clone());
        format!("{name}: {state}")
    }

    /// The rules that change when these lines are told.
    #[track_caller]
    pub(crate) fn check(&mut self, lines: &str, expected: &[&str]) {
        self.tell(lines);
        assert_eq!(self.changes(), expected, "after {lines}");
    }
}

fn name(completed: &CompletedRule<'_>) -> String {
    let rule = completed.rule;
    let groups = rule.content.peers().address_groups.join(",");
    format!("{} {} {groups}", rule.policy, rule.content.direction).trim_end().to_owned()
}

fn state(completed: &CompletedRule<'_>) -> String {
    let pods = |member: &&GroupMember| member.pod.as_ref().unwrap().name.clone();
    let targets: Vec<_> = completed.targets().iter().map(pods).collect();
    let peers: Vec<_> = completed.peer_addresses().iter().map(ToString::to_string).collect();
    let mut state = format!("{} from {}", targets.join(","), peers.join(","));
    if !completed.missing.is_empty() {
        state.push_str(&format!(" without {}", completed.missing.join(",")));
    }
    state.trim().to_owned()
}

fn metadata(rest: &[&str]) -> Metadata {
    let name = rest.first().copied().unwrap_or_default();
    Metadata::new(name, format!("uid-{name}"))
}

fn bookmark(rest: &[&str]) -> Metadata {
    let mut metadata = Metadata::bookmark(1);
    if let Some(number) = option(rest, "round=") {
        let round = Round { number: number.parse().unwrap(), pods: option(rest, "pods=").map(names) };
        round.annotate(&mut metadata);
    }
    metadata
}

fn failure() -> Box<Status> {
    Box::new(Status {
        metadata: Default::default(),
        status: StatusOutcome::Failure,
        message: "too old".to_owned(),
        reason: "Expired".to_owned(),
        details: None,
        code: 410,
    })
}

/// `n/a=10.0.0.1,fd00::1#http:TCP:80`, or a part of that.
fn member(text: &str) -> GroupMember {
    let mut parts = text.split('#');
    let of_pod = parts.next().unwrap();
    let (pod, ips) = of_pod.split_once('=').unwrap_or((of_pod, ""));
    let (namespace, name) = pod.split_once('/').unwrap();
    GroupMember {
        pod: Some(PodReference::new(namespace, name)),
        ips: ips.split(',').filter(|ip| !ip.is_empty()).map(|ip| ip.parse().unwrap()).collect(),
        ports: parts.map(named_port).collect(),
        ..GroupMember::default()
    }
}

fn named_port(text: &str) -> NamedPort {
    let words: Vec<_> = text.split(':').collect();
    NamedPort {
        name: words[0].to_owned(),
        protocol: words[1].parse().unwrap(),
        port: words[2].parse().unwrap(),
    }
}

fn members(rest: &[&str], sign: &str) -> Vec<GroupMember> {
    rest.iter().skip(1).filter_map(|word| word.strip_prefix(sign)).map(member).collect()
}

macro_rules! group_event {
    ($function:ident, $group:ident, $patch:ident) => {
        fn $function(event: &str, rest: &[&str]) -> Event<$group> {
            let metadata = metadata(rest);
            match event {
                "ADDED" => Event::Added($group { metadata, group_members: members(rest, "") }),
                "MODIFIED" => Event::Modified($patch {
                    metadata,
                    added_group_members: members(rest, "+"),
                    removed_group_members: members(rest, "-"),
                }),
                "DELETED" => Event::Deleted($group { metadata, ..Default::default() }),
                "BOOKMARK" => Event::Bookmark($group { metadata: bookmark(rest), ..Default::default() }),
                "ERROR" => Event::Error(failure()),
                other => panic!("{other}"),
            }
        }
    };
}
group_event!(address_group_event, AddressGroup, AddressGroupPatch);
group_event!(applied_to_group_event, AppliedToGroup, AppliedToGroupPatch);

fn policy_event(kind: &str, event: &str, line: &str, rest: &[&str]) -> PolicyEvent {
    match kind {
        "np" => PolicyEvent::NetworkPolicy(network_policy_event(event, line, rest)),
        "ag" => PolicyEvent::AddressGroup(address_group_event(event, rest)),
        "atg" => PolicyEvent::AppliedToGroup(applied_to_group_event(event, rest)),
        other => panic!("{other}"),
    }
}

fn network_policy_event(event: &str, line: &str, rest: &[&str]) -> Event<NetworkPolicy> {
    let policy = NetworkPolicy { metadata: metadata(rest), ..NetworkPolicy::default() };
    match event {
        "ADDED" => Event::Added(with_rules(policy, line)),
        "MODIFIED" => Event::Modified(with_rules(policy, line)),
        "DELETED" => Event::Deleted(policy),
        "BOOKMARK" => Event::Bookmark(NetworkPolicy { metadata: bookmark(rest), ..policy }),
        "ERROR" => Event::Error(failure()),
        other => panic!("{other}"),
    }
}

fn with_rules(mut policy: NetworkPolicy, line: &str) -> NetworkPolicy {
    let mut parts = line.split('|');
    let of_policy: Vec<_> = parts.next().unwrap().split_whitespace().collect();
    policy.applied_to_groups = option(&of_policy, "to=").map(names).unwrap_or_default();
    policy.tier_priority = option(&of_policy, "tier=").map(|tier| tier.parse().unwrap());
    policy.metadata.generation =
        option(&of_policy, "generation=").map_or(0, |number| number.parse().unwrap());
    policy.source_ref = option(&of_policy, "type=").map(|policy_type| NetworkPolicyReference {
        policy_type: policy_type.parse().unwrap(),
        namespace: String::new(),
        name: policy.metadata.name.clone(),
        uid: policy.metadata.name.clone(),
    });
    policy.rules = parts.map(rule).collect();
    policy
}

/// What follows `name` in one of the words.
fn option<'a>(words: &[&'a str], name: &str) -> Option<&'a str> {
    words.iter().find_map(|word| word.strip_prefix(name))
}

/// `In g,h Allow name=r to=x on=TCP:80,UDP:http block=10.0.0.0/8-10.1.0.0/16`; `-` for none.
fn rule(text: &str) -> NetworkPolicyRule {
    let words: Vec<_> = text.split_whitespace().collect();
    let mut rule = NetworkPolicyRule::isolation(words[0].parse().unwrap());
    let peers = match rule.direction {
        Direction::In => &mut rule.from,
        Direction::Out => &mut rule.to,
    };
    peers.address_groups = names(words[1]);
    rule.action = (words[2] != "-").then(|| words[2].parse().unwrap());
    peers.ip_blocks =
        option(&words, "block=").into_iter().flat_map(|text| text.split(',')).map(block).collect();
    rule.services = option(&words, "on=").into_iter().flat_map(|text| text.split(',')).map(service).collect();
    rule.name = option(&words, "name=").unwrap_or_default().to_owned();
    rule.applied_to_groups = option(&words, "to=").map(names).unwrap_or_default();
    rule
}

/// `TCP`, `TCP:80`, `TCP:80-90` or `TCP:http`; `-90` is an endPort without a port.
fn service(text: &str) -> Service {
    let (protocol, ports) = text.split_once(':').unwrap_or((text, ""));
    let (first, last) = ports.split_once('-').unwrap_or((ports, ""));
    let port = first.parse().map_or_else(|_| Port::Name(first.to_owned()), Port::Number);
    Service {
        protocol: Some(protocol.parse().unwrap()),
        port: (!first.is_empty()).then_some(port),
        end_port: last.parse().ok(),
        ..Service::default()
    }
}

/// A network, and parts of it that are left out.
fn block(text: &str) -> IpBlock {
    let mut networks = text.split('-').map(|network| network.parse().unwrap());
    IpBlock { cidr: networks.next().unwrap(), except: networks.collect() }
}

fn names(text: &str) -> Vec<String> {
    text.trim().split(',').filter(|name| !matches!(*name, "" | "-")).map(str::to_owned).collect()
}
