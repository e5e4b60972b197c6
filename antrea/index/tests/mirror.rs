//! Somebody who believes only updates: knows every object and span from them, and notices what does not fit.

use std::collections::BTreeMap;

use antrea_index::Index;
use antrea_policy::{
    Content, GroupMember, GroupName, GroupUpdate, Pod, PolicyUpdate, Span, SpanChange, Update,
};

/// Members as text, and the span.
type Group = (Vec<String>, Span);

#[derive(Default)]
pub(crate) struct Mirror {
    policies: BTreeMap<String, (String, Span)>,
    address_groups: BTreeMap<GroupName, Group>,
    applied_to_groups: BTreeMap<GroupName, Group>,
    selectors: BTreeMap<GroupName, String>,
}

impl Mirror {
    /// Remembers after which selector a group is named.
    pub(crate) fn learn(&mut self, index: &Index, update: &Update) {
        let name = match update {
            Update::AddressGroup(GroupUpdate::Added { group, .. }) => group.name,
            Update::AppliedToGroup(GroupUpdate::Added { group, .. }) => group.name,
            _ => return,
        };
        self.selectors.insert(name, index.selector(name).unwrap());
    }

    /// Believes an update, and returns it as a line.
    pub(crate) fn take(&mut self, update: Update) -> String {
        match update {
            Update::Policy(update) => self.take_policy(update),
            Update::AddressGroup(update) => {
                let update = in_text(update, |group| (group.name, group.members), address);
                format!("AG {}", take_group(&mut self.address_groups, &self.selectors, update))
            }
            Update::AppliedToGroup(update) => {
                let update = in_text(update, |group| (group.name, group.members), place);
                format!("ATG {}", take_group(&mut self.applied_to_groups, &self.selectors, update))
            }
            Update::Pods(_) => unreachable!("the world keeps Pods"),
        }
    }

    fn take_policy(&mut self, update: PolicyUpdate) -> String {
        match update {
            PolicyUpdate::Added { policy, span } => {
                let text = self.rules(&policy.rules);
                let known = self.policies.insert(policy.name().to_string(), (text, span.clone()));
                assert!(known.is_none(), "was there: {}", policy.name());
                format!("NP + {} [{span}]", policy.name())
            }
            PolicyUpdate::Modified { policy, content, span } => {
                let text = self.rules(&policy.rules);
                let name = policy.name().to_string();
                let known = self.policies.insert(name, (text.clone(), span.after.clone())).unwrap();
                assert_eq!(known.1, span.before, "span of {}", policy.name());
                assert!(content == Content::Changed || (known.0 == text && !span.is_none()), "spurious");
                format!("NP ~ {} {content:?} {}", policy.name(), spans(&span))
            }
            PolicyUpdate::Removed { policy, span } => {
                let known = self.policies.remove(&policy.name().to_string()).unwrap();
                assert_eq!(known.1, span);
                format!("NP - {} [{span}]", policy.name())
            }
        }
    }

    /// Rules as lines, groups by their selectors.
    pub(crate) fn rules(&self, rules: &[antrea_policy::Rule]) -> String {
        let lines: Vec<String> = rules.iter().map(ToString::to_string).collect();
        self.with_selectors(lines.join("\n"))
    }

    fn with_selectors(&self, text: String) -> String {
        self.selectors
            .iter()
            .fold(text, |text, (name, selector)| text.replace(&name.to_string(), &format!("{{{selector}}}")))
    }

