//! The report of a Gateway's Node, which says that its agent works and which Nodes it reaches through the tunnel.
//!
//! A Node is asked at the address of its gateway in its Pod network: such packets, and the answers, take the tunnel.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use antrea_agent_multicluster::{FlowSource, NodeProbes};
use antrea_agent_routing::NodeRoutes;
use antrea_host::EchoSocket;
use antrea_kit::kube_client::bounded;
use antrea_packet::{Echo, echo_reply, echo_request};
use antrea_pipeline::multicluster::GatewayRole;
use antrea_shared_api::multicluster::v1alpha1::{Gateway, ProbedNodes};
use antrea_shared_api::well_known::AGENT_FIELD_MANAGER;
use antrea_types::NodeName;
use anyhow::{Context, Result};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::FlowSources;

/// How often the report is renewed. A Gateway whose report is older than 8 seconds is replaced.
const PERIOD: Duration = Duration::from_secs(2);

/// How long Nodes may take to answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// How soon a socket is asked for again.
const RETRY: Duration = Duration::from_secs(60);

/// What the report is made from.
pub(crate) struct Prober {
    pub(super) client: Client,
    pub(super) namespace: String,
    pub(super) node: NodeName,
    pub(super) wanted: watch::Receiver<FlowSources>,
    pub(super) routes: watch::Receiver<NodeRoutes>,
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
            match stop.run_until_cancelled(self.wanted.wait_for(is_gateway)).await {
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
    async fn report(&self) -> Result<()> {
        let socket = EchoSocket::open().context("cannot open a socket of ICMP")?;
        let mut probes = NodeProbes::default();
        let (mut told, mut written) = (ProbedNodes::default(), Written::Yes);
        let mut tick = interval(PERIOD);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while is_gateway(&self.wanted.borrow()) {
            tick.tick().await;
            probes.begin(peers(&self.routes.borrow()));
            ask(&socket, &mut probes).await;
            let found = probes.report();
            if found.unreached != told.unreached {
                let unreached = found.unreached.join(",");
                info!(
                    reached = found.reached,
                    probed = found.probed,
                    unreached,
                    "Other Nodes answer through the tunnel as counted"
                );
            }
            written = self.write(&found, written).await;
            told = found;
        }
        Ok(())
    }

    /// Writes the report, and tells once that this does not work.
    async fn write(&self, found: &ProbedNodes, before: Written) -> Written {
        let api: Api<Gateway> = Api::namespaced(self.client.clone(), &self.namespace);
        let parameters =
            PatchParams { field_manager: Some(AGENT_FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let patch = Patch::Merge(status(found, Timestamp::now()));
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

fn is_gateway(wanted: &FlowSources) -> bool {
    wanted.values().any(|source| matches!(source, FlowSource::Role(GatewayRole::Gateway { .. })))
}

/// The address of each other Node's gateway.
fn peers(routes: &NodeRoutes) -> BTreeMap<NodeName, Ipv4Addr> {
    let address = |peer: &antrea_pipeline::Peer| match peer.networks.v4?.gateway_ip {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    };
    routes.peers.iter().filter_map(|(name, plan)| Some((name.clone(), address(&plan.peer)?))).collect()
}

/// Asks all Nodes, and waits until they have answered, or no longer than they may take.
async fn ask(socket: &EchoSocket, probes: &mut NodeProbes) {
    // Other programs ask, too; answers to them are told apart by this.
    let [.., high, low] = std::process::id().to_be_bytes();
    let identifier = u16::from_be_bytes([high, low]);
    let request = echo_request(Echo { identifier, sequence: probes.sequence() });
    for address in probes.addresses() {
        // A Node that nothing can be sent to does not answer, which is what the report says.
        let _ = socket.send(address, &request).await;
    }
    let answers = async {
        let mut buffer = [0; 128];
        while !probes.is_complete() {
            let Ok(length) = socket.receive(&mut buffer).await else { return };
            if let Some((address, echo)) = buffer.get(..length).and_then(echo_reply)
                && echo.identifier == identifier
            {
                probes.answer(address, echo.sequence);
            }
        }
    };
    // Who has not answered by now has missed the round.
    let _ = timeout(PATIENCE, answers).await;
}

/// The part of the status that is this agent's. An empty list stands there, since a merge would leave what was.
fn status(found: &ProbedNodes, now: Timestamp) -> Value {
    json!({"status": {"probe": {
        "heartbeatTime": MicroTime(now),
        "nodes": {"probed": found.probed, "reached": found.reached, "unreached": found.unreached},
    }}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_replaces_the_one_before() {
        let mut gateway = json!({"status": {"probe": {"nodes": {"unreached": ["n2"]}}}});
        let found = ProbedNodes { probed: 3, reached: 3, unreached: Vec::new() };
        gateway["status"] = status(&found, Timestamp::UNIX_EPOCH)["status"].take();
        assert_eq!(
            gateway.to_string(),
            r#"{"status":{"probe":{"heartbeatTime":"1970-01-01T00:00:00.000000Z","nodes":{"probed":3,"reached":3,"unreached":[]}}}}"#
        );
        let read: Gateway = serde_json::from_value(gateway).unwrap();
        assert_eq!(read.status.unwrap().probe.unwrap().nodes, found);
    }
}
