//! Heartbeats: what the leader hears of the member, and what its answers say of the connection.

use std::mem;
use std::time::Duration;

use antrea_kit::backoff::jitter;
use antrea_kit::kube_client::{Trouble, status_code};
use antrea_kit::logging::chain;
use antrea_shared_api::multicluster::condition_type::{ANNOUNCE_REFUSED, EXPORT_LIMIT};
use antrea_shared_api::multicluster::contested;
use antrea_shared_api::multicluster::v1alpha1::MemberClusterAnnounce;
use ipnet::IpNet;
use jiff::Timestamp;
use kube::Client;
use tokio::time::error::Elapsed;
use tokio::time::timeout;
use tracing::{debug, info, warn};

use super::{Connection, Facts, HEARTBEAT, PATIENCE};
use crate::condition::Condition;
use crate::export::ExportedPods;
use crate::leader::announce::{announce, refused, send, told, touch};
use crate::leader::identity::{is_anothers, own_uid};
use crate::leader::pods::{heard, unheard};
use crate::leader::{Class, Fault, Link, Target};

/// How many heartbeats are lost before the leader counts as away; and then, lost in another way, before that is told.
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
    /// The networks that it has written down as those of this cluster.
    pub(super) own: Vec<String>,
}

impl Heard {
    /// Before it has said anything.
    pub(super) fn nothing(facts: &Facts) -> Self {
        Self { told: Vec::new(), pods: unheard(facts), nodes: None, own: Vec::new() }
    }

    fn of(answer: &MemberClusterAnnounce, pods: Option<ExportedPods>, nodes: Option<Vec<IpNet>>) -> Self {
        let networks = answer.status.iter().flat_map(|status| &status.networks);
        let own = networks.filter(|held| held.former_since.is_none()).map(|held| held.cidr.clone());
        Self { told: told(answer), pods, nodes, own: own.collect() }
    }

    /// What differs when the leader takes something else of this cluster. Sentences about networks name claims of others, which
    /// these may change at any time.
    fn taken(&self) -> (Vec<[&str; 4]>, &[String], Option<&[IpNet]>) {
        let is_of_others =
            |said: &&Condition| [contested::NETWORK, contested::GATEWAY].contains(&said.reason.as_str());
        let conditions = self.told.iter().filter(|said| !is_of_others(said)).map(|said| {
            let message = if said.condition_type == EXPORT_LIMIT { said.message.as_str() } else { "" };
            [said.condition_type, &said.status, &said.reason, message]
        });
        (conditions.collect(), &self.own, self.pods.as_ref().map(|pods| pods.networks.as_slice()))
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
                (Link::Connected, Some(Heard::of(&answer, pods, nodes)))
            }
            Err(error) if is_anothers(&error, leader, target, uid).await => {
                (Link::Taken(Fault::of(&error).class().to_string()), None)
            }
            Err(error) => {
                let lost = judge(&error, target, now);
                let heard = self.touch(&sent, nodes, &error).await;
                (heard.as_ref().map_or(lost, |_| Link::Connected), heard)
            }
        }
    }

    /// The leader has not taken a heartbeat. Where it refuses what this cluster says of itself, it hears all the same that the
    /// cluster is alive: what it does not take is no reason to give up what it took before.
    async fn touch(
        &self,
        sent: &MemberClusterAnnounce,
        nodes: Option<Vec<IpNet>>,
        error: &anyhow::Error,
    ) -> Option<Heard> {
        let Trouble::Refused(why) = Trouble::of(error) else { return None };
        let answer = touch(&self.leader, sent).await.ok()?;
        let pods = nodes.as_ref().map(|_| heard(&self.facts, &answer, &answer));
        let mut heard = Heard::of(&answer, pods, nodes);
        heard.told.push(refused(&why));
        Some(heard)
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

    /// Takes in what the leader says. Whether it says or takes something else than before.
    fn hear(&mut self, heard: Heard) -> bool {
        let before = mem::replace(&mut self.heard, heard);
        let says_otherwise = (&before.told, &before.pods) != (&self.heard.told, &self.heard.pods);
        let takes_otherwise = before.taken() != self.heard.taken();
        self.answer_revision += u64::from(takes_otherwise);
        let refused = self.heard.told.iter().find(|said| said.condition_type == ANNOUNCE_REFUSED);
        if let Some(refused) = refused.filter(|_| says_otherwise) {
            warn!(reason = refused.message.as_str(), "What this cluster announces is refused");
        }
        says_otherwise || takes_otherwise
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

    /// Whether to tell that the last so many heartbeats fared like this. One that is lost is no news, nor are
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

    /// Whether Nodes name other networks than the leader was told of last, while it takes heartbeats. After one that it has not
    /// taken the next one is not sent at once: three of them would be lost in a moment.
    pub(super) fn is_behind(&self) -> bool {
        let takes_heartbeats = self.link == Link::Connected && self.lost == 0;
        takes_heartbeats && self.heard.nodes != self.facts.exported_of_nodes()
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
mod tests;
