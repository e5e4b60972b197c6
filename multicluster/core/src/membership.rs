//! The members of a ClusterSet as their leader sees them: who is alive, and whose lease is over.
//!
//! ```text
//!              heartbeat             silent_after           lease
//! Announced ─────────────► Ready ─────────────────► Silent ───────► Expired
//!     └── silent_after ──────┼──────────────────────► ▲               │
//!                            └◄──────── heartbeat ────┴───────────────┘
//! ```
//! A heartbeat is a change of the announce, seen by the leader, and so is an announce that appears while it listens;
//! what time the member says it is does not matter. Time
//! counts only while the leader listens: if the leader, or its watch, was away, silence is not the member's fault. And
//! after that every member first has `silent_after` to be heard again. When a lease is over endpoints are withdrawn;
//! nothing that the member exported is deleted, and its next heartbeat brings everything back.
//!
//! A cluster that exports something and has no announce has a lease, too. Members that are alive announce themselves
//! within it, also after a backup without announces was restored. When it is over its exports are removed: nobody else
//! would ever do that.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::ids::ClusterId;

/// How long members may be silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseTimes {
    /// A member is called disconnected after that. Members send heartbeats every 10 s.
    pub silent_after: Duration,
    /// Its endpoints are withdrawn after that, counted from the last heartbeat; at least `silent_after`.
    pub lease: Duration,
}

impl Default for LeaseTimes {
    fn default() -> Self {
        Self { silent_after: Duration::from_secs(30), lease: Duration::from_secs(300) }
    }
}

/// What a member is to its leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It announced itself before the leader listened; no heartbeat has been seen yet.
    Announced,
    /// It is alive.
    Ready,
    /// It has not been heard of for some time.
    Silent,
    /// Its lease is over: its endpoints are withdrawn.
    Expired,
}

/// Something that the leader sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The announce of a member is there.
    Announce {
        /// The member.
        cluster: ClusterId,
        /// The value of its annotation `touch-ts`, compared with earlier ones only.
        touch: Option<String>,
        /// What an earlier leader process wrote down of the member; nothing for a new one.
        earlier: Option<Standing>,
    },
    /// The announce is gone: the member has left.
    Leave(ClusterId),
    /// A cluster exports something, and has not announced itself.
    Exports(ClusterId),
    /// It exports nothing any more, or has announced itself.
    NoExports(ClusterId),
    /// The leader sees announces again, or for the first time: it has read all that there are, and watches them.
    Listening,
    /// The leader sees announces no more: its watch broke, or it lost its lease.
    Deaf,
    /// Time has passed; expected every second or so.
    Tick,
}

/// What has become of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// It stands otherwise than before; nothing before that when it is new.
    Stands {
        /// The member.
        cluster: ClusterId,
        /// Before.
        before: Option<Standing>,
        /// Now.
        now: Standing,
    },
    /// It has left: its exports are to be removed.
    Left(ClusterId),
    /// It has not announced itself for the time of a lease: its exports are to be removed.
    Abandoned(ClusterId),
}

#[derive(Clone, Debug)]
struct Member {
    standing: Standing,
    touch: Option<String>,
    /// How long the leader has listened since the last heartbeat.
    unheard: Duration,
}

/// Whether announces are seen, and since when.
#[derive(Clone, Copy, Debug)]
enum Hearing {
    Deaf,
    Listening { since: Instant, counted: Instant },
}

/// All members of a ClusterSet.
#[derive(Clone, Debug)]
pub struct Membership {
    times: LeaseTimes,
    members: BTreeMap<ClusterId, Member>,
    /// How long the leader has listened while these clusters exported and had announced nothing.
    unannounced: BTreeMap<ClusterId, Duration>,
    hearing: Hearing,
}

/// A pause between two events after which the leader was not listening, whatever it believes: it was suspended.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

impl Membership {
    /// Nobody is known, and nothing heard yet.
    pub fn new(times: LeaseTimes) -> Self {
        let times = LeaseTimes { lease: times.lease.max(times.silent_after), ..times };
        Self { times, members: BTreeMap::new(), unannounced: BTreeMap::new(), hearing: Hearing::Deaf }
    }

