//! Which leader there is a connection to: that of the ClusterSet, with the credentials of the Secret.

use antrea_kit::logging::chain;
use tokio::time::timeout;
use tracing::{info, warn};

use super::{Connection, PATIENCE};
use crate::leader::identity::say_goodbye;
use crate::leader::{Leader, Link, Renewal, Target, Wish, wish};

impl Connection {
    /// Follows ClusterSet and Secret. Whether there is a new connection.
    pub(super) fn follow(&mut self) -> bool {
        let wish = wish(&self.objects, &self.namespace, self.token_secret.as_deref());
        if wish == self.wish {
            return false;
        }
        self.wish.clone_from(&wish);
        match wish {
            None => false,
            Some(Wish::Leave) => {
                info!("This cluster is in no ClusterSet");
                self.leave();
                self.leader.send_replace(Leader::None);
                false
            }
            Some(Wish::Incomplete(cluster, why)) => {
                warn!(reason = why, "No way to the leader");
                self.link = Link::Disconnected(why.clone());
                self.joined = None;
                if let Some(cluster) = cluster {
                    self.leader.send_replace(Leader::Away(cluster, why));
                }
                false
            }
            Some(Wish::Join(target)) => self.join(target),
        }
    }

    /// Begins a connection. Whether there is a way to the leader.
    pub(super) fn join(&mut self, target: Target) -> bool {
        if self.joined.as_ref().is_some_and(|(before, _)| !before.is_same_area(&target)) {
            self.leave();
        }
        let client = match (self.connect)(&target) {
            Ok(client) => client,
            Err(error) => {
                let why = chain(error.as_ref()).to_string();
                warn!(reason = why, "No way to the leader");
                self.link = Link::Disconnected(why.clone());
                self.leader.send_replace(Leader::Away(target.cluster, why));
                return false;
            }
        };
        info!(cluster = %target.cluster, leader = target.leader, server = target.server, "Connecting to the leader");
        self.number += 1;
        (self.link, self.lost, self.silent) = (Link::Connecting, 0, 0);
        self.renewal = Renewal::default();
        self.retries.reset();
        self.joined = Some((target, client));
        self.publish();
        true
    }

    /// Tells the leader that we leave. Nothing waits for it: a leader that is away learns it by the silence.
    fn leave(&mut self) {
        (self.link, self.conflict) = (Link::Connecting, None);
        let Some((target, client)) = self.joined.take() else { return };
        let local = self.local.clone();
        tokio::spawn(async move {
            match timeout(PATIENCE, say_goodbye(&local, &client, &target)).await {
                Ok(Ok(true)) => info!(leader = target.leader, "Left the ClusterSet"),
                Ok(Ok(false)) => {
                    info!(leader = target.leader, "The leader does not have this cluster as a member");
                }
                Ok(Err(error)) => {
                    warn!(leader = target.leader, error = %chain(error.as_ref()), "The leader was not told that we leave");
                }
                Err(_) => warn!(
                    leader = target.leader,
                    "The leader does not answer, and was not told that we leave"
                ),
            }
        });
    }
}
