//! How many watches one client has at the same time: a token that was stolen fills the controller with no more.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use antrea_kit::auth::Identity;

/// How many one client has at most. An agent has three, and while it follows another controller six.
const MOST: usize = 48;

/// The claim of a Pod's token that says which Node the Pod is on.
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";

/// The watches that there are, by who has them. Copies are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct WatchPlaces(Arc<Mutex<BTreeMap<Holder, usize>>>);

/// Who has watches: agents are one user, but on Nodes of their own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Holder {
    user: String,
    whereabouts: String,
}

impl Holder {
    pub(crate) fn of(identity: &Identity, address: Option<IpAddr>) -> Self {
        let Identity::User(user) = identity else {
            return Self { user: String::new(), whereabouts: String::new() };
        };
        let node = user.extra.get(NODE_NAME).and_then(|names| names.first()).cloned();
        let address = || address.map(|address| address.to_string()).unwrap_or_default();
        Self { user: user.name.clone(), whereabouts: node.unwrap_or_else(address) }
    }
}

/// A place, until this is dropped.
#[derive(Debug)]
pub(crate) struct WatchPlace {
    places: WatchPlaces,
    holder: Holder,
}

impl WatchPlaces {
    /// A place for one more; nothing when its holder has too many.
    pub(crate) fn take(&self, holder: Holder) -> Option<WatchPlace> {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = places.entry(holder.clone()).or_default();
        if *count >= MOST {
            return None;
        }
        *count += 1;
        drop(places);
        Some(WatchPlace { places: self.clone(), holder })
    }
}

impl Drop for WatchPlace {
    fn drop(&mut self) {
        let mut places = self.places.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = places.get_mut(&self.holder) {
            *count -= 1;
            if *count == 0 {
                places.remove(&self.holder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use antrea_kit::auth::User;

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
    fn a_holder_has_so_many_and_others_have_as_many() {
        let places = WatchPlaces::default();
        let mut held: Vec<_> =
            (0..MOST).map(|_| places.take(agent(Some("n1"), [10, 0, 0, 1])).unwrap()).collect();
        assert!(places.take(agent(Some("n1"), [10, 0, 0, 2])).is_none(), "it is the Node that counts");
        assert!(places.take(agent(Some("n2"), [10, 0, 0, 1])).is_some());
        assert!(places.take(agent(None, [10, 0, 0, 1])).is_some(), "without a Node the address counts");
        held.pop();
        assert!(places.take(agent(Some("n1"), [10, 0, 0, 1])).is_some());
        drop(held);
        assert!(places.0.lock().unwrap().is_empty());
    }
}
