//! NetworkPolicies: what antrea-controller says of them, in the switch.
//!
//! What is decided is decided in `antrea-agent-policy` and `antrea-pipeline`; here is who waits for whom: a Pod is connected
//! once its policies are in the switch, an agent that starts connects nobody before policies are known.

mod enforcement;
mod files;
mod keeper;
mod no_controller;
mod notes;
mod pods;
mod statistics;
mod statuses;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::Path;

use antrea_agent_policy::ConjunctionIds;
use antrea_agent_policy_files::{FOLDER, FileStore};
use antrea_config::{AgentConfig, Controller, NETWORK_POLICY_STATS, Status};
use antrea_openflow::message::FlowFilter;
use antrea_ovs::Switch;
use antrea_ovs::ovsdb::OvsDb;
use antrea_pipeline::Pipeline;
use antrea_pipeline::policy::ConjunctionId;
use antrea_types::NodeName;
use anyhow::{Context, Result};
use kube::Client;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::antrea_controller::{AntreaController, Heard, watch_policies};
use enforcement::Enforcement;
use files::PolicyFiles;
use keeper::PolicyKeeper;
use notes::Notes;

pub(crate) use pods::PodPolicies;
pub(crate) use statistics::PolicyStatistics;
pub(crate) use statuses::{Reports, report};

/// What watches may have sent before it is taken in.
const HEARD: usize = 4096;

/// All that enforces policies, before it runs.
pub(crate) struct PolicyComponents {
    pub(crate) keeper: PolicyKeeper,
    pub(crate) files: FileStore,
    pub(crate) watches: PolicyWatches,
    pub(crate) pods: PodPolicies,
    /// None where the cluster has none.
    pub(crate) controller: Option<AntreaController>,
    pub(crate) reports: watch::Receiver<Reports>,
    /// None where the feature is off, or nobody is there to be told.
    pub(crate) statistics: Option<PolicyStatistics>,
}

/// What policies stand on.
pub(crate) struct PolicyBase<'a> {
    pub(crate) config: &'a AgentConfig,
    pub(crate) client: &'a Client,
    pub(crate) node: &'a NodeName,
    pub(crate) database: &'a OvsDb,
    pub(crate) switch: &'a Switch,
    pub(crate) pipeline: &'a Pipeline,
}

impl PolicyComponents {
    /// Begins to watch policies, where there is a controller.
    pub(crate) async fn new(base: PolicyBase<'_>) -> Result<Self> {
        let PolicyBase { config, client, node, database, switch, pipeline } = base;
        let flows = pipeline.policy_flows().context("the pipeline has no tables for policies")?;
        let (sender, heard) = mpsc::channel(HEARD);
        let controller = match config.controller {
            Controller::Installed => {
                Some(AntreaController::new(client.clone(), config.controller_token_audience.as_deref()))
            }
            Controller::Absent => None,
        };
        let watches = match &controller {
            Some(controller) => PolicyWatches::begin(controller.clone(), node.clone(), sender),
            None => PolicyWatches::none(sender)?,
        };
        let in_use = numbers_in_use(switch, pipeline).await?;
        let ids = ConjunctionIds::new(in_use, ConjunctionIds::SHORTEST_REST);
        let notes = Notes { database: database.clone(), bridge: config.ovs.bridge.to_string() };
        let enforcement = Enforcement::new(ids, flows, switch.clone());
        let files = FileStore::open(Path::new(FOLDER));
        let noted_files = PolicyFiles::new(files.clone(), notes.clone());
        let pods = PodPolicies::new(enforcement, notes, config.new_pods_without_controller);
        let gate = config.feature_gates.status(NETWORK_POLICY_STATS);
        let told = controller.clone().filter(|_| gate == Status::Enabled);
        let statistics = told.map(|controller| PolicyStatistics {
            policies: pods.clone(),
            controller,
            switch: switch.clone(),
            tables: pipeline.policy_metric_tables().collect(),
            node: node.clone(),
        });
        let keeper = PolicyKeeper {
            policies: pods.clone(),
            controller: controller.clone(),
            node: node.clone(),
            heard,
            files: noted_files,
            reports: watch::Sender::default(),
        };
        let reports = keeper.reports.subscribe();
        Ok(Self { keeper, files, watches, pods, controller, reports, statistics })
    }
}

/// The numbers of rules that an earlier agent left in the switch.
async fn numbers_in_use(switch: &Switch, pipeline: &Pipeline) -> Result<BTreeSet<ConjunctionId>> {
    let channel = switch.connection().connected().await.context("there is no connection to the switch")?;
    let mut numbers = BTreeSet::new();
    for table in pipeline.policy_rule_tables() {
        let flows = channel.dump_flows(FlowFilter::table(table)).await;
        let flows = flows.context("cannot list the flows of policies")?;
        numbers.extend(flows.iter().filter_map(ConjunctionId::admitted_by));
    }
    Ok(numbers)
}

/// The watches, which begin before all else is there; they end when this is dropped.
pub(crate) enum PolicyWatches {
    /// Those of the controller.
    OfController {
        /// What watches.
        task: JoinHandle<Result<()>>,
        /// What ends it.
        end: DropGuard,
    },
    /// There is no controller. It is kept that somebody could say something, or policies would be taken for lost.
    None(mpsc::Sender<Heard>),
}

impl PolicyWatches {
    fn begin(controller: AntreaController, node: NodeName, heard: mpsc::Sender<Heard>) -> Self {
        let stop = CancellationToken::new();
        let task = tokio::spawn(watch_policies(controller, node, heard, stop.clone()));
        Self::OfController { task, end: stop.drop_guard() }
    }

    /// Has it heard that there are no policies.
    fn none(heard: mpsc::Sender<Heard>) -> Result<Self> {
        for said in no_controller::says() {
            heard.try_send(said).context("nobody listens for policies")?;
        }
        Ok(Self::None(heard))
    }

    /// Goes on watching until `stop`.
    pub(crate) async fn run(self, stop: CancellationToken) -> Result<()> {
        let (mut task, end) = match self {
            Self::OfController { task, end } => (task, end),
            Self::None(_heard) => {
                stop.cancelled().await;
                return Ok(());
            }
        };
        tokio::select! {
            outcome = &mut task => return outcome.context("the watches of policies broke")?,
            () = stop.cancelled() => drop(end),
        }
        task.await.context("the watches of policies broke")?
    }
}
