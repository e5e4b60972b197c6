//! The Pods of this Node: their flows, and what is to be done about Pods that went while the agent was away.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use antrea_agent_cni::flows::{FlowError, PodFlows};
use antrea_agent_cni::interface::ContainerInterface;
use antrea_agent_cni::reconcile::{Inventory, NodePod, without_port};
use antrea_agent_cni::server::CniServer;
use antrea_kit::backoff::{Backoff, jitter};
use antrea_kit::kube_client::bounded;

use antrea_openflow::Flow;
use antrea_ovs::ovsdb::OvsDb;
use antrea_ovs::{Asked, FlowSet, Switch};
use antrea_pipeline::{Pipeline, PodInterface};
use antrea_types::{InterfaceName, NodeName, PodRef};
use anyhow::{Context, Result};
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::{Api, Client};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::former_pods::FormerPods;
use crate::policies::PodPolicies;

/// What the switch gets to answer while a CNI command waits.
const PATIENCE: Duration = Duration::from_secs(10);

/// How soon it is tried again to plug a Pod in.
const PLUG_IN_AGAIN: Duration = Duration::from_secs(10);

/// Installs flows of Pods in the switch: the CNI server's way to it.
pub(crate) struct SwitchFlows {
    pub(crate) switch: Switch,
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) policies: PodPolicies,
    pub(crate) former: FormerPods,
}

impl PodFlows for SwitchFlows {
    fn install<'a>(
        &'a self,
        name: &'a InterfaceName,
        container: &'a ContainerInterface,
        interface: &'a PodInterface,
    ) -> BoxFuture<'a, Result<(), FlowError>> {
        let installed = async {
            // What connects the Pod comes after what isolates it.
            self.policies.attach(name, container, interface).await?;
            Ok(self.switch.apply(key(name), self.pipeline.pod_flows(interface)).await?)
        };
        Box::pin(async move {
            match timeout(PATIENCE, installed).await {
                Ok(outcome) => outcome,
                Err(_) => Err("Open vSwitch does not answer".into()),
            }
        })
    }

    fn notes(&self, name: &InterfaceName) -> BTreeMap<String, String> {
        self.policies.notes_on(name)
    }

    fn unavailable(&self) -> Option<String> {
        self.switch.connection().current().err().map(|error| error.to_string())
    }

    fn uninstall<'a>(&'a self, name: &'a InterfaceName) -> BoxFuture<'a, Result<(), FlowError>> {
        // As a task of its own: what is not removed in time will be when the switch is back.
        let disconnected = self.switch.ask(key(name), FlowSet::default());
        let (policies, name) = (self.policies.clone(), name.clone());
        let removed = tokio::spawn(async move {
            // Asked for at once, in this order: nobody else's policies come in between.
            let (disconnected, ()) = tokio::join!(disconnected.done(), policies.detach(&name));
            disconnected
        });
        Box::pin(async move {
            match timeout(PATIENCE, removed).await {
                Ok(outcome) => Ok(outcome??),
                Err(_) => Ok(()),
            }
        })
    }

    fn close(&self, addresses: &[IpAddr]) -> BoxFuture<'static, Result<(), FlowError>> {
        let close = |address| {
            let flow: Vec<Flow> = self.pipeline.former_pod_flow(address).into_iter().collect();
            self.switch.ask(closed_key(address), flow)
        };
        let asked: Vec<Asked> = self.former.to_close(addresses).map(close).collect();
        Box::pin(async move {
            for closed in asked {
                closed.done().await?;
            }
            Ok(())
        })
    }

    fn peers_untold(&self) -> Option<BoxFuture<'static, ()>> {
        self.policies.controller_away()
    }

    fn open(&self, addresses: &[IpAddr]) {
        for address in self.former.to_close(addresses) {
            // What is not removed in time is when the switch is back.
            drop(self.switch.ask(closed_key(address), FlowSet::default()));
        }
    }

    fn forget<'a>(&'a self, addresses: &'a [IpAddr]) -> BoxFuture<'a, Result<(), FlowError>> {
        Box::pin(self.former.forget(addresses.to_vec()))
    }
}

/// The set of flows of an interface.
pub(crate) fn key(name: &InterfaceName) -> String {
    format!("pod/{name}")
}

/// The set of the flow that closes an address.
fn closed_key(address: IpAddr) -> String {
    format!("former-pod/{address}")
}

/// Removes what Pods that went while the agent was away have left, as soon as the API server says which Pods there
/// are. Follows port numbers, which change when ovs-vswitchd starts anew, and makes ports again that somebody deletes.
pub(crate) async fn run(
    server: CniServer,
    inventory: Inventory,
    client: Client,
    node: NodeName,
    database: OvsDb,
    stop: CancellationToken,
) -> Result<()> {
    let collect = async {
        let pods = pods_of_node(&client, &node).await;
        for pod in without_port(&inventory, &pods) {
            warn!(%pod, "A Pod has no port since the Open vSwitch database was recreated, and so no network; delete the Pod");
        }
        for error in server.collect(&inventory, &pods).await {
            warn!(%error, "What a former Pod left was not removed");
        }
        Ok(())
    };
    let all = async {
        tokio::try_join!(
            collect,
            follow_port_numbers(&server, &database),
            keep_plugged_in(&server, &database)
        )
        .map(drop)
    };
    stop.run_until_cancelled(all).await.unwrap_or(Ok(()))
}

async fn follow_port_numbers(server: &CniServer, database: &OvsDb) -> Result<()> {
    let mut changed = database.changed();
    loop {
        changed.changed().await.context("the connection to OVSDB ended")?;
        changed.borrow_and_update();
        match server.sync_port_numbers().await {
            Ok(failures) => failures.iter().for_each(|error| warn!(%error, "A port number was not followed")),
            Err(error) => warn!(%error, "Port numbers cannot be read"),
        }
    }
}

async fn keep_plugged_in(server: &CniServer, database: &OvsDb) -> Result<()> {
    let mut changed = database.changed();
    loop {
        changed.changed().await.context("the connection to OVSDB ended")?;
        changed.borrow_and_update();
        let failures = server.plug_in_again().await;
        if failures.is_empty() {
            continue;
        }
        failures.iter().for_each(|error| warn!(%error, "Cannot recreate the port of a Pod"));
        tokio::time::sleep(PLUG_IN_AGAIN).await;
        changed.mark_changed();
    }
}

/// The Pods of this Node that have a network of their own; waits for the API server.
async fn pods_of_node(client: &Client, node: &NodeName) -> Vec<NodePod> {
    let api: Api<Pod> = Api::all(client.clone());
    let parameters = ListParams::default().fields(&format!("spec.nodeName={node}"));
    let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(10));
    loop {
        match bounded(api.list(&parameters)).await {
            Ok(pods) => return pods.items.into_iter().filter_map(node_pod).collect(),
            Err(error) => {
                warn!(error = format!("{error:#}"), "Pods of this Node cannot be listed");
                tokio::time::sleep(backoff.wait(jitter())).await;
            }
        }
    }
}

fn node_pod(pod: Pod) -> Option<NodePod> {
    let host_network = pod.spec.and_then(|spec| spec.host_network).unwrap_or(false);
    if host_network {
        return None;
    }
    let ips = pod.status.and_then(|status| status.pod_ips).unwrap_or_default();
    Some(NodePod {
        pod: PodRef { namespace: pod.metadata.namespace?, name: pod.metadata.name? },
        ips: ips.iter().filter_map(|ip| ip.ip.parse().ok()).collect(),
    })
}
