//! Heartbeats: what the leader hears of the member, and what its answers say of the connection.

use std::mem;
use std::time::Duration;

use antrea_kit::backoff::jitter;
use antrea_kit::kube_client::status_code;
use antrea_kit::logging::chain;
use jiff::Timestamp;
use kube::Client;
use tokio::time::error::Elapsed;
use tokio::time::timeout;
use tracing::{info, warn};

use super::{Connection, HEARTBEAT, PATIENCE};
use crate::leader::announce::{announce, conflict, send};
use crate::leader::identity::{is_anothers, own_uid};
use crate::leader::{Class, Fault, Link, Target};

/// How many heartbeats are lost before the leader counts as away.
const LOST: u32 = 3;
/// After this many consecutive heartbeats without any answer, watches are presumed stalled as well.
const SILENT: u32 = 2;

impl Connection {
    pub(super) async fn beat(&mut self) {
        let Some((target, client)) = self.joined.clone() else { return };
        let now = Timestamp::now();
        let sent = timeout(PATIENCE, self.announce(&target, &client, now)).await;
        let silent = if sent.is_err() { self.silent + 1 } else { 0 };
        let was_silent = mem::replace(&mut self.silent, silent) >= SILENT;
        let link = sent.unwrap_or_else(|late| Link::Disconnected(silence(late)));
        if was_silent && link == Link::Connected {
            // TCP doubles its retransmission time-out, up to two minutes: after a partition, events on the old connections may be
            // delayed by as long as the partition lasted.
            self.join(target);
            return;
        }
        self.lost = if link == Link::Connected { 0 } else { self.lost + 1 };
        // One lost heartbeat is no news. A refusal is.
        let is_news = self.lost == 0
            || self.lost >= LOST
            || self.link != Link::Connected
            || matches!(link, Link::Expired { .. } | Link::Taken(_));
        if is_news && link != self.link {
            match (&link, link.fault()) {
                (Link::Disconnected(fault), _) => {
                    warn!(reason = fault.text(), "Disconnected from the leader");
                }
                (_, Some(why)) => warn!(reason = %why, "Disconnected from the leader"),
                (_, None) => info!("Connected to the leader"),
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
                Err(error) => return Link::Disconnected(unknown_uid(&error)),
            },
        };
        match send(client, &announce(target, &self.facts, &uid, now)).await {
            Ok(answer) => {
                self.conflict = conflict(&answer);
                Link::Connected
            }
            Err(error) if is_anothers(&error, client, target, &uid).await => {
                Link::Taken(Fault::of(&error).class().to_string())
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
        _ => Link::Disconnected(Fault::of(error)),
    }
}

fn silence(late: Elapsed) -> Fault {
    Fault::of(&anyhow::Error::from(late).context(format!("the leader did not answer within {PATIENCE:?}")))
}

/// It is our own API server that does not answer.
fn unknown_uid(error: &anyhow::Error) -> Fault {
    let why = "Namespace kube-system of this cluster cannot be read".to_owned();
    Fault::new(Class::NoWay(why), chain(error.as_ref()))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::pending;

    use antrea_mc_core::addresses::EndpointAddresses;
    use hyper::Response;
    use kube::client::Body;
    use tokio::sync::watch;
    use tower::service_fn;

    use super::super::Facts;
    use super::*;
    use crate::export::Networks;
    use crate::leader::{Credentials, Leader};

    /// What becomes of a heartbeat.
    #[derive(Clone, Copy)]
    enum Fate {
        Taken,
        Refused,
        Silence,
    }

    fn leader(fate: Fate) -> Client {
        let service = service_fn(move |_: hyper::Request<Body>| async move {
            let (code, body) = match fate {
                Fate::Taken => (200, r#"{"metadata": {"name": "member-announce-from-west"}}"#),
                Fate::Refused => (500, "{}"),
                Fate::Silence => pending().await,
            };
            let answer = Response::builder().status(code).body(Body::from(body.as_bytes().to_vec()));
            Ok::<_, Infallible>(answer.unwrap())
        });
        Client::new(service, "default")
    }

    fn target() -> Target {
        Target {
            set: "set".to_owned(),
            cluster: "west".parse().unwrap(),
            leader: "east".to_owned(),
            area: "area".to_owned(),
            server: "https://east".to_owned(),
            secret: "token".to_owned(),
            credentials: Credentials { ca: None, token: "token".to_owned() },
        }
    }

    /// The number of the connection after heartbeats that fared like this.
    async fn check(fates: &[Fate]) -> u64 {
        let networks = Networks { service_cidrs: Vec::new(), pod_cidrs: Vec::new() };
        let (addresses, version) = (EndpointAddresses::ClusterIps, "v0".to_owned());
        let facts = Facts { networks, addresses, version };
        let (known, _) = watch::channel(Leader::Unknown);
        let connect = |_: &Target| Ok(leader(Fate::Taken));
        let mut connection =
            Connection::new(leader(Fate::Refused), "kube-system".to_owned(), facts, connect, known);
        connection.uid = Some("west-uid".to_owned());
        connection.join(target());
        for fate in fates {
            connection.joined = Some((target(), leader(*fate)));
            connection.beat().await;
        }
        connection.number
    }

    #[tokio::test(start_paused = true)]
    async fn watches_begin_anew_when_a_leader_answers_after_a_silence() {
        use Fate::{Refused, Silence, Taken};
        assert_eq!(check(&[Taken, Silence, Silence, Taken, Taken]).await, 2);
        assert_eq!(check(&[Taken, Silence, Silence, Silence]).await, 1, "it does not answer");
        assert_eq!(check(&[Taken, Silence, Taken, Silence, Taken]).await, 1, "one may be lost");
        assert_eq!(check(&[Taken, Silence, Refused, Taken]).await, 1, "a refusal is an answer");
        assert_eq!(check(&[Taken, Refused, Refused, Refused, Taken]).await, 1);
    }
}
