//! Keeps the connection: follows ClusterSet and Secret, sends heartbeats, says in the ClusterSet how they fare.

use std::sync::Arc;
use std::time::Duration;

use antrea_kit::backoff::{Backoff, jitter};
use antrea_kit::kube_client::status_code;
use antrea_kit::logging::chain;
use anyhow::{Context, Result};
use jiff::Timestamp;
use kube::Client;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

pub(crate) use super::announce::Facts;
use super::announce::{announce, conflict, send};
use super::identity::{is_anothers, own_uid, say_goodbye};
use super::token_request::TokenRenewal;
use super::{Joined, Leader, Link, Renewal, Said, Target, Wish, status, wish};
use crate::action::ensure_status;
use crate::condition::Condition;
use crate::kind::Kind;
use crate::objects::{Key, Objects, text};
use crate::send::Clients;
use crate::watches::{Told, Watched, Watcher};

/// How often the leader hears of the member.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// The longest that a heartbeat may take: less than the time to the next one.
const PATIENCE: Duration = Duration::from_secs(8);
/// How soon a heartbeat comes again that a leader has not taken which just starts, perhaps.
const FIRST_RETRY: Duration = Duration::from_millis(500);
/// How many heartbeats are lost before the leader counts as away.
const LOST: u32 = 3;

/// Where ways to leaders come from; tests have their own.
pub(crate) type Connect = fn(&Target) -> Result<Client>;

/// Runs until `stop`.
pub(crate) async fn run(
    local: Client,
    namespace: String,
    facts: Facts,
    token_lifetime: Duration,
    connect: Connect,
    leader: watch::Sender<Leader>,
    stop: CancellationToken,
) -> Result<()> {
    let (told, mut events): (mpsc::Sender<Told>, _) = mpsc::channel(64);
    let watches = stop.child_token();
    let _end = watches.clone().drop_guard();
    let watched = [Kind::ClusterSet, Kind::Secret].map(|kind| Watched::of(kind, &namespace));
    Watcher { connection: 0, told, stop: watches }.start(&local, &watched);
    let mut connection = Connection::new(local, namespace, facts, connect, leader);
    let mut renewals = JoinSet::new();
    let mut heartbeat = interval(HEARTBEAT);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            event = events.recv() => {
                let (kind, _, event) = event.context("the watches ended")?;
                connection.objects.learn(kind, event);
                if connection.follow() {
                    heartbeat.reset_immediately();
                }
            }
            _ = heartbeat.tick() => {
                connection.beat().await;
                heartbeat.reset_after(connection.next_beat());
                if renewals.is_empty() {
                    connection.renew(token_lifetime, &mut renewals);
                }
            }
            Some(renewed) = renewals.join_next() => connection.renewed(renewed?),
        }
        connection.report().await;
    }
}

struct Connection {
    local: Client,
    namespace: String,
    facts: Facts,
    connect: Connect,
    objects: Objects,
    /// The UID of this cluster, once it was read.
    uid: Option<String>,
    wish: Option<Wish>,
    joined: Option<(Target, Client)>,
    number: u64,
    link: Link,
    /// What the leader said last of our networks.
    conflict: Option<Condition>,
    /// How many heartbeats were lost since the last that was taken.
    lost: u32,
    /// Of heartbeats, while there is no connection.
    retries: Backoff,
    /// Of the present token.
    renewal: Renewal,
    leader: watch::Sender<Leader>,
}

impl Connection {
    fn new(
        local: Client,
        namespace: String,
        facts: Facts,
        connect: Connect,
        leader: watch::Sender<Leader>,
    ) -> Self {
        Self {
            local,
            namespace,
            facts,
            connect,
            objects: Objects::default(),
            uid: None,
            wish: None,
            joined: None,
            number: 0,
            link: Link::Connecting,
            conflict: None,
            lost: 0,
            retries: Backoff::new(FIRST_RETRY, HEARTBEAT),
            renewal: Renewal::default(),
            leader,
        }
    }

    /// Follows ClusterSet and Secret. Whether there is a new connection.
    fn follow(&mut self) -> bool {
        let wish = wish(&self.objects, &self.namespace);
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

    fn join(&mut self, target: Target) -> bool {
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
        (self.link, self.lost, self.renewal) = (Link::Connecting, 0, Renewal::default());
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

    async fn beat(&mut self) {
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
    fn next_beat(&mut self) -> Duration {
        if self.link == Link::Connected {
            self.retries.reset();
            return HEARTBEAT;
        }
        self.retries.wait(jitter())
    }

    /// Begins to renew the token, if it is time to.
    fn renew(&self, lifetime: Duration, renewals: &mut JoinSet<(u64, Result<()>)>) {
        let Some((target, leader)) = self.joined.as_ref().filter(|_| self.link == Link::Connected) else {
            return;
        };
        let Some(token) = self.renewal.due(&target.credentials, Timestamp::now()) else { return };
        let secret = Key::new(Kind::Secret, &self.namespace, &target.secret);
        let version = self.objects.get(&secret).map(|object| text(object, "/metadata/resourceVersion"));
        let renewal = TokenRenewal {
            leader: leader.clone(),
            token,
            lifetime,
            command: target.token_command(),
            local: self.local.clone(),
            version: version.unwrap_or_default().to_owned(),
            secret,
        };
        let number = self.number;
        renewals.spawn(async move { (number, renewal.run().await) });
    }

    /// Takes in what became of the token of a connection. The new one comes with the Secret that it was written into.
    fn renewed(&mut self, (number, result): (u64, Result<()>)) {
        let Err(error) = result else { return info!("The token for the leader was renewed") };
        let why = chain(error.as_ref()).to_string();
        if number == self.number && self.renewal.failed(why.clone(), Timestamp::now(), jitter()) {
            warn!(
                reason = why,
                "The token for the leader could not be renewed; trying again until it expires"
            );
        }
    }

    /// Tells the other components.
    fn publish(&self) {
        let Some((target, client)) = &self.joined else { return };
        let cluster = target.cluster.clone();
        self.leader.send_replace(match &self.link {
            Link::Taken(why) => Leader::Away(cluster, why.clone()),
            link => Leader::Joined(Arc::new(Joined {
                cluster,
                area: target.area.clone(),
                client: client.clone(),
                connection: self.number,
                link: link.clone(),
            })),
        });
    }

    /// Says in the status of the ClusterSet how the connection is.
    async fn report(&mut self) {
        let sets = self.objects.all(Kind::ClusterSet);
        let Some((key, set)) = sets.into_iter().find(|(key, _)| key.namespace == self.namespace) else {
            return;
        };
        let leader = text(set, "/spec/leaders/0/clusterID");
        let said =
            Said { link: &self.link, not_renewed: self.renewal.problem(), conflict: self.conflict.as_ref() };
        let wanted = status(set, &said, leader, Timestamp::now());
        let Some(action) = ensure_status(key, set, &wanted) else { return };
        let clients = Clients { local: self.local.clone(), leader: None };
        match timeout(PATIENCE, clients.send(&action)).await {
            Ok(Ok(crate::send::Outcome::Is(kind, object))) => {
                self.objects.insert(kind, object);
            }
            Ok(Ok(crate::send::Outcome::Gone(_))) => {}
            Ok(Err(error)) => warn!(error = %chain(error.as_ref()), "Status of the ClusterSet not written"),
            Err(_) => warn!(set = %Key::clone(key), "Status of the ClusterSet not written in time"),
        }
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
