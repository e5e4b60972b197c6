//! What AntreaAgentInfo tells, looked up where it is.

use std::collections::BTreeMap;
use std::future::pending;

use antrea_agent_cni::interface_store::InterfaceStore;
use antrea_agent_routing::NodeRoutes;
use antrea_kit::health::Check;
use antrea_openflow::TableId;
use antrea_openflow::message::FlowFilter;
use antrea_ovs::Switch;
use antrea_ovs::ovsdb::{Link, OvsDb};
use anyhow::{Context, Result};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::agent_info::{ConnectionState, Observation, Observe};
use crate::antrea_controller::AntreaController;
use crate::multicluster::{FlowSources, admits};
use crate::policies::PodPolicies;

/// Where the agent looks.
#[derive(Clone)]
pub(crate) struct Observer {
    pub(crate) database: OvsDb,
    pub(crate) switch: Switch,
    pub(crate) store: InterfaceStore,
    pub(crate) tables: Vec<(TableId, String)>,
    pub(crate) routes: watch::Receiver<NodeRoutes>,
    /// None where Pods do not reach other clusters.
    pub(crate) clusters: Option<watch::Receiver<FlowSources>>,
    /// None where the cluster has none.
    pub(crate) controller: Option<AntreaController>,
    pub(crate) policies: PodPolicies,
}

impl Observe for Observer {
    async fn observe(&self) -> Observation {
        let flow_table = self.flow_counts().await;
        Observation {
            ovs_version: self.database.ovs_version().unwrap_or_default(),
            ovsdb: state(*self.database.link().borrow() == Link::Up),
            openflow: state(flow_table.is_some()),
            controller: self.controller.as_ref().map(|controller| controller.state().connection),
            policies: self.policies.counts(),
            flow_table: flow_table.unwrap_or_default(),
            local_pods: i32::try_from(self.store.containers().len()).unwrap_or(i32::MAX),
            problems: problems(&self.routes.borrow()),
            admits: self.clusters.as_ref().and_then(|wanted| admits(&wanted.borrow())),
        }
    }

    async fn outdated(&mut self, told: &Observation) {
        let Self { routes, clusters, .. } = self;
        let of_clusters = async {
            match clusters {
                Some(wanted) => until(wanted, |wanted| admits(wanted) != told.admits).await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = until(routes, |routes| problems(routes) != told.problems) => {}
            () = of_clusters => {}
        }
    }
}

/// Waits until a value is like that; forever where nobody computes it any more. What computes it ends before this component.
async fn until<T>(value: &mut watch::Receiver<T>, is: impl FnMut(&T) -> bool) {
    if value.wait_for(is).await.is_err() {
        pending::<()>().await;
    }
}

fn problems(routes: &NodeRoutes) -> Vec<String> {
    routes.problems.iter().map(|(node, problem)| format!("Node {node}: {problem}")).collect()
}

impl Observer {
    /// How many flows the switch has in each table; `None` while it does not answer.
    pub(crate) async fn table_sizes(&self) -> Option<Vec<(TableId, &str, u32)>> {
        let channel = self.switch.connection().current().ok()?;
        let mut sizes = Vec::new();
        for (table, name) in &self.tables {
            let totals = channel.aggregate(FlowFilter::table(*table)).await.ok()?;
            sizes.push((*table, name.as_str(), totals.flows));
        }
        Some(sizes)
    }

    async fn flow_counts(&self) -> Option<BTreeMap<String, i32>> {
        let sizes = self.table_sizes().await?.into_iter();
        let count = |flows: u32| i32::try_from(flows).unwrap_or(i32::MAX);
        Some(sizes.map(|(_, name, flows)| (name.to_owned(), count(flows))).collect())
    }
}

/// Sets a check to whether the agent is connected to the switch, until `stop`.
pub(crate) async fn check_connection(switch: Switch, check: Check, stop: CancellationToken) -> Result<()> {
    let mut channel = switch.connection().channel();
    loop {
        match channel.borrow_and_update().is_some() {
            true => check.pass(),
            false => check.fail("there is no OpenFlow connection to ovs-vswitchd"),
        }
        match stop.run_until_cancelled(channel.changed()).await {
            Some(outcome) => outcome.context("the connection to the switch ended")?,
            None => return Ok(()),
        }
    }
}

const fn state(up: bool) -> ConnectionState {
    if up { ConnectionState::Up } else { ConnectionState::Down }
}
