//! Keeps the connection: follows ClusterSet and Secret, sends heartbeats, says in the ClusterSet how they fare.

mod farewell;
mod follow;
mod heartbeat;
mod hold;
mod secret;

use std::sync::Arc;
use std::time::Duration;

use antrea_kit::backoff::{Backoff, jitter};
use antrea_kit::logging::chain;
use anyhow::{Context, Error, Result};
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use jiff::Timestamp;
use kube::Client;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use self::farewell::{Farewells, waits};
use self::secret::SecretWatch;
pub(crate) use super::announce::Facts;
use super::token_request::TokenRenewal;
use super::{
    Class, Joined, Leader, Link, Pace, Renewal, Said, Target, Tokens, Wish, leaving, secret_name, status,
    unusable,
};
use crate::action::{Action, ensure_status};
use crate::condition::said;
use crate::kind::Kind;
use crate::objects::{Key, Objects, is_leaving, text};
use crate::send::{Clients, Outcome};
use crate::watches::{Told, Watched, Watcher};
use heartbeat::{Beat, Heard};

/// How often the leader hears of the member.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// The longest that a heartbeat may take: less than the time to the next one.
const PATIENCE: Duration = Duration::from_secs(8);
/// How soon a heartbeat is sent again that the leader has not taken: it may just be starting.
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
    let watcher = Watcher { connection: 0, told };
    let mut sets = watcher.start(&local, &[Watched::of(Kind::ClusterSet, &namespace)]);
    let mut secret = SecretWatch::new(&local, &namespace, watcher);
    secret.follow(tokens.secret.as_deref());
    let mut nodes = facts.nodes.clone();
    let mut connection = Connection::new(local, namespace, facts, connect, leader);
    connection.token_secret = tokens.secret;
    let mut renewals = JoinSet::new();
    let mut heartbeat = interval(HEARTBEAT);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            error = sets.ended() => return Err(error),
            error = secret.ended() => return Err(error),
            event = events.recv() => {
                if connection.learn(event.context("the watches ended")?, &mut secret) {
                    heartbeat.reset_immediately();
                }
            }
            _ = heartbeat.tick() => connection.beat(),
            Some(beat) = connection.beats.next() => {
                connection.beaten(beat);
                heartbeat.reset_after(connection.next_beat());
                if renewals.is_empty() {
                    connection.renew(tokens.lifetime, &mut renewals);
                }
            }
            Some(renewed) = renewals.join_next() => connection.renewed(renewed?),
            Ok(()) = nodes.changed() => {
                connection.nodes_changed();
                if connection.is_behind() {
                    heartbeat.reset_immediately();
                }
            }
            Some(answer) = connection.reports.next() => {
                if !connection.reported(answer) {
                    continue;
                }
            }
            Some(answer) = connection.holds.next() => {
                connection.held(answer);
                continue;
            }
            (index, attempt) = connection.farewells.next() => connection.farewells.attempted(index, attempt),
        }
        connection.hold();
        connection.report();
    }
}

