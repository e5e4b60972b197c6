//! Keeps the switch in line with Gateways and ClusterInfoImports.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use antrea_agent_multicluster::{
    ClusterSetPlan, FlowSource, LocalGateway, OtherCluster, OwnCluster, OwnGateways, PeerGateway, Subject,
    plan,
};
use antrea_agent_routing::{NodeFacts, NodeRoutes};
use antrea_kit::watch::WatchEvent;
use antrea_openflow::Flow;
use antrea_ovs::Switch;
use antrea_pipeline::Pipeline;
use antrea_pipeline::multicluster::{Admits, GatewayRole};
use antrea_types::NodeName;
use anyhow::{Context, Result};
use kube::Client;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, interval_at};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::notices::Notices;
use super::objects::{Record, Records, list, record_cluster, record_gateway};
use super::{FlowSources, MulticlusterSetup};
use crate::events::{Notice, NoticeQueue};

/// How soon a set of flows that the switch refused is tried again.
const RETRY: Duration = Duration::from_secs(60);

/// What connections to other clusters stand on.
pub(crate) struct ClusterSetBase {
    pub(crate) node: NodeName,
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) switch: Switch,
    pub(crate) nodes: watch::Receiver<NodeFacts>,
    pub(crate) routes: watch::Receiver<NodeRoutes>,
}

/// Keeps the switch in line with Gateways and ClusterInfoImports.
pub(crate) struct MulticlusterController {
    base: ClusterSetBase,
    /// Read again when Nodes change, and not for each plan: a cluster may have thousands.
    own: OwnCluster,
    gateways: Records<LocalGateway>,
    clusters: Records<OtherCluster>,
    own_gateways: OwnGateways,
    role: Option<GatewayRole>,
    wanted: watch::Sender<FlowSources>,
    peers: watch::Sender<BTreeSet<PeerGateway>>,
    /// The sets that were asked for; with their source as soon as the switch has them.
    asked: BTreeMap<String, Option<FlowSource>>,
    notices: Notices,
}

impl MulticlusterController {
    /// Begins with the objects as they are now, of which nothing is installed yet. The second value is for
    /// [`crate::events::report_notices`].
    pub(crate) async fn new(
        setup: MulticlusterSetup,
        client: &Client,
        base: ClusterSetBase,
    ) -> Result<(Self, mpsc::Receiver<Notice>)> {
        let MulticlusterSetup { namespace, pod_to_pod, tunnel } = setup;
        let (gateways, clusters) = tokio::try_join!(
            list(client, &namespace, record_gateway),
            list(client, &namespace, record_cluster)
        )?;
        let (queue, for_events) = NoticeQueue::new();
        // Services are known by the Gateway's `serviceCIDR`.
        let own = OwnCluster {
            node: base.node.clone(),
            networks: base.routes.borrow().pod_cidrs(),
            node_addresses: node_addresses(&base.nodes.borrow()),
            pod_to_pod,
            tunnel,
        };
        let mut controller = Self {
            base,
            own,
            gateways,
            clusters,
            own_gateways: OwnGateways::default(),
            role: None,
            wanted: watch::Sender::default(),
            peers: watch::Sender::default(),
            asked: BTreeMap::new(),
            notices: Notices::new(namespace, queue),
        };
        // Published before the host is set up, so that its first rules admit other clusters' Gateways.
        let wanted = controller.plan().flow_sources();
        controller.wanted.send_replace(wanted);
        Ok((controller, for_events))
    }

    /// The sets of flows that the switch shall have.
    pub(crate) fn wanted(&self) -> watch::Receiver<FlowSources> {
        self.wanted.subscribe()
    }

    /// The Gateways of other clusters.
    pub(crate) fn peers(&self) -> watch::Receiver<BTreeSet<PeerGateway>> {
        self.peers.subscribe()
    }

    /// Follows the objects until `stop`.
    pub(crate) async fn run(
        mut self,
        mut gateways: mpsc::Receiver<WatchEvent<Record<LocalGateway>>>,
        mut clusters: mpsc::Receiver<WatchEvent<Record<OtherCluster>>>,
        stop: CancellationToken,
    ) -> Result<()> {
        // Not restarted after each event, which could put it off forever.
        let mut retry = interval_at(Instant::now() + RETRY, RETRY);
        loop {
            let mut changed = tokio::select! {
                () = stop.cancelled() => return Ok(()),
                event = gateways.recv() => self.gateways.learn(event.context("the watch of Gateways ended")?),
                event = clusters.recv() => {
                    self.clusters.learn(event.context("the watch of ClusterInfoImports ended")?)
                }
                Ok(()) = self.base.nodes.changed() => {
                    self.own.node_addresses = node_addresses(&self.base.nodes.borrow());
                    true
                }
                Ok(()) = self.base.routes.changed() => {
                    self.own.networks = self.base.routes.borrow().pod_cidrs();
                    true
                }
                // Of Gateways that have gone, no event says when they are gone for long enough.
                _ = retry.tick() => true,
            };
            while let Ok(event) = gateways.try_recv() {
                changed |= self.gateways.learn(event);
            }
            while let Ok(event) = clusters.try_recv() {
                changed |= self.clusters.learn(event);
            }
            if changed {
                stop.run_until_cancelled(self.realize()).await;
            }
        }
    }

