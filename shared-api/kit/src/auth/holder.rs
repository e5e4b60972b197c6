//! Who has a share of what is bounded: a user, where many are one user also by the Node or the address they are at.

use std::net::IpAddr;

use super::identity::{Identity, NODE_NAME};

/// Who has a share. Agents are one user on Nodes of their own, so that a token stolen from one takes nothing from the others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Holder {
    user: String,
    whereabouts: String,
}

impl Holder {
    /// Whom a request from `address` counts as: without a Node in its token, the address tells its sender from others of that name.
    pub fn of(identity: &Identity, address: Option<IpAddr>) -> Self {
        let Identity::User(user) = identity else {
            return Self { user: String::new(), whereabouts: String::new() };
        };
        let node = user.extra.get(NODE_NAME).and_then(|names| names.first()).cloned();
        let address = || address.map(|address| address.to_string()).unwrap_or_default();
        Self { user: user.name.clone(), whereabouts: node.unwrap_or_else(address) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::identity::User;
    use super::*;

    fn agent(node: Option<&str>, address: [u8; 4]) -> Holder {
        let extra = node.map(|node| (NODE_NAME.to_owned(), vec![node.to_owned()]));
        let user = User {
            name: "system:serviceaccount:kube-system:antrea-agent".to_owned(),
            extra: extra.into_iter().collect(),
            ..User::default()
        };
        Holder::of(&Identity::User(Arc::new(user)), Some(address.into()))
    }

    #[test]
    fn agents_are_told_apart_by_their_nodes_and_without_by_their_addresses() {
        let (here, there) = ([10, 0, 0, 1], [10, 0, 0, 2]);
        assert_eq!(agent(Some("n1"), here), agent(Some("n1"), there));
        assert_ne!(agent(Some("n1"), here), agent(Some("n2"), here));
        assert_ne!(agent(None, here), agent(None, there));
    }
}
