//! Groups of one kind, and which rules refer to them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use antrea_shared_api::controlplane::v1beta2::{
    AddressGroup, AddressGroupPatch, AppliedToGroup, AppliedToGroupPatch, ExternalEntityReference,
    GroupMember, NodeReference, PodReference, ServiceReference,
};

use crate::{RuleId, Watch};

/// What groups are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Peers of rules.
    Address,
    /// What policies are applied to.
    AppliedTo,
}

impl Kind {
    /// The watch that they come by.
    pub(crate) const fn watch(self) -> Watch {
        match self {
            Self::Address => Watch::AddressGroups,
            Self::AppliedTo => Watch::AppliedToGroups,
        }
    }
}

/// A group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) uid: String,
    members: BTreeMap<Identity, GroupMember>,
}

/// What a member is, whatever else is said of it. One that changes is in a patch as it was, to leave, and as it is, to
/// come; should the patch not tell exactly what it was, it leaves all the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identity {
    Pod(PodReference),
    ExternalEntity(ExternalEntityReference),
    Node(NodeReference),
    Service(ServiceReference),
    /// Something that only newer peers know.
    Addresses(Vec<IpAddr>),
}

impl Identity {
    fn of(member: &GroupMember) -> Self {
        match member {
            GroupMember { pod: Some(pod), .. } => Self::Pod(pod.clone()),
            GroupMember { external_entity: Some(entity), .. } => Self::ExternalEntity(entity.clone()),
            GroupMember { node: Some(node), .. } => Self::Node(node.clone()),
            GroupMember { service: Some(service), .. } => Self::Service(service.clone()),
            _ => Self::Addresses(member.ips.clone()),
        }
    }
}

impl Group {
    pub(crate) fn members(&self) -> impl Iterator<Item = &GroupMember> {
        self.members.values()
    }
}

fn identified(members: Vec<GroupMember>) -> impl Iterator<Item = (Identity, GroupMember)> {
    members.into_iter().map(|member| (Identity::of(&member), member))
}

/// What changed of a group.
#[derive(Debug)]
pub(crate) struct Patch {
    pub(crate) name: String,
    added: Vec<GroupMember>,
    removed: Vec<GroupMember>,
}

macro_rules! group {
    ($group:ident, $patch:ident) => {
        impl From<$group> for Group {
            fn from(group: $group) -> Self {
                let members = identified(group.group_members).collect();
                Self { name: group.metadata.name, uid: group.metadata.uid, members }
            }
        }

        impl From<$patch> for Patch {
            fn from(patch: $patch) -> Self {
                Self {
                    name: patch.metadata.name,
                    added: patch.added_group_members,
                    removed: patch.removed_group_members,
                }
            }
        }
    };
}
group!(AddressGroup, AddressGroupPatch);
group!(AppliedToGroup, AppliedToGroupPatch);

/// Groups by their names.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    groups: BTreeMap<String, Group>,
    /// Rules refer to groups that have not come yet, too. No set is empty.
    rules: BTreeMap<String, BTreeSet<RuleId>>,
}

impl Groups {
    pub(crate) fn get(&self, name: &str) -> Option<&Group> {
        self.groups.get(name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Group> {
        self.groups.values()
    }

    /// Puts a group in the place of the one of its name, which is returned.
    pub(crate) fn insert(&mut self, group: Group) -> Option<Group> {
        self.groups.insert(group.name.clone(), group)
    }

    /// Changes a group; `None` when there is no such group.
    pub(crate) fn patch(&mut self, patch: Patch) -> Option<&Group> {
        let group = self.groups.get_mut(&patch.name)?;
        for member in &patch.removed {
            group.members.remove(&Identity::of(member));
        }
        group.members.extend(identified(patch.added));
        Some(group)
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<Group> {
        self.groups.remove(name)
    }

    /// The rules that refer to a group.
    pub(crate) fn rules_of(&self, name: &str) -> impl Iterator<Item = &RuleId> {
        self.rules.get(name).into_iter().flatten()
    }

    /// A rule refers to these groups.
    pub(crate) fn refer(&mut self, rule: &RuleId, names: &[String]) {
        for name in names {
            self.rules.entry(name.clone()).or_default().insert(rule.clone());
        }
    }

    /// A rule does not refer to these groups any more.
    pub(crate) fn forget(&mut self, rule: &RuleId, names: &[String]) {
        for name in names {
            let Some(rules) = self.rules.get_mut(name) else { continue };
            rules.remove(rule);
            if rules.is_empty() {
                self.rules.remove(name);
            }
        }
    }
}
