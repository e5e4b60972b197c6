//! Which leader there is a connection to: that of the ClusterSet, with the credentials of the Secret.

use antrea_kit::logging::chain;
use antrea_mc_core::ids::ClusterId;
use kube::Client;
use tracing::{info, warn};

use super::Connection;
use super::heartbeat::Heard;
use crate::leader::{Class, Fault, Leader, Link, Renewal, Target, Wish, leaving, wish};

impl Connection {
    /// Follows ClusterSet and Secret. Whether there is a new connection.
    pub(super) fn follow(&mut self) -> bool {
        let begins = self.follow_wish();
        match leaving(&self.objects, &self.namespace, self.token_secret.as_deref()) {
            Some((set, Ok(target))) => self.farewells.begin_for(&set, target),
            Some((set, Err(_))) => self.farewells.go_on_for(&set),
            None => {}
        }
        begins
    }

    fn follow_wish(&mut self) -> bool {
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
                self.no_way = None;
                self.former = self.joined.take().map(|(target, _)| target).or_else(|| self.former.take());
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
        let before = self.joined.as_ref().map(|(target, _)| target).or(self.former.as_ref());
        if before.is_some_and(|before| !before.is_same_area(&target)) {
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
        self.farewells.end(&target);
        self.former = None;
        self.joined = Some((target, client));
        self.publish();
    }

    /// Begins to tell the leader that we leave. Nothing else waits for it.
    fn leave(&mut self) {
        (self.link, self.no_way) = (Link::Connecting, None);
        self.heard = Heard::nothing(&self.facts);
        self.beats.clear();
        let joined = self.joined.take().map(|(target, _)| target);
        if let Some(target) = joined.or_else(|| self.former.take()) {
            self.farewells.begin(target);
        }
    }
}
