//! The members of groups, changed by patches, and cheap to copy as they are at a moment.

use std::cmp::Ordering;
use std::marker::PhantomData;
use std::sync::Arc;

use antrea_policy::{GroupMember, GroupName, Text};

use super::{Content, Patch};

/// How members of a kind of groups are told apart and sorted.
pub(crate) trait Order: Send + Sync + 'static {
    fn compare(one: &GroupMember, other: &GroupMember) -> Ordering;
}

/// By Namespace and name: an AddressGroup does not look at Nodes.
pub(crate) enum ByName {}

/// By Node, then by Namespace and name: the members of a Node are together.
pub(crate) enum ByNode {}

impl Order for ByName {
    fn compare(GroupMember::Pod(one): &GroupMember, GroupMember::Pod(other): &GroupMember) -> Ordering {
        one.namespace.cmp(&other.namespace).then_with(|| one.name.cmp(&other.name))
    }
}

impl Order for ByNode {
    fn compare(one: &GroupMember, other: &GroupMember) -> Ordering {
        node(one).cmp(&node(other)).then_with(|| ByName::compare(one, other))
    }
}

pub(crate) type AddressMembers = Members<ByName>;
pub(crate) type AppliedToMembers = Members<ByNode>;

/// A group with its members. A copy shares them until one of the two changes.
pub(crate) struct Members<O> {
    pub(crate) name: GroupName,
    list: Arc<Vec<GroupMember>>,
    sorted: Sorted,
    order: PhantomData<O>,
}

/// Most groups never change: they are sorted when the first patch comes.
#[derive(Clone, Copy)]
enum Sorted {
    NotYet,
    Yes,
}

impl<O> Clone for Members<O> {
    fn clone(&self) -> Self {
        Self { name: self.name, list: Arc::clone(&self.list), sorted: self.sorted, order: PhantomData }
    }
}

impl<O: Order> Members<O> {
    pub(super) fn new(name: GroupName, members: Vec<GroupMember>) -> Self {
        Self { name, list: Arc::new(members), sorted: Sorted::NotYet, order: PhantomData }
    }

    pub(crate) fn all(&self) -> &[GroupMember] {
        &self.list
    }

    /// Removes first: a member whose fields changed is in both.
    pub(super) fn change(&mut self, added: &[GroupMember], removed: &[GroupMember]) {
        if added.is_empty() && removed.is_empty() {
            return;
        }
        let list = Arc::make_mut(&mut self.list);
        if let Sorted::NotYet = self.sorted {
            list.sort_by(O::compare);
            self.sorted = Sorted::Yes;
        }
        for member in removed {
            if let Ok(at) = list.binary_search_by(|other| O::compare(other, member)) {
                list.remove(at);
            }
        }
        for member in added {
            match list.binary_search_by(|other| O::compare(other, member)) {
                Ok(at) => list[at] = member.clone(),
                Err(at) => list.insert(at, member.clone()),
            }
        }
    }
}

fn node(GroupMember::Pod(pod): &GroupMember) -> Option<&Text> {
    pod.node.as_ref()
}

fn place(member: &GroupMember) -> Option<&str> {
    node(member).map(Text::as_str)
}

impl AppliedToMembers {
    /// What of the group is on a Node.
    pub(super) fn part_on(&self, node: &str) -> Self {
        Self { list: Arc::new(on(self.all(), node).to_vec()), ..self.clone() }
    }
}

/// Of members that are sorted by Node, those on one.
fn on<'a>(members: &'a [GroupMember], name: &str) -> &'a [GroupMember] {
    let start = members.partition_point(|member| place(member) < Some(name));
    let rest = members.get(start..).unwrap_or_default();
    let length = rest.partition_point(|member| place(member) == Some(name));
    rest.get(..length).unwrap_or_default()
}

impl Patch {
    /// A patch that can be told apart by Node, unless it would change nothing.
    pub(super) fn by_node(
        name: GroupName,
        mut added: Vec<GroupMember>,
        mut removed: Vec<GroupMember>,
    ) -> Option<Self> {
        added.sort_by(|one, other| node(one).cmp(&node(other)));
        removed.sort_by(|one, other| node(one).cmp(&node(other)));
        Self::new(name, added, removed)
    }

    /// What of it a Node has to know; all of it without a Node.
    pub(super) fn on(&self, node: Option<&str>) -> Option<Content> {
        let part = |members| node.map_or(members, |node| on(members, node)).to_vec();
        Self::new(self.name, part(&self.added), part(&self.removed)).map(Content::AppliedToGroupPatch)
    }

    /// The Nodes that have to know something of it.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &Text> {
        self.added.iter().chain(&self.removed).filter_map(node)
    }
}
