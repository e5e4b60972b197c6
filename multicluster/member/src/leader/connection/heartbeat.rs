//! Heartbeats: what the leader hears of the member, and what its answers say of the connection.

use std::mem;
use std::time::Duration;

use antrea_kit::backoff::jitter;
use antrea_kit::kube_client::{Trouble, status_code};
use antrea_kit::logging::chain;
use ipnet::IpNet;
use jiff::Timestamp;
use kube::Client;
use tokio::time::error::Elapsed;
use tokio::time::timeout;
use tracing::{debug, info, warn};

use super::{Connection, Facts, HEARTBEAT, PATIENCE};
use crate::condition::Condition;
use crate::export::ExportedPods;
use crate::leader::announce::{announce, send, told};
use crate::leader::identity::{is_anothers, own_uid};
use crate::leader::pods::{heard, unheard};
use crate::leader::{Class, Fault, Link, Target};

/// How many heartbeats are lost before the leader counts as away, and then, in another way, before that one is told.
const LOST: u32 = 3;
/// After this many consecutive heartbeats without any answer, watches are presumed stalled as well.
const SILENT: u32 = 2;

/// A heartbeat before it is sent.
struct Heartbeat {
    local: Client,
    leader: Client,
    target: Target,
    facts: Facts,
    /// Of this cluster, once it was read.
    uid: Option<String>,
}

/// What came of a heartbeat.
pub(super) struct Beat {
    /// Of this cluster, if it is known.
    uid: Option<String>,
    link: Link,
    /// What the leader says of our networks, if it has taken the heartbeat.
    heard: Option<Heard>,
}

/// What the leader says of our networks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Heard {
    /// To users.
    pub(super) told: Vec<Condition>,
    /// Of Pods; nothing before it has heard of their networks.
    pub(super) pods: Option<ExportedPods>,
    /// The networks of Nodes that it was told of, if they were known.
    pub(super) nodes: Option<Vec<IpNet>>,
}

impl Heard {
    /// Before it has said anything.
    pub(super) fn nothing(facts: &Facts) -> Self {
        Self { told: Vec::new(), pods: unheard(facts), nodes: None }
    }
}

impl Heartbeat {
    async fn run(self) -> Beat {
        let uid = match self.uid.clone() {
            Some(uid) => uid,
            None => match timeout(PATIENCE, own_uid(&self.local)).await {
                Ok(Ok(uid)) => uid,
                Ok(Err(error)) => return Beat::lost(unknown_uid(&error)),
                Err(late) => return Beat::lost(unknown_uid(&late.into())),
            },
        };
        let sent = timeout(PATIENCE, self.send(&uid)).await;
        let (link, heard) = sent.unwrap_or_else(|late| (Link::Disconnected(silence(late)), None));
        Beat { uid: Some(uid), link, heard }
    }

    /// How the connection fares, and what the leader says of our networks.
    async fn send(&self, uid: &str) -> (Link, Option<Heard>) {
        let Self { leader, target, facts, .. } = self;
        let (now, nodes) = (Timestamp::now(), facts.exported_of_nodes());
        let sent = announce(target, facts, (uid, nodes.as_deref().unwrap_or_default()), now);
        match send(leader, &sent, nodes.is_some()).await {
            Ok(answer) => {
                let pods = nodes.as_ref().map(|_| heard(facts, &sent, &answer));
                let heard = Heard { told: told(&answer), pods, nodes };
                (Link::Connected, Some(heard))
            }
            Err(error) if is_anothers(&error, leader, target, uid).await => {
                (Link::Taken(Fault::of(&error).class().to_string()), None)
            }
            Err(error) => (judge(&error, target, now), None),
        }
    }
}

impl Beat {
    const fn lost(fault: Fault) -> Self {
        Self { uid: None, link: Link::Disconnected(fault), heard: None }
    }

    /// Whether nobody has answered.
    fn is_silent(&self) -> bool {
        matches!(&self.link, Link::Disconnected(fault) if *fault.class() == Class::Trouble(Trouble::Silent))
    }
}

impl Connection {
    /// Begins a heartbeat, unless there is no way to the leader or one is under way.
    pub(super) fn beat(&mut self) {
        let Some((target, leader)) = self.joined.clone().filter(|_| self.beats.is_empty()) else { return };
        let (local, facts, uid) = (self.local.clone(), self.facts.clone(), self.uid.clone());
        self.beats.push(Box::pin(Heartbeat { local, leader, target, facts, uid }.run()));
    }

