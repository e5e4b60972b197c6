//! Lets Open vSwitch forward again after it started: whoever starts it sets `flow-restore-wait`, and when all flows are
//! back this removes it. Afterwards, once, what an earlier agent left in the switch goes.

use std::time::Duration;

use antrea_agent_cni::interface_store::InterfaceStore;
use antrea_agent_cni::reconcile::Inventory;
use antrea_agent_cni::server::CniServer;
use antrea_agent_proxy::Realized;
use antrea_agent_routing::NodeRoutes;
use antrea_ovs::ovsdb::OvsDb;
use antrea_ovs::{Round, SetKey, Switch};
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
    pub(crate) bridge: String,
    pub(crate) cni: CniServer,
    pub(crate) inventory: Inventory,
    pub(crate) interfaces: InterfaceStore,
    pub(crate) routes: watch::Receiver<NodeRoutes>,
    /// Whether the switch has all Services; none where the host serves them.
    pub(crate) services: Option<watch::Receiver<Realized>>,
    /// What the switch shall have for other clusters, if it shall have anything.
    pub(crate) clusters: Option<watch::Receiver<FlowSources>>,
    pub(crate) policies: PodPolicies,
    pub(crate) round: watch::Sender<RoundState>,
}

/// Whether flows of earlier rounds may still be in the switch.
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
                _ = retry.tick(), if self.round_is(RoundState::Begun) => {
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

    /// Asks for what is missing of the round, and finishes it when nothing is.
    async fn ask_again(&mut self) {
        self.restore_pods().await;
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

    /// If everything was installed, the flows of earlier rounds go, and then the number of this one is noted, so that
    /// an agent killed in between does it again. Otherwise those flows are all that connects somebody, and stay.
    pub(crate) async fn finish_round(&mut self) -> Result<()> {
        if self.round_is(RoundState::Finished) {
            return Ok(());
        }
        let missing = self.missing().await;
        if !missing.is_empty() {
            warn!(
                missing = missing.join(","),
                "Flows of earlier rounds stay until all of this one are there"
            );
            return Ok(());
        }
        self.switch.delete_stale(None).await.context("cannot delete the flows of earlier rounds")?;
        self.note_round().await?;
        self.round.send_replace(RoundState::Finished);
        info!(round = %self.switch.round(), "All flows are of this round");
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
            warn!(error = format!("{error:#}"), "The next agent may take flows of this one for its own");
        }
    }

    /// The sets of flows that the switch does not have.
    async fn missing(&self) -> Vec<String> {
        let interfaces = self.interfaces.containers();
        // Without a number on the bridge there are no flows.
        let numbered = interfaces.iter().filter(|interface| interface.pod_interface().is_some());
        let peers: Vec<_> = self.routes.borrow().peers.keys().map(node_routes::key).collect();
        let clusters: Vec<_> = self
            .clusters
            .iter()
            .flat_map(|wanted| wanted.borrow().keys().cloned().collect::<Vec<_>>())
            .collect();
        let mut missing = Vec::new();
        if self.services.as_ref().is_some_and(|services| *services.borrow() == Realized::NotYet) {
            missing.push("services".to_owned());
        }
        let policies = self.policies.set().map(str::to_owned);
        let pods = numbered.map(|interface| pods::key(&interface.name));
        let keys = pods.chain(peers).chain(clusters).chain(policies);
        let keys: Vec<SetKey> = keys.map(SetKey::from).collect();
        missing.extend(self.switch.missing(keys).await.iter().map(ToString::to_string));
        missing
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
