//! How many watches and other requests one client has at the same time: a token that was stolen fills the controller with no more.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use antrea_kit::auth::Holder;

/// How many watches one client has at most. An agent has three, and while it follows another controller six.
const WATCHES: usize = 48;

/// How many other requests of one client are read or answered at the same time: each can have a body of megabytes, or an answer of
/// that size that nobody fetches.
const REQUESTS: usize = 8;

/// The places that are taken, by who has them. Copies are the same.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    most: usize,
    taken: Arc<Mutex<BTreeMap<Arc<Holder>, usize>>>,
}

/// A place, until this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    places: Places,
    holder: Arc<Holder>,
}

impl Places {
    pub(crate) fn for_watches() -> Self {
        Self::new(WATCHES)
    }

    pub(crate) fn for_requests() -> Self {
        Self::new(REQUESTS)
    }

    fn new(most: usize) -> Self {
        Self { most, taken: Arc::default() }
    }

    /// A place for one more; nothing when its holder has too many.
    pub(crate) fn take(&self, holder: &Arc<Holder>) -> Option<Place> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.entry(Arc::clone(holder)).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        drop(taken);
        Some(Place { places: self.clone(), holder: Arc::clone(holder) })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.holder) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.holder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use antrea_kit::auth::{Identity, User};

    use super::*;

    #[test]
    fn a_holder_has_so_many_and_others_have_as_many() {
        let (places, user) = (Places::new(3), Identity::User(Arc::new(User::default())));
        let holder = |host| Arc::new(Holder::of(&user, Some([10, 0, 0, host].into())));
        let mut held: Vec<_> = (0..3).map(|_| places.take(&holder(1)).unwrap()).collect();
        assert!(places.take(&holder(1)).is_none());
        assert!(places.take(&holder(2)).is_some());
        held.pop();
        assert!(places.take(&holder(1)).is_some());
        drop(held);
        assert!(places.taken.lock().unwrap().is_empty());
    }
}