    /// Takes in what came of a heartbeat.
    pub(super) fn beaten(&mut self, beat: Beat) {
        let silent = if beat.is_silent() { self.silent + 1 } else { 0 };
        let was_silent = mem::replace(&mut self.silent, silent) >= SILENT;
        let Beat { uid, link, heard } = beat;
        self.uid = uid.or_else(|| self.uid.take());
        let says_otherwise = heard.is_some_and(|heard| self.hear(heard));
        if was_silent && link == Link::Connected {
            // TCP doubles its retransmission time-out, up to two minutes: after a partition, events on the old connections may be
            // delayed by as long as the partition lasted.
            self.begin_again();
        } else {
            self.fared(link);
        }
        if says_otherwise {
            self.publish();
        }
    }

    /// Takes in what the leader says. Whether it says something else of our networks than before.
    fn hear(&mut self, heard: Heard) -> bool {
        let before = mem::replace(&mut self.heard, heard);
        let says_otherwise = (&before.told, &before.pods) != (&self.heard.told, &self.heard.pods);
        self.said += u64::from(says_otherwise);
        says_otherwise
    }

    /// Takes in how a heartbeat fared, and tells the other components where that is news.
    fn fared(&mut self, link: Link) {
        self.lost = if link == Link::Connected { 0 } else { self.lost + 1 };
        let alike = self.fared.take().filter(|(before, _)| *before == link);
        let times = alike.map_or(1, |(_, times)| times + 1);
        if link != self.link && self.is_news(&link, times) {
            match (&link, link.fault()) {
                (Link::Disconnected(fault), _) => {
                    warn!(reason = fault.text(), "Disconnected from the leader");
                }
                (_, Some(why)) => warn!(reason = %why, "Disconnected from the leader"),
                (_, None) => info!("Connected to the leader"),
            }
            self.link = link.clone();
            self.publish();
        } else if let Link::Disconnected(fault) = &link {
            debug!(reason = fault.text(), "The leader has not taken a heartbeat");
        }
        self.fared = Some((link, times));
    }

    /// Whether it is told that so many heartbeats, the last ones, fared like this. One that is lost is no news, nor are
    /// several that are lost now in one way and now in another. A refusal is.
    fn is_news(&self, link: &Link, times: u32) -> bool {
        match (&self.link, link) {
            (Link::Connected, Link::Disconnected(_)) => self.lost >= LOST,
            (Link::Disconnected(_) | Link::Taken(_) | Link::Expired { .. }, Link::Disconnected(fault)) => {
                fault.class().lasts() || times >= LOST
            }
            _ => true,
        }
    }

    /// When the leader is to hear of the member again: soon, where it has not taken the last heartbeat.
    pub(super) fn next_beat(&mut self) -> Duration {
        if self.link == Link::Connected {
            self.retries.reset();
            return if self.is_behind() { Duration::ZERO } else { HEARTBEAT };
        }
        self.retries.wait(jitter())
    }