/// The answer to a request, or that it came too late.
async fn in_time<T>(request: impl Future<Output = Result<T>>) -> Result<T> {
    match timeout(PATIENCE, request).await {
        Ok(answer) => answer,
        Err(late) => Err(Error::from(late).context(format!("there was no answer within {PATIENCE:?}"))),
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
    /// What was joined before, while ClusterSet or Secret lack something: it may be left yet.
    former: Option<Target>,
    farewells: Farewells,
    number: u64,
    link: Link,
    /// Why what ClusterSet and Secret say now makes no connection, while the one before goes on.
    no_way: Option<String>,
    /// What the leader said last of this cluster.
    heard: Heard,
    /// How often it has said something else of what it takes of this cluster.
    answer_revision: u64,
    /// How many heartbeats were lost since the last that was taken.
    lost: u32,
    /// How the last heartbeats fared, as far as they fared alike, and how many they are.
    fared: Option<(Link, u32)>,
    /// Consecutive heartbeats without any answer.
    silent: u32,
    /// Of heartbeats, while there is no connection.
    retries: Backoff,
    /// Of the present token.
    renewal: Renewal,
    /// Of all tokens.
    pace: Pace,
    began: Instant,
    /// The heartbeat that is under way, one at most. Nothing waits for it.
    beats: FuturesUnordered<BoxFuture<'static, Beat>>,
    /// The status of the ClusterSet that is being written, one at most.
    reports: FuturesUnordered<BoxFuture<'static, Result<Outcome>>>,
    /// Whether there was more to say since that began.
    says_more: bool,
    /// The finalizer that is being put on the ClusterSet, one at most.
    holds: FuturesUnordered<BoxFuture<'static, Result<Outcome>>>,
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
        let heard = Heard::nothing(&facts);
        Self {
            farewells: Farewells::new(local.clone(), connect),
            local,
            namespace,
            facts,
            connect,
            token_secret: None,
            objects: Objects::default(),
            uid: None,
            wish: None,
            joined: None,
            former: None,
            number: 0,
            link: Link::Connecting,
            no_way: None,
            heard,
            answer_revision: 0,
            lost: 0,
            fared: None,
            silent: 0,
            retries: Backoff::new(FIRST_RETRY, HEARTBEAT),
            renewal: Renewal::default(),
            pace: Pace::default(),
            began: Instant::now(),
            beats: FuturesUnordered::new(),
            reports: FuturesUnordered::new(),
            says_more: false,
            holds: FuturesUnordered::new(),
            leader,
        }
    }

    /// Takes in what a watch tells. Whether there is a new connection.
    fn learn(&mut self, (kind, watch, event): Told, secret: &mut SecretWatch) -> bool {
        if secret.takes(kind, watch) {
            self.objects.learn(kind, event);
        }
        if secret.follow(self.secret_name().as_deref()) {
            self.objects.forget(Kind::Secret);
        }
        self.follow()
    }

    /// The Secret that has the token.
    fn secret_name(&self) -> Option<String> {
        secret_name(&self.objects, &self.namespace, self.token_secret.as_deref())
    }

    /// Begins to renew the token, if it is time to. A Secret that makes no connection gets no new one: the connection would
    /// not have it.
    fn renew(&self, lifetime: Duration, renewals: &mut JoinSet<(u64, Result<()>)>) {
        let is_to = self.link == Link::Connected && self.no_way.is_none();
        let Some((target, leader)) = self.joined.as_ref().filter(|_| is_to) else { return };
        let token = self.renewal.due(&target.credentials, Timestamp::now());
        let Some(token) = token.filter(|token| self.pace.allows(token, self.began.elapsed())) else { return };
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
        let Err(error) = result else {
            self.pace.renewed(self.began.elapsed());
            return info!("The token for the leader was renewed");
        };
        let why = said(&chain(error.as_ref()));
        if number == self.number && self.renewal.failed(why.clone(), Timestamp::now(), jitter()) {
            warn!(reason = why, "The token for the leader could not be renewed; trying again");
        }
    }

    /// Others wait for the networks that Nodes name, also while there is no way to the leader.
    fn nodes_changed(&self) {
        match self.joined {
            Some(_) => self.publish(),
            None => self.leader.send_modify(|_| ()),
        }
    }

    /// Tells the other components.
    fn publish(&self) {
        let Some((target, client)) = &self.joined else { return };
        let (cluster, area) = (target.cluster.clone(), target.area.clone());
        self.leader.send_replace(match &self.link {
            Link::Taken(why) => Leader::Away { cluster, area, why: Class::NoWay(why.clone()) },
            link => Leader::Joined(Arc::new(Joined {
                cluster,
                area,
                client: client.clone(),
                connection: self.number,
                link: link.clone(),
                answer_revision: self.answer_revision,
                pods: self.heard.pods.clone(),
                nodes: self.facts.nodes.borrow().clone().unwrap_or_default(),
            })),
        });
    }

    /// Begins to say in the status of the ClusterSet how the connection is. What there is to say while that is under way is
    /// said next.
    fn report(&mut self) {
        self.says_more = !self.reports.is_empty();
        if self.says_more {
            return;
        }
        let Some(action) = self.status() else { return };
        let clients = Clients::new(self.local.clone());
        self.reports.push(Box::pin(async move { in_time(clients.send(&action)).await }));
    }

    /// What is missing in the status of the ClusterSet.
    fn status(&self) -> Option<Action> {
        let mut sets = self.objects.all(Kind::ClusterSet);
        let (key, set) = sets.find(|(key, _)| key.namespace == self.namespace)?;
        let leader = text(set, "/spec/leaders/0/clusterID");
        let unusable =
            unusable(&self.objects, &self.namespace, self.token_secret.as_deref(), self.no_way.as_deref());
        let leaving = is_leaving(set).then(|| self.leaving(key));
        let said = Said {
            link: &self.link,
            not_renewed: self.renewal.problem(),
            unusable: unusable.as_ref(),
            told: &self.heard.told,
            leaving: leaving.as_deref(),
        };
        ensure_status(key, set, &status(set, &said, leader, Timestamp::now()))
    }

    /// How far this cluster has come with leaving by a ClusterSet that is being deleted.
    fn leaving(&self, set: &Key) -> String {
        let way = leaving(&self.objects, &self.namespace, self.token_secret.as_deref());
        self.farewells.progress(set).unwrap_or_else(|| match way {
            Some((held, Err(why))) if held == *set => {
                waits(set, &format!("nobody can tell the leader: {why}"))
            }
            _ => "this cluster leaves".to_owned(),
        })
    }

    /// Takes in what became of the status of the ClusterSet. Whether there is more to say already; what failed is said
    /// again after the next heartbeat.
    fn reported(&mut self, answer: Result<Outcome>) -> bool {
        match answer {
            Ok(Outcome::Is(kind, object) | Outcome::Changed(kind, object)) => {
                self.objects.insert(kind, object);
            }
            Ok(Outcome::Gone(_)) => {}
            Err(error) => warn!(error = %chain(error.as_ref()), "Status of the ClusterSet not written"),
        }
        self.says_more
    }
}
