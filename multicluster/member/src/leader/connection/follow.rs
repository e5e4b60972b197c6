//! Which leader there is a connection to: that of the ClusterSet, with the credentials of the Secret.

use antrea_kit::logging::chain;
use antrea_mc_core::ids::ClusterId;
use kube::Client;
use tokio::time::timeout;
use tracing::{info, warn};

use super::heartbeat::Heard;
use super::{Connection, PATIENCE};
use crate::leader::identity::say_goodbye;
use crate::leader::{Class, Fault, Leader, Link, Renewal, Target, Wish, wish};

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
            Some(Wish::Incomplete { cluster, area, why }) => {
                warn!(reason = why, "No way to the leader");
                (self.joined, self.no_way) = (None, None);
                self.beats.clear();
                self.give_up(cluster, area, why);
                false
            }
            Some(Wish::Join(target)) => self.begin(target),
        }
    }

    /// Begins a connection by what ClusterSet and Secret say now, or goes on with the one that there is. Whether it is
    /// another one.
    pub(super) fn begin(&mut self, target: Target) -> bool {
        self.no_way = None;
        if self.joined.as_ref().is_some_and(|(before, _)| !before.is_same_area(&target)) {
            self.leave();
        }
        match (self.connect)(&target) {
            Ok(client) => {
                self.join(target, client);
                true
            }
            Err(error) => {
                let why = chain(error.as_ref());
                warn!(reason = why, "No way to the leader");
                match self.joined {
                    Some(_) => self.no_way = Some(why),
                    None => self.give_up(Some(target.cluster), target.area, why),
                }
                false
            }
        }
    }

    /// There is no way to the leader before this is mended.
    fn give_up(&mut self, cluster: Option<ClusterId>, area: String, why: String) {
        self.link = Link::Disconnected(Fault::no_way(why.clone()));
        if let Some(cluster) = cluster {
            self.leader.send_replace(Leader::Away { cluster, area, why: Class::NoWay(why) });
        }
    }

    /// Begins another connection in the place of the one that there is.
    pub(super) fn begin_again(&mut self) {
        let Some((target, _)) = self.joined.clone() else { return };
        if let Ok(client) = (self.connect)(&target) {
            self.join(target, client);
        }
    }

    fn join(&mut self, target: Target, client: Client) {
        info!(cluster = %target.cluster, leader = target.leader, server = target.server, "Connecting to the leader");
        self.number += 1;
        (self.link, self.lost, self.fared, self.silent) = (Link::Connecting, 0, None, 0);
        self.renewal = Renewal::default();
        self.retries.reset();
        // The new connection does not wait for what the old one is asked.
        self.beats.clear();
        self.joined = Some((target, client));
        self.publish();
    }

    /// Tells the leader that we leave. Nothing waits for it: a leader that is away learns it by the silence.
    fn leave(&mut self) {
        (self.link, self.no_way) = (Link::Connecting, None);
        self.heard = Heard::nothing(&self.facts);
        self.beats.clear();
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
