//! Lets Open vSwitch forward again after it started: whoever starts it sets `flow-restore-wait`, and when all flows are
//! back this removes it. Afterwards, once, what an earlier agent left in the switch goes.

use std::sync::Arc;
use std::time::Duration;

use antrea_agent_cni::interface_store::{InterfaceStore, StoredContainer};
use antrea_agent_cni::reconcile::Inventory;
use antrea_agent_cni::server::CniServer;
use antrea_agent_routing::NodeRoutes;
use antrea_ovs::ovsdb::OvsDb;
use antrea_ovs::{Round, SetKey, Switch};
use antrea_pipeline::{Pipeline, PodInterface};
use anyhow::{Context, Result};
use tokio::sync::watch;
use tokio::time::{Instant, interval_at};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::multicluster::FlowSources;
use crate::policies::PodPolicies;
use crate::{node_routes, pods};

const FLOW_RESTORE_WAIT: &str = "flow-restore-wait";

/// Where a bridge keeps the number of the last agent that had installed everything.
const ROUND: &str = "roundNum";

/// How soon what is missing of a round is asked for again.
const RETRY: Duration = Duration::from_secs(30);

/// The round of the flows that are in the switch, if an agent ever finished one.
pub(crate) fn previous_round(database: &OvsDb, bridge: &str) -> Option<Round> {
    database.snapshot().bridge(bridge)?.external_ids.get(ROUND)?.parse().ok()
}

/// What has to be there before what an earlier agent left may go.
pub(crate) struct FlowRestore {
    pub(crate) database: OvsDb,
    pub(crate) switch: Switch,
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) bridge: String,
    pub(crate) cni: CniServer,
    pub(crate) inventory: Inventory,
    pub(crate) interfaces: InterfaceStore,
    pub(crate) routes: watch::Receiver<NodeRoutes>,
    /// What the switch shall have for other clusters, if it shall have anything.
    pub(crate) clusters: Option<watch::Receiver<FlowSources>>,
    pub(crate) policies: PodPolicies,
    pub(crate) round: watch::Sender<RoundState>,
    /// How many flows of earlier rounds stay, since those that are to take their place are not there.
    pub(crate) stay: usize,
}

/// Whether flows of earlier rounds may be in the switch that nobody needs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RoundState {
    Begun,
    Finished,
}

