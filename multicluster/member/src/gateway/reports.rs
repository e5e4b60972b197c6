//! What agents of Gateways report, and for how long they have not.

use std::collections::BTreeMap;
use std::time::Duration;

use antrea_shared_api::multicluster::v1alpha1::GatewayStatus;
use serde_json::Value;

use crate::kind::Kind;
use crate::objects::{Objects, read, text};

/// An agent that has reported and does not for so long is away.
const SILENCE: Duration = Duration::from_secs(8);

/// Whether a Gateway says itself that it reaches neither other clusters nor Nodes.
pub(super) fn is_cut_off(gateway: &Value) -> bool {
    status(gateway).and_then(|status| status.probe).is_some_and(|probe| probe.is_cut_off())
}

fn status(gateway: &Value) -> Option<GatewayStatus> {
    read(gateway.get("status")?)
}

/// The reports of agents, and when each was seen to change by the controller's own clock. Clocks of Nodes may be wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reports(BTreeMap<String, Report>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Report {
    heartbeat: String,
    changed: Duration,
}

impl Reports {
    /// Takes in the Gateways at `now`, a time that only grows.
    pub fn observe(&mut self, objects: &Objects, now: Duration) {
        let mut seen = BTreeMap::new();
        for (key, gateway) in objects.all(Kind::Gateway) {
            // Agents of upstream report nothing: silence of those says nothing.
            let heartbeat = text(gateway, "/status/probe/heartbeatTime");
            if heartbeat.is_empty() {
                continue;
            }
            let before = self.0.remove(&key.name).filter(|report| report.heartbeat == heartbeat);
            let fresh = || Report { heartbeat: heartbeat.to_owned(), changed: now };
            seen.insert(key.name.clone(), before.unwrap_or_else(fresh));
        }
        self.0 = seen;
    }

    /// The API server was away until `now`: nobody could report meanwhile, all are counted afresh.
    pub fn forgive(&mut self, now: Duration) {
        self.0.values_mut().for_each(|report| report.changed = now);
    }

    /// The Gateways whose agents say nothing new at `now`.
    pub fn silent(&self, now: Duration) -> Vec<String> {
        let is_silent = |report: &Report| now.saturating_sub(report.changed) >= SILENCE;
        self.0.iter().filter(|(_, report)| is_silent(report)).map(|(name, _)| name.clone()).collect()
    }

    /// When the next one will have been silent for too long, unless it reports before.
    pub fn next(&self, now: Duration) -> Option<Duration> {
        self.0.values().map(|report| report.changed + SILENCE).filter(|at| *at > now).min()
    }
}