    /// Takes in what happened; says what it changes, in the order of cluster IDs.
    pub fn step(&mut self, event: Event, now: Instant) -> Vec<Change> {
        let mut changes = self.pass_time(now);
        match event {
            Event::Announce { cluster, touch, earlier } => {
                changes.extend(self.announce(cluster, touch, earlier));
            }
            Event::Leave(cluster) => {
                changes.extend(self.members.remove(&cluster).map(|_| Change::Left(cluster)));
            }
            Event::Exports(cluster) => {
                self.unannounced.entry(cluster).or_default();
            }
            Event::NoExports(cluster) => {
                self.unannounced.remove(&cluster);
            }
            Event::Listening if matches!(self.hearing, Hearing::Deaf) => {
                self.hearing = Hearing::Listening { since: now, counted: now };
            }
            Event::Deaf => self.hearing = Hearing::Deaf,
            Event::Listening | Event::Tick => {}
        }
        changes
    }

    /// Every member with its standing, by cluster ID.
    pub fn members(&self) -> impl Iterator<Item = (&ClusterId, Standing)> {
        self.members.iter().map(|(cluster, member)| (cluster, member.standing))
    }

    /// How many clusters export and have announced nothing.
    pub fn unannounced(&self) -> usize {
        self.unannounced.len()
    }

    /// Whether a cluster is one of them.
    pub fn is_unannounced(&self, cluster: &ClusterId) -> bool {
        self.unannounced.contains_key(cluster)
    }

    /// The members whose endpoints are withdrawn.
    pub fn withdrawn(&self) -> BTreeSet<ClusterId> {
        let expired = self.members().filter(|(_, standing)| *standing == Standing::Expired);
        expired.map(|(cluster, _)| cluster.clone()).collect()
    }

    fn announce(
        &mut self,
        cluster: ClusterId,
        touch: Option<String>,
        earlier: Option<Standing>,
    ) -> Option<Change> {
        self.unannounced.remove(&cluster);
        let Some(member) = self.members.get_mut(&cluster) else {
            let unknown = match self.hearing {
                Hearing::Listening { .. } => Standing::Ready,
                Hearing::Deaf => Standing::Announced,
            };
            let standing = earlier.unwrap_or(unknown);
            self.members.insert(cluster.clone(), Member { standing, touch, unheard: Duration::ZERO });
            return earlier.is_none().then_some(Change::Stands { cluster, before: None, now: standing });
        };
        if member.touch == touch {
            return None;
        }
        *member = Member { standing: member.standing, touch, unheard: Duration::ZERO };
        stand(cluster, member, Standing::Ready)
    }

    /// Counts the time since the last event, if it was spent listening.
    fn pass_time(&mut self, now: Instant) -> Vec<Change> {
        let Hearing::Listening { since, counted } = self.hearing else { return Vec::new() };
        let passed = now.saturating_duration_since(counted);
        if passed > LONGEST_PAUSE {
            self.hearing = Hearing::Listening { since: now, counted: now };
            return Vec::new();
        }
        self.hearing = Hearing::Listening { since, counted: now };
        let fair = now.saturating_duration_since(since) >= self.times.silent_after;
        let times = self.times;
        let late = self.members.iter_mut().filter_map(|(cluster, member)| {
            member.unheard += passed;
            let standing = if fair { member.standing_after(times) } else { member.standing };
            stand(cluster.clone(), member, standing)
        });
        let abandoned = self.unannounced.iter_mut().filter_map(|(cluster, unheard)| {
            *unheard += passed;
            (fair && *unheard >= times.lease).then(|| {
                // What it exports from now on has a lease of its own.
                *unheard = Duration::ZERO;
                Change::Abandoned(cluster.clone())
            })
        });
        late.chain(abandoned).collect()
    }
}

impl Member {
    fn standing_after(&self, times: LeaseTimes) -> Standing {
        match self.standing {
            Standing::Expired => Standing::Expired,
            _ if self.unheard >= times.lease => Standing::Expired,
            _ if self.unheard >= times.silent_after => Standing::Silent,
            standing => standing,
        }
    }
}

fn stand(cluster: ClusterId, member: &mut Member, now: Standing) -> Option<Change> {
    let before = std::mem::replace(&mut member.standing, now);
    (before != now).then_some(Change::Stands { cluster, before: Some(before), now })
}
