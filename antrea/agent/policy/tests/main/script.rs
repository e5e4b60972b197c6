//! Events as lines of text, and rules as lines of text.
//!
//! ```text
//! ag ADDED g n/a=10.0.0.1 n/b=10.0.0.2        a group with its members
//! ag MODIFIED g +n/c=10.0.0.3 -n/a=10.0.0.1   a patch of it
//! np ADDED p to=x,y | In g,h Allow | Out - -  a policy: AppliedToGroups, rules with AddressGroups and action
//! np DELETED p; np BOOKMARK; np CONNECTED     (also of ag and atg)
//! ```

use std::collections::BTreeMap;

use antrea_agent_policy::{CompletedRule, PolicyEvent, Refused, RuleCache, RuleId, Watch};
use antrea_shared_api::controlplane::v1beta2::{
    AddressGroup, AddressGroupPatch, AppliedToGroup, AppliedToGroupPatch, Direction, GroupMember,
    NetworkPolicy, NetworkPolicyRule, PodReference,
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

/// `n/a=10.0.0.1,fd00::1`, or `n/a`.
fn member(text: &str) -> GroupMember {
    let (pod, ips) = text.split_once('=').unwrap_or((text, ""));
    let (namespace, name) = pod.split_once('/').unwrap();
    GroupMember {
        pod: Some(PodReference::new(namespace, name)),
        ips: ips.split(',').filter(|ip| !ip.is_empty()).map(|ip| ip.parse().unwrap()).collect(),
        ..GroupMember::default()
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
                "BOOKMARK" => Event::Bookmark($group::default()),
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
        "BOOKMARK" => Event::Bookmark(NetworkPolicy::default()),
        "ERROR" => Event::Error(failure()),
        other => panic!("{other}"),
    }
}

fn with_rules(mut policy: NetworkPolicy, line: &str) -> NetworkPolicy {
    let mut parts = line.split('|');
    let of_policy = parts.next().unwrap();
    policy.applied_to_groups =
        of_policy.split_once("to=").map(|(_, groups)| names(groups)).unwrap_or_default();
    policy.rules = parts.map(rule).collect();
    policy
}

/// `In g,h Allow to=x`; `-` for none.
fn rule(text: &str) -> NetworkPolicyRule {
    let words: Vec<_> = text.split_whitespace().collect();
    let mut rule = NetworkPolicyRule::isolation(words[0].parse().unwrap());
    let peers = match rule.direction {
        Direction::In => &mut rule.from,
        Direction::Out => &mut rule.to,
    };
    peers.address_groups = names(words[1]);
    rule.action = (words[2] != "-").then(|| words[2].parse().unwrap());
    rule.applied_to_groups =
        words.get(3).map(|word| names(word.trim_start_matches("to="))).unwrap_or_default();
    rule
}

fn names(text: &str) -> Vec<String> {
    text.trim().split(',').filter(|name| !matches!(*name, "" | "-")).map(str::to_owned).collect()
}
