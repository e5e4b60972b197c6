//! Keeps `node.antrea.io/tunnel-sources` of the own Node: peers take packets of the tunnel from addresses that they know alone,
//! and the kernel may send from others, by its routes. Most Nodes have no such address, and no annotation.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use antrea_agent_routing::NodeRoutes;
use antrea_host::{AddressWatch, Netlink, NetlinkError};
use antrea_types::NodeName;
use anyhow::{Context, Result};
use kube::Client;
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::node::annotate_tunnel_sources;

/// How often the kernel is asked again: nobody tells of changed routes.
const PERIOD: Duration = Duration::from_secs(60);

/// How often the annotation is written at most: all Nodes hear of it.
const PAUSE: Duration = Duration::from_secs(5);

/// Where tunnels of this Node come from.
pub(crate) struct TunnelSources {
    node: NodeName,
    client: Client,
    netlink: Netlink,
    changes: AddressWatch,
    routes: watch::Receiver<NodeRoutes>,
    /// By where they go, as the kernel has said.
    sources: BTreeMap<IpAddr, Option<IpAddr>>,
}

impl TunnelSources {
    pub(crate) fn new(
        node: NodeName,
        client: Client,
        netlink: Netlink,
        routes: watch::Receiver<NodeRoutes>,
    ) -> Result<Self> {
        let changes = AddressWatch::current().context("cannot watch the addresses of this Node")?;
        Ok(Self { node, client, netlink, changes, routes, sources: BTreeMap::new() })
    }

    /// Keeps the annotation until `stop`.
    pub(crate) async fn keep(mut self, stop: CancellationToken) -> Result<()> {
        stop.run_until_cancelled(self.follow()).await.unwrap_or(Ok(()))
    }

    async fn follow(&mut self) -> Result<()> {
        loop {
            self.annotate().await;
            tokio::select! {
                // Who computes routes ends before this component does.
                Ok(()) = self.routes.changed() => {}
                changed = self.changes.changed() => {
                    changed.context("the addresses of this Node cannot be followed")?;
                    self.sources.clear();
                }
                () = sleep(PERIOD) => self.sources.clear(),
            }
        }
    }

    /// Changes the annotation if it is not what it has to be.
    async fn annotate(&mut self) {
        let (remotes, own) = {
            let routes = self.routes.borrow_and_update();
            (routes.remotes(), routes.own_sources.clone())
        };
        let Some(own) = own else { return };
        let sources = match self.sources_to(&remotes).await {
            Ok(sources) => sources,
            Err(error) => {
                return warn!(error = &error as &dyn std::error::Error, "Sources of tunnels are not known");
            }
        };
        let (wanted, present) = (own.annotation_for(&sources), own.annotation);
        if wanted == present {
            return;
        }
        warn!(node = %self.node, ?wanted, ?present, "Tunnels of this Node come from other addresses than peers know");
        if let Err(error) = annotate_tunnel_sources(&self.client, &self.node, wanted.as_deref()).await {
            warn!(error = format!("{error:#}"), "Peers were not told where tunnels of this Node come from");
        }
        sleep(PAUSE).await;
    }

    /// Asks the kernel about those alone that it was not asked about yet.
    async fn sources_to(&mut self, remotes: &BTreeSet<IpAddr>) -> Result<BTreeSet<IpAddr>, NetlinkError> {
        self.sources.retain(|remote, _| remotes.contains(remote));
        for remote in remotes {
            if !self.sources.contains_key(remote) {
                self.sources.insert(*remote, self.netlink.source_to(*remote).await?);
            }
        }
        Ok(self.sources.values().flatten().copied().collect())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

    use antrea_agent_routing::{NodeRecord, OwnNode, TrafficMode, TunnelProtocol, plan};
    use antrea_hostplan::Transport;
    use antrea_kit::object_files;
    use antrea_shared_api::well_known::node_annotation::TUNNEL_SOURCES;
    use ipnet::IpNet;
    use k8s_openapi::api::core::v1::Node;
    use kube::Api;

    use super::*;
    use crate::isolated::{isolated, sh};
    use crate::node_routes::record;

    fn own() -> OwnNode {
        OwnNode {
            name: "node-a".parse().unwrap(),
            pod_cidrs: ["10.11.0.0/24".parse::<IpNet>().unwrap()].into_iter().collect(),
            gateway: "antrea-gw0".parse().unwrap(),
            transport: Transport {
                interface: "one".parse().unwrap(),
                addresses: ["172.18.0.11/24".parse::<IpNet>().unwrap()].into_iter().collect(),
            },
            mode: TrafficMode::Encap,
            tunnel: TunnelProtocol::Geneve,
        }
    }

    fn node(name: &str, address: &str, pod_cidr: &str) -> Node {
        serde_json::from_value(serde_json::json!({
            "metadata": { "name": name },
            "spec": { "podCIDRs": [pod_cidr] },
            "status": { "addresses": [{ "type": "InternalIP", "address": address }] },
        }))
        .unwrap()
    }

    /// What is planned while the own Node has that annotation.
    fn routes(annotation: Option<&str>) -> NodeRoutes {
        let nodes = [("node-a", "172.18.0.11", "10.11.0.0/24"), ("node-b", "172.18.0.12", "10.11.1.0/24")];
        let mut nodes: Vec<NodeRecord> =
            nodes.into_iter().filter_map(|(name, address, cidr)| record(node(name, address, cidr))).collect();
        nodes[0].tunnel_sources = annotation.map(str::to_owned);
        plan(&own(), &nodes)
    }

    async fn annotation(client: &Client) -> Option<String> {
        let node = Api::<Node>::all(client.clone()).get("node-a").await.unwrap();
        node.metadata.annotations.unwrap_or_default().remove(TUNNEL_SOURCES)
    }

    #[test]
    fn peers_are_told_of_addresses_that_they_do_not_know_and_of_no_others() {
        isolated("tunnel sources", async || {
            sh("ip link add one type bridge; ip link set one up; ip address add 172.18.0.11/24 dev one");
            let folder = tempfile::tempdir().unwrap();
            let node = serde_json::to_string(&node("node-a", "172.18.0.11", "10.11.0.0/24")).unwrap();
            std::fs::write(folder.path().join("node.yaml"), node).unwrap();
            let client = object_files::client(folder.path()).unwrap();
            let (told, receiver) = watch::channel(routes(None));
            let netlink = Netlink::current().unwrap();
            let mut sources =
                TunnelSources::new("node-a".parse().unwrap(), client.clone(), netlink, receiver).unwrap();
            sources.annotate().await;
            assert_eq!(annotation(&client).await, None);
            tokio::time::pause();
            let stop = CancellationToken::new();
            let keeping = tokio::spawn(sources.keep(stop.clone()));
            sh("ip address add 192.0.2.11/32 dev one");
            sh("ip route add 172.18.0.12/32 dev one src 192.0.2.11");
            while annotation(&client).await.as_deref() != Some("192.0.2.11") {
                sleep(Duration::from_secs(1)).await;
            }
            told.send_replace(routes(Some("192.0.2.11")));
            sh("ip address delete 192.0.2.11/32 dev one");
            while annotation(&client).await.is_some() {
                sleep(Duration::from_secs(1)).await;
            }
            stop.cancel();
            keeping.await.unwrap().unwrap();
        });
    }
}
