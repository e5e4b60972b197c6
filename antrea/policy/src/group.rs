//! Groups with all their members.

use crate::{GroupMember, GroupName};

/// Whom rules admit: members that have an address. Of a Pod, the place does not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressGroup {
    /// Its name.
    pub name: GroupName,
    /// Its members, each once.
    pub members: Vec<GroupMember>,
}

/// Whom policies apply to: members that have a Node. Of a Pod, the addresses do not matter: the Node knows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedToGroup {
    /// Its name.
    pub name: GroupName,
    /// Its members, each once, in the order of their Nodes' names.
    pub members: Vec<GroupMember>,
}

impl AppliedToGroup {
    /// The members on a Node: all that the agent there needs.
    pub fn on(&self, node: &str) -> &[GroupMember] {
        let start = self.members.partition_point(|member| place(member) < Some(node));
        let rest = self.members.get(start..).unwrap_or_default();
        let length = rest.partition_point(|member| place(member) == Some(node));
        rest.get(..length).unwrap_or_default()
    }
}

fn place(member: &GroupMember) -> Option<&str> {
    let GroupMember::Pod(pod) = member;
    pod.node.as_ref().map(crate::Text::as_str)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Pod, PodIps, Text};

    fn member(name: &str, node: &str) -> GroupMember {
        let node = Some(Text::from(node));
        let (namespace, name) = ("x".into(), name.into());
        GroupMember::Pod(Arc::new(Pod { namespace, name, ips: PodIps::None, ports: None, node }))
    }

    #[test]
    fn a_node_gets_its_own_members_only() {
        let members = vec![member("a", "n1"), member("b", "n3"), member("c", "n3"), member("d", "n4")];
        let group = AppliedToGroup { name: GroupName::default(), members };
        let on = |node| group.on(node).iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        assert_eq!(
            ["n0", "n1", "n2", "n3", "n4", "n5"].map(on),
            ["", "x/a on n1", "", "x/b on n3, x/c on n3", "x/d on n4", ""]
        );
    }
}
