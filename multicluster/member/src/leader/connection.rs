//! Keeps the connection: follows ClusterSet and Secret, sends heartbeats, says in the ClusterSet how they fare.

mod follow;
mod heartbeat;
mod secret;

use std::sync::Arc;
use std::time::Duration;

use antrea_kit::backoff::{Backoff, jitter};
use antrea_kit::logging::chain;
use anyhow::{Context, Result};
use jiff::Timestamp;
use kube::Client;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use self::secret::SecretWatch;
pub(crate) use super::announce::Facts;
use super::token_request::TokenRenewal;
use super::{Joined, Leader, Link, Renewal, Said, Target, Tokens, Wish, secret_name, status, unusable};
use crate::action::ensure_status;
use crate::condition::Condition;
use crate::kind::Kind;
use crate::objects::{Key, Objects, text};
use crate::send::{Clients, Outcome};
use crate::watches::{Told, Watched, Watcher};

/// How often the leader hears of the member.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// The longest that a heartbeat may take: less than the time to the next one.
const PATIENCE: Duration = Duration::from_secs(8);
/// How soon a heartbeat comes again that a leader has not taken which just starts, perhaps.
const FIRST_RETRY: Duration = Duration::from_millis(500);

/// Where ways to leaders come from; tests have their own.
pub(crate) type Connect = fn(&Target) -> Result<Client>;

/// Runs until `stop`.
pub(crate) async fn run(
    local: Client,
    namespace: String,
    facts: Facts,
    tokens: Tokens,
    connect: Connect,
    leader: watch::Sender<Leader>,
    stop: CancellationToken,
) -> Result<()> {
    let (told, mut events): (mpsc::Sender<Told>, _) = mpsc::channel(64);
    let watches = stop.child_token();
    let _end = watches.clone().drop_guard();
    let watcher = Watcher { connection: 0, told, stop: watches };
    let mut secret = SecretWatch::new(&local, &namespace, &watcher);
    secret.follow(tokens.secret.as_deref());
    watcher.start(&local, &[Watched::of(Kind::ClusterSet, &namespace)]);
    drop(watcher);
    let mut connection = Connection::new(local, namespace, facts, connect, leader);
    connection.token_secret = tokens.secret;
    let mut renewals = JoinSet::new();
    let mut heartbeat = interval(HEARTBEAT);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            event = events.recv() => {
                let (kind, watch, event) = event.context("the watches ended")?;
                if secret.takes(kind, watch) {
                    connection.objects.learn(kind, event);
                }
                if secret.follow(connection.secret_name().as_deref()) {
                    connection.objects.forget(Kind::Secret);
                }
                if connection.follow() {
                    heartbeat.reset_immediately();
                }
            }
            _ = heartbeat.tick() => {
                connection.beat().await;
                heartbeat.reset_after(connection.next_beat());
                if renewals.is_empty() {
                    connection.renew(tokens.lifetime, &mut renewals);
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
    /// The Secret with the token, where the configuration names one.
    token_secret: Option<String>,
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
    /// Consecutive heartbeats without any answer.
    silent: u32,
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
            token_secret: None,
            objects: Objects::default(),
            uid: None,
            wish: None,
            joined: None,
            number: 0,
            link: Link::Connecting,
            conflict: None,
            lost: 0,
            silent: 0,
            retries: Backoff::new(FIRST_RETRY, HEARTBEAT),
            renewal: Renewal::default(),
            leader,
        }
    }

    /// The Secret that has the token.
    fn secret_name(&self) -> Option<String> {
        secret_name(&self.objects, &self.namespace, self.token_secret.as_deref())
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
        let unusable = unusable(&self.objects, &self.namespace, self.token_secret.as_deref());
        let said = Said {
            link: &self.link,
            not_renewed: self.renewal.problem(),
            conflict: self.conflict.as_ref(),
            unusable: unusable.as_ref(),
        };
        let wanted = status(set, &said, leader, Timestamp::now());
        let Some(action) = ensure_status(key, set, &wanted) else { return };
        let clients = Clients::new(self.local.clone());
        match timeout(PATIENCE, clients.send(&action)).await {
            Ok(Ok(Outcome::Is(kind, object) | Outcome::Changed(kind, object))) => {
                self.objects.insert(kind, object);
            }
            Ok(Ok(Outcome::Gone(_))) => {}
            Ok(Err(error)) => warn!(error = %chain(error.as_ref()), "Status of the ClusterSet not written"),
            Err(_) => warn!(set = %Key::clone(key), "Status of the ClusterSet not written in time"),
        }
    }
}
