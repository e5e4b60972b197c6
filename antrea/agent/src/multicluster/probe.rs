//! The report of a Gateway's Node, which says that its agent works, and which Nodes and which Gateways of other clusters it
//! reaches through the tunnel.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::time::Duration;

use antrea_agent_multicluster::{FlowSource, PeerGateway};
use antrea_agent_routing::NodeRoutes;
use antrea_host::EchoSocket;
use antrea_kit::kube_client::bounded;
use antrea_shared_api::multicluster::v1alpha1::{Gateway, GatewayProbe, ProbedPeer, TunnelInfo};
use antrea_shared_api::well_known::AGENT_FIELD_MANAGER;
use antrea_types::NodeName;
use anyhow::{Context, Result};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::FlowSources;
use super::neighbours::{Neighbours, Tunnel, other_nodes};

/// How often the report is renewed. A Gateway whose report is older than 8 seconds is replaced.
const PERIOD: Duration = Duration::from_secs(2);

/// How soon a socket is asked for again.
const RETRY: Duration = Duration::from_secs(60);

/// What the report is made from.
pub(crate) struct Prober {
    pub(super) client: Client,
    pub(super) namespace: String,
    pub(super) node: NodeName,
    pub(super) wanted: watch::Receiver<FlowSources>,
    pub(super) peers: watch::Receiver<BTreeSet<PeerGateway>>,
    pub(super) routes: watch::Receiver<NodeRoutes>,
    pub(super) tunnel: Tunnel,
    pub(super) tunnel_info: TunnelInfo,
}

/// Whether the last report was written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    Yes,
    No,
}

impl Prober {
    /// Reports whenever this Node is a Gateway, until `stop`.
    pub(crate) async fn run(mut self, stop: CancellationToken) -> Result<()> {
        loop {
            match stop.run_until_cancelled(self.wanted.wait_for(|wanted| own_address(wanted).is_some())).await
            {
                None => return Ok(()),
                Some(chosen) => drop(chosen.context("nobody says any more which Node is the Gateway")?),
            }
            match stop.run_until_cancelled(self.report()).await {
                None => return Ok(()),
                Some(Ok(())) => {}
                Some(Err(error)) => {
                    warn!(error = format!("{error:#}"), "This Gateway does not report");
                    stop.run_until_cancelled(tokio::time::sleep(RETRY)).await;
                }
            }
        }
    }

