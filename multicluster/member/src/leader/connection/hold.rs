//! The finalizer of the ClusterSet that this cluster joins by.

use antrea_kit::logging::chain;
use anyhow::Result;
use tracing::warn;

use super::{Connection, in_time};
use crate::kind::Kind;
use crate::leader::Wish;
use crate::leader::leaving::hold;
use crate::objects::Key;
use crate::send::{Clients, Outcome};

impl Connection {
    /// Begins to put the finalizer on the ClusterSet, unless it is there or under way. Heartbeats do not wait for it.
    pub(super) fn hold(&mut self) {
        let Some(Wish::Join(target)) = self.wish.as_ref().filter(|_| self.holds.is_empty()) else { return };
        let key = Key::new(Kind::ClusterSet, &self.namespace, &target.set);
        let Some(action) = self.objects.get(&key).and_then(|set| hold(&key, set)) else { return };
        let clients = Clients::new(self.local.clone());
        self.holds.push(Box::pin(async move { in_time(clients.send(&action)).await }));
    }

    /// Takes in what became of it. What failed is tried again after the next heartbeat.
    pub(super) fn held(&mut self, answer: Result<Outcome>) {
        match answer {
            Ok(Outcome::Is(kind, object) | Outcome::Changed(kind, object)) => {
                self.objects.insert(kind, object);
            }
            Ok(Outcome::Gone(_)) => {}
            Err(error) => {
                warn!(error = %chain(error.as_ref()), "ClusterSet has no finalizer yet; the leader may not hear of its end");
            }
        }
    }
}