impl FlowRestore {
    /// Until `stop`: removes `flow-restore-wait` whenever it is set and the switch has all flows, and finishes the round
    /// if that has not been done.
    pub(crate) async fn run(mut self, stop: CancellationToken) -> Result<()> {
        let mut changed = self.database.changed();
        // After the last change of the database the switch may be there, but not connected to yet.
        let mut channel = self.switch.connection().channel();
        let mut retry = interval_at(Instant::now() + RETRY, RETRY);
        loop {
            let kept = async {
                self.end_wait().await;
                self.keep_round_noted().await;
            };
            if stop.run_until_cancelled(kept).await.is_none() {
                return Ok(());
            }
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                outcome = changed.changed() => outcome.context("the connection to OVSDB ended")?,
                outcome = channel.changed() => outcome.context("the connection to the switch ended")?,
                _ = retry.tick(), if self.is_unfinished() => {
                    stop.run_until_cancelled(self.ask_again()).await;
                }
            }
            changed.borrow_and_update();
            channel.borrow_and_update();
        }
    }

    fn round_is(&self, state: RoundState) -> bool {
        *self.round.borrow() == state
    }

    /// Whether there is something left to be deleted.
    fn is_unfinished(&self) -> bool {
        self.round_is(RoundState::Begun) || self.stay > 0
    }

    /// Asks for Pods that are missing in the round, and deletes what is not needed any more.
    async fn ask_again(&mut self) {
        let pods = self.pods().into_iter().map(|(key, _)| key);
        if !self.switch.missing(pods).await.is_empty() {
            self.restore_pods().await;
        }
        if let Err(error) = self.finish_round().await {
            warn!(error = format!("{error:#}"), "What an earlier agent left is not deleted yet");
        }
    }

    /// Asks for the flows of Pods again. Those of peers and other clusters are asked for again by who follows them.
    pub(crate) async fn restore_pods(&self) {
        for error in self.cni.restore(&self.inventory).await {
            warn!(%error, "A Pod of this Node was not connected again");
        }
    }

    /// Once everything was asked for, the flows of earlier rounds go, but for those of whom the switch does not have what shall
    /// take their place: they are all that connects somebody. Then the number of the round is noted, so that an agent killed in
    /// between does it again. What stays goes when nobody needs it.
    pub(crate) async fn finish_round(&mut self) -> Result<()> {
        if !self.is_unfinished() {
            return Ok(());
        }
        self.claim_pods().await;
        let unasked = self.unasked().await;
        if !unasked.is_empty() {
            let unasked = unasked.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
            warn!(unasked, "Flows of earlier rounds stay until all of this one was asked for");
            return Ok(());
        }
        let deleted = self.switch.delete_stale(None).await;
        self.stay = deleted.context("cannot delete the flows of earlier rounds")?;
        if self.stay > 0 {
            warn!(flows = self.stay, "Flows of earlier rounds stay where their replacements were refused");
        }
        if self.round_is(RoundState::Begun) {
            self.note_round().await?;
            self.round.send_replace(RoundState::Finished);
            info!(round = %self.switch.round(), "Deleted the flows of earlier rounds that nothing needs");
        }
        Ok(())
    }

    async fn note_round(&self) -> Result<()> {
        let round = self.switch.round().to_string();
        let noted = self.database.set_bridge_external_id(&self.bridge, ROUND, &round).await;
        noted.context("cannot note the round of the flows")
    }

    /// Notes the round once more on a bridge that was made anew: the next agent is to begin another one.
    async fn keep_round_noted(&self) {
        let there = self.database.snapshot().bridge(&self.bridge).is_some();
        let noted = previous_round(&self.database, &self.bridge) == Some(self.switch.round());
        if self.round_is(RoundState::Finished)
            && there
            && !noted
            && let Err(error) = self.note_round().await
        {
            warn!(
                error = format!("{error:#}"),
                "Cannot record the round on the bridge; the next agent may mistake flows of this one for its own"
            );
        }
    }

    /// The Pods of this Node, each with the set of its flows; without a number on the bridge there are none.
    fn pods(&self) -> Vec<(SetKey, PodInterface)> {
        let with_key =
            |stored: &StoredContainer| Some((pods::key(&stored.name).into(), stored.pod_interface()?));
        self.interfaces.containers().iter().filter_map(with_key).collect()
    }

    /// Pods whose flows nobody could ask for keep those that they have.
    async fn claim_pods(&self) {
        let pods = self.pods().into_iter();
        self.switch.claim(pods.map(|(key, pod)| (key, self.pipeline.pod_flows(&pod).into()))).await;
    }

    /// The other sets of flows that nobody has asked for. All Services were, since they are known.
    async fn unasked(&self) -> Vec<SetKey> {
        let peers: Vec<_> = self.routes.borrow().peers.keys().map(node_routes::key).collect();
        let clusters: Vec<_> = self
            .clusters
            .iter()
            .flat_map(|wanted| wanted.borrow().keys().cloned().collect::<Vec<_>>())
            .collect();
        let policies = self.policies.set().map(str::to_owned);
        self.switch.unasked(peers.into_iter().chain(clusters).chain(policies).map(SetKey::from)).await
    }

    /// Ends the wait if there is one.
    pub(crate) async fn end_wait(&self) {
        if !self.is_waiting() {
            return;
        }
        // The switch that waits has started anew: the connection over which everything was installed may be an earlier
        // one.
        let ended = async {
            self.switch.resync().await?;
            anyhow::Ok(self.database.remove_open_vswitch_other_config(FLOW_RESTORE_WAIT).await?)
        };
        match ended.await {
            Ok(()) => info!("Flows are restored: Open vSwitch forwards"),
            Err(error) => warn!(error = format!("{error:#}"), "Flows are not restored yet"),
        }
    }

    fn is_waiting(&self) -> bool {
        let snapshot = self.database.snapshot();
        let waits = snapshot.open_vswitch().and_then(|row| row.other_config.get(FLOW_RESTORE_WAIT));
        waits.is_some_and(|value| value == "true")
    }
}
