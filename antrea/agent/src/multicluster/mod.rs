//! Connections to other clusters: watches Gateways and ClusterInfoImports, and keeps the flows of this Node's part and of
//! each other cluster in the switch.
//!
//! Who writes those objects is a product of its own, so that their kinds may be unknown: nothing goes to other clusters
//! then. What is decided is decided in `antrea-agent-multicluster`.

mod controller;
mod neighbours;
mod notices;
mod objects;
mod probe;
mod settings;

use std::collections::BTreeMap;
use std::sync::Arc;

use antrea_agent_multicluster::FlowSource;
use antrea_openflow::message::PacketIn;
use antrea_pipeline::multicluster::{Admits, GatewayRole};
use anyhow::Result;
use kube::Client;
use tokio::sync::{mpsc, watch};

use crate::events::Notice;
use controller::MulticlusterController;
use neighbours::Tunnel;
use probe::Prober;

pub(crate) use controller::ClusterSetBase;
pub(crate) use objects::{record_cluster, record_gateway};
pub(crate) use settings::{MulticlusterSetup, set_up};

/// The sets of flows that the switch shall have, by name.
pub(crate) type FlowSources = BTreeMap<String, FlowSource>;

/// What this Node lets other clusters in to; none where it is no Gateway.
pub(crate) fn admits(wanted: &FlowSources) -> Option<Admits> {
    wanted.values().find_map(|source| match source {
        FlowSource::Role(GatewayRole::Gateway { admits, .. }) => Some(*admits),
        _ => None,
    })
}

/// All that connects Pods with other clusters, before it runs.
pub(crate) struct MulticlusterComponents {
    pub(crate) controller: MulticlusterController,
    pub(crate) notices: mpsc::Receiver<Notice>,
    pub(crate) prober: Prober,
    /// Where the objects are.
    pub(crate) namespace: String,
}

impl MulticlusterComponents {
    /// Begins with the objects as they are now. `answers` are packets with the label
    /// [`antrea_pipeline::probe::GATEWAY_ECHO_USERDATA`].
    pub(crate) async fn new(
        setup: MulticlusterSetup,
        client: &Client,
        base: ClusterSetBase,
        answers: mpsc::Receiver<PacketIn>,
    ) -> Result<Self> {
        let (namespace, tunnel_info) = (setup.namespace.clone(), setup.tunnel.clone());
        let (node, routes) = (base.node.clone(), base.routes.clone());
        let (pipeline, connection) = (Arc::clone(&base.pipeline), base.switch.connection().clone());
        let (controller, notices) = MulticlusterController::new(setup, client, base).await?;
        let prober = Prober {
            client: client.clone(),
            namespace: namespace.clone(),
            node,
            wanted: controller.wanted(),
            peers: controller.peers(),
            routes,
            tunnel: Tunnel { pipeline, connection, answers },
            tunnel_info,
        };
        Ok(Self { controller, notices, prober, namespace })
    }

    /// The sets of flows that the switch shall have.
    pub(crate) fn wanted(&self) -> watch::Receiver<FlowSources> {
        self.controller.wanted()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn a_node_says_what_it_admits_only_as_the_gateway() {
        let (gateway, address) = (Ipv4Addr::new(172, 18, 0, 2), Ipv4Addr::new(172, 18, 0, 1));
        let standby = GatewayRole::Standby { gateway: gateway.into(), address };
        let wanted = |role| admits(&[("multicluster".to_owned(), FlowSource::Role(role))].into());
        assert_eq!((admits(&FlowSources::new()), wanted(standby)), (None, None));
        for said in [Admits::Everything, Admits::Listed] {
            assert_eq!(wanted(GatewayRole::Gateway { address, admits: said }), Some(said));
        }
    }
}
