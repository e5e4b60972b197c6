//! What is watched: policies and groups, and how each looks to a watcher.

use std::hash::Hash;
use std::sync::Arc;

use antrea_policy::{ComputedPolicy, GroupName, Uid};

use super::{AddressMembers, AppliedToMembers, Content};

/// Something that is watched.
pub(crate) trait Watchable {
    /// What it is called.
    type Name: Clone + Ord + Hash;

    /// Who sees what of it.
    const VIEW: View;

    /// Always the same.
    fn name(&self) -> &Self::Name;

    /// What those are told who begin to see it, on a Node or everywhere.
    fn added(&self, node: Option<&str>) -> Content;

    /// What those are told who see it no more.
    fn deleted(&self) -> Content;

    /// The name that a text is.
    fn read_name(text: &str) -> Option<Self::Name>;
}

/// Who sees what of an object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    /// All the same.
    Shared,
    /// Each Node its own part.
    PerNode,
}

impl Watchable for Arc<ComputedPolicy> {
    type Name = Uid;
    const VIEW: View = View::Shared;

    fn name(&self) -> &Uid {
        ComputedPolicy::name(self)
    }

    fn added(&self, _: Option<&str>) -> Content {
        Content::PolicyAdded(Self::clone(self))
    }

    fn deleted(&self) -> Content {
        Content::PolicyDeleted(Self::clone(self))
    }

    fn read_name(text: &str) -> Option<Uid> {
        Some(text.into())
    }
}

impl Watchable for AddressMembers {
    type Name = GroupName;
    const VIEW: View = View::Shared;

    fn name(&self) -> &GroupName {
        &self.name
    }

    fn added(&self, _: Option<&str>) -> Content {
        Content::AddressGroupAdded(self.clone())
    }

    fn deleted(&self) -> Content {
        Content::AddressGroupDeleted(self.name)
    }

    fn read_name(text: &str) -> Option<GroupName> {
        text.parse().ok()
    }
}

impl Watchable for AppliedToMembers {
    type Name = GroupName;
    const VIEW: View = View::PerNode;

    fn name(&self) -> &GroupName {
        &self.name
    }

    fn added(&self, node: Option<&str>) -> Content {
        Content::AppliedToGroupAdded(node.map_or_else(|| self.clone(), |node| self.part_on(node)))
    }

    fn deleted(&self) -> Content {
        Content::AppliedToGroupDeleted(self.name)
    }

    fn read_name(text: &str) -> Option<GroupName> {
        text.parse().ok()
    }
}
