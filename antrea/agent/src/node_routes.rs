//! The way to the Pods of other Nodes: watches Nodes, and keeps a set of flows for each peer in the switch.
//!
//! What the kernel needs for the same peers is handed to `host_network`, which is the one writer there.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use antrea_agent_routing::{NodeFacts, NodeRecord, NodeRoutes, OwnNode, Problem, plan};
use antrea_kit::kube_client::bounded;
use antrea_kit::watch::WatchEvent;
use antrea_ovs::Switch;
use antrea_pipeline::{Peer, Pipeline};
use antrea_shared_api::well_known::node_annotation;
use antrea_types::NodeName;
use anyhow::{Context, Result, ensure};
use futures::future::join_all;
use k8s_openapi::api::core::v1::Node;
use kube::api::ListParams;
use kube::{Api, Client};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::node::{addresses, all_addresses, eligibility, pod_cidrs};
use crate::own_annotation::TransportAddresses;

/// How soon a peer that the switch refused is tried again.
const RETRY: Duration = Duration::from_secs(60);

/// How long the flows to a new peer wait for the host to let its packets in.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where the cloud or the administrator says which zone a Node is in.
const ZONE_LABEL: &str = "topology.kubernetes.io/zone";

/// Where the host lets packets of the tunnel in from.
pub(crate) type LetIn = Arc<watch::Sender<BTreeSet<IpAddr>>>;

/// Keeps flows to peers in line with Nodes.
pub(crate) struct NodeRouteController {
    own: OwnNode,
    pipeline: Arc<Pipeline>,
    switch: Switch,
    nodes: BTreeMap<NodeName, NodeRecord>,
    installed: BTreeMap<NodeName, Peer>,
    reported: Vec<(NodeName, Problem)>,
    routes: watch::Sender<NodeRoutes>,
    let_in: LetIn,
    facts: watch::Sender<NodeFacts>,
    own_annotation: watch::Sender<Option<TransportAddresses>>,
}

/// What is kept of a Node; `None` for a name that cannot be one.
pub(crate) fn record(node: Node) -> Option<NodeRecord> {
    let (pod_cidrs, addresses, all_addresses) = (pod_cidrs(&node), addresses(&node), all_addresses(&node));
    let eligibility = eligibility(&node);
    let annotations = node.metadata.annotations.unwrap_or_default();
    Some(NodeRecord {
        name: node.metadata.name?.parse().ok()?,
        created: node.metadata.creation_timestamp.map_or(0, |time| time.0.as_second()),
        pod_cidrs,
        addresses,
        all_addresses,
        eligibility,
        zone: node.metadata.labels.unwrap_or_default().remove(ZONE_LABEL),
        transport_addresses: annotations.get(node_annotation::TRANSPORT_ADDRESSES).cloned(),
        tunnel_sources: annotations.get(node_annotation::TUNNEL_SOURCES).cloned(),
    })
}

/// All Nodes as they are now.
pub(crate) async fn list(client: &Client) -> Result<Vec<NodeRecord>> {
    let api: Api<Node> = Api::all(client.clone());
    let nodes = bounded(api.list(&ListParams::default())).await.context("cannot list Nodes")?;
    Ok(nodes.items.into_iter().filter_map(record).collect())
}

impl NodeRouteController {
    /// Begins with `nodes`, of which nothing is installed yet. The second value is what the kernel needs.
    pub(crate) fn new(
        own: OwnNode,
        pipeline: Arc<Pipeline>,
        switch: Switch,
        nodes: Vec<NodeRecord>,
    ) -> (Self, watch::Receiver<NodeRoutes>) {
        let (routes, receiver) = watch::channel(plan(&own, &nodes));
        // Peers known at start do not wait: their flows are replaced in one transaction with all others.
        let let_in = Arc::new(watch::Sender::new(receiver.borrow().far_ends()));
        let facts = watch::Sender::new(NodeFacts::of(&own.name, &nodes));
        let nodes = nodes.into_iter().map(|node| (node.name.clone(), node)).collect();
        let controller = Self {
            own,
            pipeline,
            switch,
            nodes,
            installed: BTreeMap::new(),
            reported: Vec::new(),
            routes,
            let_in,
            facts,
            own_annotation: watch::Sender::new(None),
        };
        controller.tell_own_annotation();
        (controller, receiver)
    }