    /// Brings the switch in line with the objects.
    pub(crate) async fn realize(&mut self) {
        let plan = self.plan();
        self.tell_role(plan.role);
        let wanted = plan.flow_sources();
        self.notices.set(plan.problems, |subject| match subject {
            Subject::Gateway(name) => self.gateways.get(name).map(|record| record.uid.clone()),
            Subject::ClusterInfoImport(name) => self.clusters.get(name).map(|record| record.uid.clone()),
        });
        self.peers.send_replace(plan.peers);
        self.wanted.send_if_modified(|present| {
            let changed = *present != wanted;
            present.clone_from(&wanted);
            changed
        });
        self.install(wanted).await;
    }

    fn plan(&mut self) -> ClusterSetPlan {
        let mut plan = plan(&self.own, &self.gateways.objects(), &self.clusters.objects());
        let peers = peers_by_name(&self.base.routes.borrow());
        plan.gateways = self.own_gateways.update(&plan.gateways, &peers, Instant::now().into_std());
        plan
    }

    /// New sets before old ones go: a network that moves from one set to another is in the switch all the time.
    async fn install(&mut self, wanted: FlowSources) {
        let gone: Vec<String> = self.asked.keys().filter(|key| !wanted.contains_key(*key)).cloned().collect();
        let mut asked = Vec::new();
        for (key, source) in wanted {
            if self.asked.get(&key).is_some_and(|installed| installed.as_ref() == Some(&source)) {
                continue;
            }
            asked.push((
                self.base.switch.ask(key.clone(), flows(&self.base.pipeline, &source)),
                key.clone(),
                source,
            ));
            self.asked.insert(key, None);
        }
        for (asked, set, source) in asked {
            match asked.done().await {
                Ok(()) => {
                    info!(set, "Installed flows to other clusters");
                    self.asked.insert(set, Some(source));
                }
                Err(error) => warn!(set, %error, "Flows to other clusters were not installed; trying again"),
            }
        }
        for set in gone {
            match self.base.switch.remove(set.clone()).await {
                Ok(()) => {
                    info!(set, "Removed flows to other clusters");
                    self.asked.remove(&set);
                }
                Err(error) => warn!(set, %error, "Flows to other clusters were not removed; trying again"),
            }
        }
    }

    fn tell_role(&mut self, role: Option<GatewayRole>) {
        if self.role == role {
            return;
        }
        match role {
            None => info!("There is no Gateway any more: nothing goes to other clusters"),
            Some(GatewayRole::Regular { gateway }) => {
                info!(%gateway, "Other clusters are reached by a Gateway");
            }
            Some(GatewayRole::Standby { gateway, address }) => {
                info!(%gateway, %address, "This Node is the next Gateway");
            }
            Some(GatewayRole::Gateway { address, admits: Admits::Listed }) => {
                info!(%address, "This Node is the Gateway");
            }
            Some(GatewayRole::Gateway { address, admits: Admits::Everything }) => {
                warn!(%address, "This Node is the Gateway, and its object does not say what is exported: other clusters reach everything");
            }
        }
        self.role = role;
    }
}

/// Not those of annotations: with them an agent could take addresses from other clusters.
fn node_addresses(facts: &NodeFacts) -> Vec<IpAddr> {
    facts.addresses.iter().copied().collect()
}

/// The IPv4 addresses that other Nodes send from.
fn peers_by_name(routes: &NodeRoutes) -> BTreeMap<String, BTreeSet<Ipv4Addr>> {
    let ipv4 = |address: &IpAddr| match address {
        IpAddr::V4(address) => Some(*address),
        IpAddr::V6(_) => None,
    };
    let peers = routes.peers.values().map(|plan| &plan.peer);
    peers.map(|peer| (peer.node.to_string(), peer.addresses.iter().filter_map(ipv4).collect())).collect()
}

fn flows(pipeline: &Pipeline, source: &FlowSource) -> Vec<Flow> {
    match source {
        FlowSource::Role(role) => pipeline.gateway_role_flows(role),
        FlowSource::Exported(networks) => pipeline.exported_flows(networks),
        FlowSource::OwnGateway(addresses) => {
            addresses.iter().filter_map(|address| pipeline.own_gateway_flow(*address)).collect()
        }
        FlowSource::Cluster(role, cluster) => pipeline.remote_cluster_flows(role, cluster),
    }
}