    /// Reports until this Node is no Gateway any more.
    async fn report(&mut self) -> Result<()> {
        let socket = EchoSocket::open().context("cannot open a socket of ICMP")?;
        let mut neighbours = Neighbours::new();
        let (mut told, mut written) = (GatewayProbe::default(), Written::Yes);
        let mut tick = interval(PERIOD);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            let Some(own) = own_address(&self.wanted.borrow()) else { return Ok(()) };
            neighbours.begin(other_nodes(&self.routes.borrow()), &self.peers.borrow());
            neighbours.ask(own, &socket, &mut self.tunnel).await;
            let found = neighbours.found();
            tell_changes(&told, &found);
            written = self.write(&found, written).await;
            told = found;
        }
    }

    /// Writes the report, and tells once that this does not work.
    async fn write(&self, found: &GatewayProbe, before: Written) -> Written {
        let api: Api<Gateway> = Api::namespaced(self.client.clone(), &self.namespace);
        let parameters =
            PatchParams { field_manager: Some(AGENT_FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let patch = Patch::Merge(status(found, &self.tunnel_info, Timestamp::now()));
        match bounded(api.patch_status(self.node.as_str(), &parameters, &patch)).await {
            Ok(_) => Written::Yes,
            Err(error) => {
                if before == Written::Yes {
                    warn!(
                        error = format!("{error:#}"),
                        "The report of this Gateway was not written; trying again"
                    );
                }
                Written::No
            }
        }
    }
}

/// The address of this Node as a Gateway, if it is one or the next one.
fn own_address(wanted: &FlowSources) -> Option<Ipv4Addr> {
    wanted.values().find_map(|source| match source {
        FlowSource::Role(role) => role.address(),
        FlowSource::Exported(_) | FlowSource::Cluster(..) | FlowSource::OwnGateway(_) => None,
    })
}

fn tell_changes(before: &GatewayProbe, found: &GatewayProbe) {
    let nodes = &found.nodes;
    if nodes.unreached != before.nodes.unreached {
        let unreached = nodes.unreached.join(",");
        info!(
            reached = nodes.reached,
            probed = nodes.probed,
            unreached,
            "Other Nodes answer through the tunnel as counted"
        );
    }
    for ProbedPeer { cluster_id, gateway_ip, reached } in
        found.peers.iter().filter(|peer| !before.peers.contains(peer))
    {
        match reached {
            true => info!(cluster = cluster_id, gateway = gateway_ip, "The Gateway of a cluster answers"),
            false => warn!(cluster = cluster_id, gateway = gateway_ip, "The Gateway of a cluster is lost"),
        }
    }
}

/// The part of the status that is this agent's. Empty lists stand there, and `null` for a port where there is none, since a
/// merge would leave what was.
fn status(found: &GatewayProbe, tunnel: &TunnelInfo, now: Timestamp) -> Value {
    let nodes = &found.nodes;
    json!({"status": {
        "probe": {
            "heartbeatTime": MicroTime(now),
            "peers": found.peers,
            "nodes": {"probed": nodes.probed, "reached": nodes.reached, "unreached": nodes.unreached},
        },
        "tunnel": {"type": tunnel.tunnel_type, "port": (tunnel.port != 0).then_some(tunnel.port)},
    }})
}

#[cfg(test)]
mod tests {
    use antrea_shared_api::multicluster::v1alpha1::ProbedNodes;

    use super::*;

    /// The report after one that said more.
    #[track_caller]
    fn check(found: &GatewayProbe, text: &str) {
        let before = json!({"nodes": {"unreached": ["n2"]}, "peers": [{"clusterID": "c", "reached": true}]});
        let mut gateway = json!({"status": {"probe": before}});
        let geneve = TunnelInfo { tunnel_type: "geneve".to_owned(), port: 6081 };
        gateway["status"] = status(found, &geneve, Timestamp::UNIX_EPOCH)["status"].take();
        let shown = gateway.to_string();
        assert_eq!(shown, text);
        let read: Gateway = serde_json::from_value(gateway).unwrap();
        let status = read.status.unwrap();
        assert_eq!(status.tunnel, Some(geneve));
        assert_eq!(&GatewayProbe { heartbeat_time: None, ..status.probe.unwrap() }, found);
    }

    #[test]
    fn the_report_replaces_the_one_before() {
        let nodes = ProbedNodes { probed: 3, reached: 3, unreached: Vec::new() };
        let found = GatewayProbe { nodes, ..GatewayProbe::default() };
        check(
            &found,
            r#"{"status":{"probe":{"heartbeatTime":"1970-01-01T00:00:00.000000Z","peers":[],"nodes":{"probed":3,"reached":3,"unreached":[]}},"tunnel":{"type":"geneve","port":6081}}}"#,
        );
        let peer = ProbedPeer { cluster_id: "b".into(), gateway_ip: "172.18.2.1".into(), reached: false };
        check(
            &GatewayProbe { peers: vec![peer], ..found },
            r#"{"status":{"probe":{"heartbeatTime":"1970-01-01T00:00:00.000000Z","peers":[{"clusterID":"b","gatewayIP":"172.18.2.1","reached":false}],"nodes":{"probed":3,"reached":3,"unreached":[]}},"tunnel":{"type":"geneve","port":6081}}}"#,
        );
    }

    #[test]
    fn a_tunnel_without_a_port_takes_back_the_one_that_was_told() {
        let gre = TunnelInfo { tunnel_type: "gre".to_owned(), port: 0 };
        let status = status(&GatewayProbe::default(), &gre, Timestamp::UNIX_EPOCH);
        assert_eq!(status["status"]["tunnel"], json!({"type": "gre", "port": null}));
    }
}