    /// Where the host says whose packets it lets in.
    pub(crate) fn let_in(&self) -> LetIn {
        Arc::clone(&self.let_in)
    }

    /// What Services depend on of Nodes.
    pub(crate) fn facts(&self) -> watch::Receiver<NodeFacts> {
        self.facts.subscribe()
    }

    /// The transport addresses of the own Node as they are; `None` while there is no such Node.
    pub(crate) fn own_annotation(&self) -> watch::Receiver<Option<TransportAddresses>> {
        self.own_annotation.subscribe()
    }

    fn tell_own_annotation(&self) {
        let own = self.nodes.get(&self.own.name).map(|node| node.transport_addresses.clone());
        self.own_annotation.send_if_modified(|present| {
            let changed = *present != own;
            *present = own;
            changed
        });
    }

    /// Follows Nodes until `stop`.
    pub(crate) async fn run(
        mut self,
        mut events: mpsc::Receiver<WatchEvent<NodeRecord>>,
        stop: CancellationToken,
    ) -> Result<()> {
        // Not anew after each event: the heartbeats of many Nodes would put it off for ever.
        let mut retry = tokio::time::interval_at(Instant::now() + RETRY, RETRY);
        loop {
            let event = tokio::select! {
                () = stop.cancelled() => return Ok(()),
                event = events.recv() => event.context("the watch of Nodes ended")?,
                _ = retry.tick() => {
                    stop.run_until_cancelled(self.realize()).await;
                    continue;
                }
            };
            let mut changed = self.apply(event);
            while let Ok(event) = events.try_recv() {
                changed |= self.apply(event);
            }
            self.ensure_it_is_the_same_node()?;
            if changed {
                self.tell_own_annotation();
                stop.run_until_cancelled(self.realize()).await;
            }
        }
    }

    /// Whether a Node changed in what matters here; most updates of Nodes are heartbeats.
    fn apply(&mut self, event: WatchEvent<NodeRecord>) -> bool {
        match event {
            WatchEvent::Resynced(nodes) => {
                let nodes: BTreeMap<_, _> = nodes.into_iter().map(|node| (node.name.clone(), node)).collect();
                let changed = nodes != self.nodes;
                self.nodes = nodes;
                changed
            }
            WatchEvent::Applied(node) => self.nodes.insert(node.name.clone(), node.clone()) != Some(node),
            WatchEvent::Deleted(node) => self.nodes.remove(&node.name).is_some(),
        }
    }

    /// A Node that was removed from the cluster and added again may have got other networks: all begins anew then.
    fn ensure_it_is_the_same_node(&self) -> Result<()> {
        let Some(record) = self.nodes.get(&self.own.name) else { return Ok(()) };
        ensure!(
            self.own.has_networks_of(record),
            "the Pod CIDRs of this Node were {} and are {:?} now: it was added to the cluster again; starting anew",
            self.own.pod_cidrs.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
            record.pod_cidrs
        );
        Ok(())
    }

