//! What agents of Gateways report, for how long they have not, and who has failed as the Gateway.

use std::collections::BTreeMap;
use std::time::Duration;

use antrea_shared_api::multicluster::v1alpha1::{GatewayProbe, GatewayStatus};
use serde_json::Value;

use crate::kind::Kind;
use crate::objects::{Objects, read, text};

/// An agent that has reported and does not for so long is away.
const SILENCE: Duration = Duration::from_secs(8);

/// For how long it is remembered that a Node has failed as the Gateway, while no other works either.
const MEMORY: Duration = Duration::from_secs(600);

/// What is known of a Node as the Gateway, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It reaches neither other clusters nor Nodes.
    CutOff,
    /// Its agent is away; what it has set up may still work.
    Silent,
    /// Nothing: it is not the Gateway.
    Untried,
    /// It is the Gateway, and nothing speaks against it.
    Works,
}

/// Nodes that have failed as the Gateway, and how.
pub type Failed = BTreeMap<String, Standing>;

/// Whether a Gateway says itself that it reaches neither other clusters nor Nodes.
pub(super) fn is_cut_off(gateway: &Value) -> bool {
    probe(gateway).is_some_and(|probe| probe.is_cut_off())
}

/// Whether a Gateway reaches somebody that the one that replaces it does not reach yet: Nodes, or a peer. A peer answers a
/// Gateway once it knows it as one of this cluster.
pub(super) fn reaches_more(old: &Value, new: &Value) -> bool {
    let Some(old) = probe(old) else { return false };
    let new = probe(new).unwrap_or_default();
    let reaches = |cluster: &str| new.peers.iter().any(|peer| peer.reached && peer.cluster_id == cluster);
    let mut peers = old.peers.iter().filter(|peer| peer.reached);
    old.nodes.reached > 0 && new.nodes.reached == 0 || peers.any(|peer| !reaches(&peer.cluster_id))
}

fn probe(gateway: &Value) -> Option<GatewayProbe> {
    read::<GatewayStatus>(gateway.get("status")?)?.probe
}

/// The reports of agents, and when each was seen to change by the controller's own clock. Clocks of Nodes may be wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reports {
    seen: BTreeMap<String, Report>,
    failures: BTreeMap<String, Failure>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Report {
    heartbeat: String,
    changed: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Failure {
    standing: Standing,
    until: Duration,
}

impl Reports {
    /// Takes in the Gateways at `now`, a time that only grows.
    pub fn observe(&mut self, objects: &Objects, now: Duration) {
        let mut seen = BTreeMap::new();
        let (mut failing, mut somebody_works) = (Vec::new(), false);
        for (key, gateway) in objects.all(Kind::Gateway) {
            // Agents of upstream report nothing: silence of those says nothing.
            let heartbeat = text(gateway, "/status/probe/heartbeatTime");
            if heartbeat.is_empty() {
                continue;
            }
            let before = self.seen.remove(&key.name).filter(|report| report.heartbeat == heartbeat);
            let report = before.unwrap_or_else(|| Report { heartbeat: heartbeat.to_owned(), changed: now });
            match report.standing(is_cut_off(gateway), now) {
                Standing::Works => {
                    somebody_works |= probe(gateway).is_some_and(|probe| probe.reaches_somebody());
                }
                standing => failing.push((key.name.clone(), standing)),
            }
            seen.insert(key.name.clone(), report);
        }
        self.seen = seen;
        self.remember(failing, somebody_works, now);
    }

    /// Who has failed is not chosen again soon, or Nodes that all reach nobody would take turns. It may be as soon as
    /// somebody works: what has kept the others from it may be over then.
    fn remember(&mut self, failing: Vec<(String, Standing)>, somebody_works: bool, now: Duration) {
        self.failures.retain(|_, failure| failure.until > now && !somebody_works);
        let until = now + MEMORY;
        self.failures.extend(failing.into_iter().map(|(name, standing)| (name, Failure { standing, until })));
    }

    /// The API server was away until `now`: nobody could report meanwhile, all are counted afresh.
    pub fn forgive(&mut self, now: Duration) {
        self.seen.values_mut().for_each(|report| report.changed = now);
        self.failures.retain(|_, failure| failure.standing != Standing::Silent);
    }

    /// Who has failed, by what was last taken in.
    pub fn failed(&self) -> Failed {
        self.failures.iter().map(|(name, failure)| (name.clone(), failure.standing)).collect()
    }

    /// When the next one will have been silent for too long, unless it reports before, or a failure is forgotten.
    pub fn next(&self, now: Duration) -> Option<Duration> {
        let silence = self.seen.values().map(|report| report.changed + SILENCE);
        let forgotten = self.failures.values().map(|failure| failure.until);
        silence.chain(forgotten).filter(|at| *at > now).min()
    }
}

impl Report {
    fn standing(&self, is_cut_off: bool, now: Duration) -> Standing {
        match (now.saturating_sub(self.changed) >= SILENCE, is_cut_off) {
            (true, _) => Standing::Silent,
            (false, true) => Standing::CutOff,
            (false, false) => Standing::Works,
        }
    }
}