    pub(crate) fn dump(&self) -> String {
        let policies =
            self.policies.iter().map(|(name, (rules, span))| format!("NP {name} [{span}]\n{rules}"));
        let groups = |kind: &'static str, groups: &BTreeMap<GroupName, Group>| {
            groups
                .iter()
                .map(|(name, (members, span))| {
                    let mut members = members.clone();
                    members.sort();
                    format!("{kind} {} [{span}] {}", self.selectors[name], members.join(", "))
                })
                .collect::<Vec<_>>()
        };
        let (addresses, applied) =
            (groups("AG", &self.address_groups), groups("ATG", &self.applied_to_groups));
        let mut all: Vec<String> = policies.chain(addresses).chain(applied).collect();
        all.sort();
        all.join("\n")
    }

    /// The same of what an index answers.
    pub(crate) fn dump_of(&self, index: &Index) -> String {
        let mut other = Self { selectors: self.selectors.clone(), ..Self::default() };
        for (policy, span) in index.policies() {
            other.policies.insert(policy.name().to_string(), (other.rules(&policy.rules), span));
        }
        for (group, span) in index.address_groups() {
            assert_eq!(index.address_group(group.name).unwrap().0, group);
            let members = group.members.iter().map(address).collect();
            other.address_groups.insert(group.name, (members, span));
        }
        for (group, span) in index.applied_to_groups() {
            assert_eq!(index.applied_to_group(group.name).unwrap().0, group);
            assert!(span.nodes().iter().all(|node| !group.on(node.as_str()).is_empty()));
            let members = group.members.iter().map(place).collect();
            other.applied_to_groups.insert(group.name, (members, span));
        }
        other.dump()
    }
}

/// What became of a group, members as text.
enum Told {
    Added(GroupName, Vec<String>, Span),
    Modified(GroupName, Vec<String>, Vec<String>, SpanChange),
    Removed(GroupName, Span),
}

fn in_text<G>(
    update: GroupUpdate<G>,
    parts: impl Fn(G) -> (GroupName, Vec<GroupMember>),
    text: impl Fn(&GroupMember) -> String,
) -> Told {
    let texts = |members: Vec<GroupMember>| members.iter().map(&text).collect::<Vec<_>>();
    match update {
        GroupUpdate::Added { group, span } => {
            let (name, members) = parts(group);
            Told::Added(name, texts(members), span)
        }
        GroupUpdate::Modified { name, added, removed, span } => {
            Told::Modified(name, texts(added), texts(removed), span)
        }
        GroupUpdate::Removed { name, span } => Told::Removed(name, span),
    }
}

fn take_group(
    groups: &mut BTreeMap<GroupName, Group>,
    selectors: &BTreeMap<GroupName, String>,
    update: Told,
) -> String {
    match update {
        Told::Added(name, mut members, span) => {
            assert!(groups.insert(name, (members.clone(), span.clone())).is_none(), "was there");
            members.sort();
            format!("+ {} [{span}] {}", selectors[&name], members.join(", ")).trim_end().to_owned()
        }
        Told::Modified(name, mut added, removed, span) => {
            let group = groups.get_mut(&name).unwrap();
            assert_eq!(group.1, span.before, "span of {}", selectors[&name]);
            for member in &removed {
                let at = group.0.iter().position(|known| known == member).unwrap();
                group.0.remove(at);
            }
            assert!(added.iter().all(|member| !group.0.contains(member)), "{added:?} twice");
            group.0.extend(added.clone());
            group.1 = span.after.clone();
            assert!(!(added.is_empty() && removed.is_empty() && span.is_none()), "spurious");
            added.sort();
            let changes: Vec<String> = added
                .iter()
                .map(|member| format!("+({member})"))
                .chain(removed.iter().map(|member| format!("-({member})")))
                .collect();
            format!("~ {} {} {}", selectors[&name], spans(&span), changes.join(" ")).trim_end().to_owned()
        }
        Told::Removed(name, span) => {
            assert_eq!(groups.remove(&name).unwrap().1, span);
            format!("- {} [{span}]", selectors[&name])
        }
    }
}

fn spans(span: &SpanChange) -> String {
    if span.is_none() { format!("[{}]", span.after) } else { format!("[{}]>[{}]", span.before, span.after) }
}

fn address(member: &GroupMember) -> String {
    let GroupMember::Pod(pod) = member;
    GroupMember::Pod(Pod { node: None, ..(**pod).clone() }.into()).to_string()
}

fn place(member: &GroupMember) -> String {
    let GroupMember::Pod(pod) = member;
    GroupMember::Pod(Pod { ips: antrea_policy::PodIps::None, ..(**pod).clone() }.into()).to_string()
}