    /// Brings the switch in line with Nodes, and tells what the kernel needs.
    pub(crate) async fn realize(&mut self) {
        let nodes: Vec<NodeRecord> = self.nodes.values().cloned().collect();
        let facts = NodeFacts::of(&self.own.name, &nodes);
        self.facts.send_if_modified(|present| {
            let changed = *present != facts;
            *present = facts;
            changed
        });
        let routes = plan(&self.own, &nodes);
        self.report(&routes.problems);
        let wanted: BTreeMap<NodeName, Peer> =
            routes.peers.iter().map(|(name, plan)| (name.clone(), plan.peer.clone())).collect();
        let sending = routes.far_ends();
        self.routes.send_if_modified(|present| {
            let changed = *present != routes;
            *present = routes;
            changed
        });
        let gone: Vec<NodeName> =
            self.installed.keys().filter(|name| !wanted.contains_key(*name)).cloned().collect();
        let new: Vec<Peer> = wanted
            .into_iter()
            .filter(|(name, peer)| self.installed.get(name) != Some(peer))
            .map(|(_, peer)| peer)
            .collect();
        let expected =
            new.iter().flat_map(|peer| &peer.addresses).filter(|address| sending.contains(address));
        if !are_let_in(&self.let_in, expected.copied().collect()).await {
            warn!(waited = ?PATIENCE, "The host firewall does not admit all peers yet; installing their flows anyway");
        }
        self.remove_flows(&gone).await;
        self.install_flows(new).await;
    }

    async fn remove_flows(&mut self, gone: &[NodeName]) {
        let removed = join_all(gone.iter().map(|name| self.switch.remove(key(name)))).await;
        for (name, outcome) in gone.iter().zip(removed) {
            match outcome {
                Ok(()) => {
                    self.installed.remove(name);
                    info!(peer = %name, "Removed the flows to a Node that is gone");
                }
                Err(error) => warn!(peer = %name, %error, "Flows to a Node were not removed"),
            }
        }
    }

    async fn install_flows(&mut self, new: Vec<Peer>) {
        let installed = join_all(
            new.iter().map(|peer| self.switch.apply(key(&peer.node), self.pipeline.peer_flows(peer))),
        )
        .await;
        for (peer, outcome) in new.into_iter().zip(installed) {
            match outcome {
                Ok(()) => {
                    info!(peer = %peer.node, "Installed the flows to a Node");
                    self.installed.insert(peer.node.clone(), peer);
                }
                Err(error) => warn!(peer = %peer.node, %error, "Flows to a Node were not installed"),
            }
        }
    }

    /// Tells of each problem once, and when it is gone.
    fn report(&mut self, problems: &[(NodeName, Problem)]) {
        for (node, problem) in problems.iter().filter(|problem| !self.reported.contains(problem)) {
            warn!(%node, %problem, "Pods of a Node cannot be reached");
        }
        for (node, problem) in self.reported.iter().filter(|problem| !problems.contains(problem)) {
            info!(%node, %problem, "A problem with a Node is gone");
        }
        self.reported = problems.to_vec();
    }
}

/// Waits until the host firewall admits the peers' addresses, since replies arrive as soon as the flows are installed. Gives up
/// after [`PATIENCE`].
async fn are_let_in(let_in: &LetIn, far_ends: BTreeSet<IpAddr>) -> bool {
    timeout(PATIENCE, let_in.subscribe().wait_for(|there| far_ends.is_subset(there))).await.is_ok()
}

/// The set of flows to a peer.
pub(crate) fn key(node: &NodeName) -> String {
    format!("peer/{node}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

    use futures::FutureExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn flows_to_a_new_peer_wait_until_the_host_lets_its_packets_in() {
        let [first, second] = ["172.18.0.2", "fd00:18::2"].map(|text| text.parse::<IpAddr>().unwrap());
        let let_in: LetIn = Arc::new(watch::Sender::new([first].into()));
        let mut waiting = std::pin::pin!(are_let_in(&let_in, [first, second].into()));
        assert_eq!(waiting.as_mut().now_or_never(), None);
        let_in.send_replace([first, second].into());
        assert!(waiting.await);
    }

    #[tokio::test(start_paused = true)]
    async fn flows_to_a_new_peer_do_not_wait_for_ever_for_a_host_in_trouble() {
        let let_in = LetIn::default();
        assert!(!are_let_in(&let_in, ["172.18.0.2".parse().unwrap()].into()).await);
        assert!(are_let_in(&let_in, BTreeSet::new()).await, "there is nobody to wait for");
    }
}
