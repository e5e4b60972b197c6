//! Heartbeats: what the leader hears of the member, and what its answers say of the connection.

use std::time::Duration;

use antrea_kit::backoff::jitter;
use antrea_kit::kube_client::status_code;
use antrea_kit::logging::chain;
use jiff::Timestamp;
use kube::Client;
use tokio::time::timeout;
use tracing::{info, warn};

use super::{Connection, HEARTBEAT, PATIENCE};
use crate::leader::announce::{announce, conflict, send};
use crate::leader::identity::{is_anothers, own_uid};
use crate::leader::{Link, Target};

/// How many heartbeats are lost before the leader counts as away.
const LOST: u32 = 3;

impl Connection {
    pub(super) async fn beat(&mut self) {
        let Some((target, client)) = self.joined.clone() else { return };
        let now = Timestamp::now();
        let sent = timeout(PATIENCE, self.announce(&target, &client, now)).await;
        let link = sent
            .unwrap_or_else(|_| Link::Disconnected(format!("the leader did not answer within {PATIENCE:?}")));
        self.lost = if link == Link::Connected { 0 } else { self.lost + 1 };
        // One lost heartbeat is no news. A refusal is.
        let is_news = self.lost == 0
            || self.lost >= LOST
            || self.link != Link::Connected
            || matches!(link, Link::Expired { .. } | Link::Taken(_));
        if is_news && link != self.link {
            match link.fault() {
                Some(why) => warn!(reason = why, "Disconnected from the leader"),
                None => info!("Connected to the leader"),
            }
            self.link = link;
            self.publish();
        }
    }

    /// Sends a heartbeat, and says how the connection fares.
    async fn announce(&mut self, target: &Target, client: &Client, now: Timestamp) -> Link {
        let uid = match self.uid.clone() {
            Some(uid) => uid,
            None => match own_uid(&self.local).await {
                Ok(uid) => self.uid.insert(uid).clone(),
                Err(error) => return Link::Disconnected(chain(error.as_ref()).to_string()),
            },
        };
        match send(client, &announce(target, &self.facts, &uid, now)).await {
            Ok(answer) => {
                self.conflict = conflict(&answer);
                Link::Connected
            }
            Err(error) if is_anothers(&error, client, target, &uid).await => {
                Link::Taken(chain(error.as_ref()).to_string())
            }
            Err(error) => judge(&error, target, now),
        }
    }

    /// When the leader is to hear of the member again: soon, where it has not taken the last heartbeat.
    pub(super) fn next_beat(&mut self) -> Duration {
        if self.link == Link::Connected {
            self.retries.reset();
            return HEARTBEAT;
        }
        self.retries.wait(jitter())
    }
}

/// What a failed heartbeat means.
fn judge(error: &anyhow::Error, target: &Target, now: Timestamp) -> Link {
    let expired = target.credentials.expire().filter(|expired| *expired <= now);
    match expired {
        Some(since) if status_code(error) == Some(401) => {
            Link::Expired { since, secret: target.secret.clone(), command: target.token_command() }
        }
        _ => Link::Disconnected(chain(error.as_ref()).to_string()),
    }
}
