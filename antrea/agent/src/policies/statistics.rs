//! Tells the controller what policies have let through, once a minute.

use std::collections::BTreeMap;
use std::time::Duration;

use antrea_agent_policy::{Counted, Statistics};
use antrea_openflow::TableId;
use antrea_openflow::message::{FlowEntry, FlowFilter};
use antrea_ovs::Switch;
use antrea_ovs::openflow::OpenFlowError;
use antrea_pipeline::policy::Counter;
use antrea_types::NodeName;
use anyhow::{Context, Result};
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::pods::PodPolicies;
use crate::antrea_controller::AntreaController;

/// As often as upstream's agents do.
const PERIOD: Duration = Duration::from_secs(60);

/// Looks at what flows have counted, and tells the controller.
pub(crate) struct PolicyStatistics {
    pub(super) policies: PodPolicies,
    pub(super) controller: AntreaController,
    pub(super) switch: Switch,
    pub(super) tables: Vec<TableId>,
    pub(super) node: NodeName,
}

impl PolicyStatistics {
    /// Tells until `stop`. All that flows count is of rules of this agent: it gives rules other numbers than an earlier agent
    /// has left in the switch.
    pub(crate) async fn run(self, stop: CancellationToken) -> Result<()> {
        let mut statistics = Statistics::default();
        let mut ticks = interval_at(Instant::now() + PERIOD, PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // A controller that is away for a day is in the log once.
        let mut is_warned = false;
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            let Some(outcome) = stop.run_until_cancelled(self.report(&mut statistics)).await else { break };
            if let Err(error) = &outcome
                && !is_warned
            {
                let error = format!("{error:#}");
                warn!(error, "Traffic of policies was not reported; it will be with what follows");
            }
            is_warned = outcome.is_err();
        }
        Ok(())
    }

    /// What was not told, or may not have been, is told the next time.
    async fn report(&self, statistics: &mut Statistics) -> Result<()> {
        let counted = self.counted().await.context("cannot list what flows of policies have counted")?;
        let traffic = statistics.since_last(counted);
        self.policies.enforcement().attribute(statistics, traffic);
        if let Some(summary) = statistics.summary(&self.node) {
            self.controller.report_stats(&summary).await?;
            statistics.told();
        }
        Ok(())
    }

    async fn counted(&self) -> Result<BTreeMap<Counter, Counted>, OpenFlowError> {
        let channel = self.switch.connection().current()?;
        let mut all = BTreeMap::new();
        for table in &self.tables {
            let add = |entry: FlowEntry| all.extend(counted(&entry));
            channel.each_flow_entry(FlowFilter::table(*table), add).await?;
        }
        Ok(all)
    }
}

fn counted(entry: &FlowEntry) -> Option<(Counter, Counted)> {
    let statistics = &entry.statistics;
    let (age, packets, bytes) = (statistics.duration, statistics.packets?, statistics.bytes?);
    Some((Counter::of(&entry.flow)?, Counted { age, packets, bytes }))
}
