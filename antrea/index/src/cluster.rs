//! The state of the cluster, one file a kind, with a journal of what changed since the last settle.

pub(crate) mod groups;
pub(crate) mod namespaces;
pub(crate) mod nodes;
pub(crate) mod pods;
pub(crate) mod policies;
pub(crate) mod roles;

use crate::Index;

/// A kind of object that goes into the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// v1 Namespace.
    Namespace,
    /// v1 Pod.
    Pod,
    /// networking.k8s.io/v1 NetworkPolicy.
    NetworkPolicy,
}

/// Which list of all objects an object was last seen in: those before the current one are gone when it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Listing(u16);

impl Listing {
    fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

impl Index {
    /// All objects of a kind will be applied, once more or for the first time, as at the start of a watch.
    pub fn start_reset(&mut self, kind: Kind) {
        let listing = self.listing(kind);
        *listing = listing.next();
    }

    /// They have been: deletes those that were not.
    pub fn finish_reset(&mut self, kind: Kind) {
        match kind {
            Kind::Namespace => self.drop_unlisted_namespaces(),
            Kind::Pod => self.drop_unlisted_pods(),
            Kind::NetworkPolicy => self.drop_unlisted_policies(),
        }
    }

    fn listing(&mut self, kind: Kind) -> &mut Listing {
        match kind {
            Kind::Namespace => &mut self.namespaces.listing,
            Kind::Pod => &mut self.pods.listing,
            Kind::NetworkPolicy => &mut self.policies.listing,
        }
    }
}