    /// Whether Nodes name other networks than the leader was told of last, while it takes heartbeats.
    pub(super) fn is_behind(&self) -> bool {
        self.link == Link::Connected && self.heard.nodes != self.facts.exported_of_nodes()
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
    use std::future::pending;
    use std::io;

    use antrea_mc_core::addresses::EndpointAddresses;
    use futures::StreamExt;
    use hyper::Response;
    use kube::client::Body;
    use rustls::CertificateError::ExpiredContext;
    use rustls::pki_types::UnixTime;
    use tokio::sync::watch;
    use tower::service_fn;

    use super::*;
    use crate::export::{Networks, PodNetworks};
    use crate::leader::{Credentials, Leader};

    const BLAME: &str = r#"{"metadata": {"name": "member-announce-from-west"}, "status": {"conditions": [{"type": "Conflict", "status": "True", "reason": "NetworkRefused", "message": "10.2.0.0/24 is of cluster east"}]}}"#;

    /// What becomes of a heartbeat.
    #[derive(Clone, Copy)]
    enum Fate {
        Taken,
        Refused,
        Failed,
        Silence,
        /// Taken, and the leader says that networks are another's.
        Blamed,
        /// The certificate of the leader has expired, which is found out at this second.
        Expired(u64),
    }

    fn leader(fate: Fate) -> Client {
        let service = service_fn(move |_: hyper::Request<Body>| async move {
            let (code, body) = match fate {
                Fate::Taken => (200, r#"{"metadata": {"name": "member-announce-from-west"}}"#),
                Fate::Blamed => (200, BLAME),
                Fate::Refused => (403, "not yours"),
                Fate::Failed => (500, "in trouble"),
                Fate::Silence => pending().await,
                Fate::Expired(second) => return Err(io::Error::other(expired(second))),
            };
            let answer = Response::builder().status(code).body(Body::from(body.as_bytes().to_vec()));
            Ok::<_, io::Error>(answer.unwrap())
        });
        Client::new(service, "default")
    }

    fn expired(second: u64) -> rustls::Error {
        let time = |second| UnixTime::since_unix_epoch(Duration::from_secs(second));
        rustls::Error::InvalidCertificate(ExpiredContext { time: time(second), not_after: time(0) })
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

    /// There is a way wherever no certificates are named.
    fn connect(target: &Target) -> anyhow::Result<Client> {
        anyhow::ensure!(target.credentials.ca.is_none(), "there is no certificate");
        Ok(leader(Fate::Taken))
    }

    fn connection() -> (Connection, watch::Receiver<Leader>) {
        let networks = Networks { service_cidrs: Vec::new(), pod_cidrs: Vec::new() };
        let (addresses, version) = (EndpointAddresses::ClusterIps, "v0".to_owned());
        let (pods, nodes) = (PodNetworks::Named, watch::channel(None).1);
        let facts = Facts { networks, pods, nodes, addresses, version };
        let (known, seen) = watch::channel(Leader::Unknown);
        let mut connection =
            Connection::new(leader(Fate::Failed), "kube-system".to_owned(), facts, connect, known);
        connection.uid = Some("west-uid".to_owned());
        assert!(connection.begin(target()));
        (connection, seen)
    }

    async fn beat(connection: &mut Connection, fate: Fate) {
        connection.joined = Some((target(), leader(fate)));
        connection.beat();
        let beat = connection.beats.next().await.unwrap();
        connection.beaten(beat);
    }

    /// The connection after heartbeats that fared like this, and how often the other components were told of it.
    async fn beaten(fates: &[Fate]) -> (Connection, u32) {
        let (mut connection, mut seen) = connection();
        let mut told = 0;
        for fate in fates {
            seen.mark_unchanged();
            beat(&mut connection, *fate).await;
            told += u32::from(seen.has_changed().unwrap());
        }
        (connection, told)
    }

    /// The number of the connection after heartbeats that fared like this.
    async fn number(fates: &[Fate]) -> u64 {
        beaten(fates).await.0.number
    }

    #[tokio::test(start_paused = true)]
    async fn watches_begin_anew_when_a_leader_answers_after_a_silence() {
        use Fate::{Failed, Silence, Taken};
        assert_eq!(number(&[Taken, Silence, Silence, Taken, Taken]).await, 2);
        assert_eq!(number(&[Taken, Silence, Silence, Silence]).await, 1, "it does not answer");
        assert_eq!(number(&[Taken, Silence, Taken, Silence, Taken]).await, 1, "one may be lost");
        assert_eq!(number(&[Taken, Silence, Failed, Taken]).await, 1, "a failure is an answer");
        assert_eq!(number(&[Taken, Failed, Failed, Failed, Taken]).await, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn the_other_components_are_told_when_the_leader_says_something_else_of_networks() {
        use Fate::{Blamed, Silence, Taken};
        let (connection, told) = beaten(&[Taken, Blamed, Blamed, Silence, Taken, Taken]).await;
        assert_eq!((connection.said, told), (2, 3), "connected, blamed, and not any more");
    }

    #[tokio::test(start_paused = true)]
    async fn the_connection_goes_on_while_the_secret_cannot_be_used() {
        use Fate::{Silence, Taken};
        let (mut connection, _seen) = connection();
        let credentials = Credentials { ca: Some(b"none".to_vec()), token: "token".to_owned() };
        assert!(!connection.begin(Target { credentials, ..target() }));
        for fate in [Taken, Taken, Silence, Silence, Taken, Taken] {
            beat(&mut connection, fate).await;
            assert_eq!(connection.no_way.as_deref(), Some("there is no certificate"));
        }
        assert_eq!((&connection.link, connection.number), (&Link::Connected, 2));
        assert!(connection.begin(target()));
        assert_eq!(connection.no_way, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_certificate_that_has_expired_is_told_once() {
        let (connection, told) = beaten(&(1..=6).map(Fate::Expired).collect::<Vec<_>>()).await;
        assert_eq!(told, 1);
        let why = connection.link.fault().unwrap().to_string();
        assert_eq!(why, "TLS: the certificate of the leader's API server has expired");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_in_the_way_is_told_again_when_it_lasts() {
        use Fate::{Failed, Refused, Silence, Taken};
        let told = async |fates: &[Fate]| beaten(fates).await.1;
        assert_eq!(told(&[Failed, Silence, Failed, Silence, Failed, Silence]).await, 1, "they take turns");
        assert_eq!(told(&[Failed, Silence, Silence]).await, 1);
        assert_eq!(told(&[Failed, Silence, Silence, Silence, Silence]).await, 2);
        assert_eq!(told(&[Failed, Refused]).await, 2, "somebody has to mend it");
        assert_eq!(told(&[Taken, Silence, Failed, Silence, Failed]).await, 2, "connected, and away");
        assert_eq!(told(&[Failed, Silence, Taken]).await, 2, "the leader is back");
    }
}
