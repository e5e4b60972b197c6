//! AntreaAgentInfo: what the agent tells about itself, at its start and every minute.

use std::collections::BTreeMap;
use std::time::Duration;

use antrea_config::AgentConfig;
use antrea_host::NodeTransport;
use antrea_kit::kube_client::bounded;
use antrea_pipeline::multicluster::Admits;
use antrea_shared_api::crd::v1beta1::{AntreaAgentInfo, NetworkInfo, NetworkPolicyControllerInfo, OvsInfo};
use antrea_shared_api::well_known::environment;
use anyhow::{Context, Result};
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::agent_conditions::conditions;
use crate::node::OwnNode;
use crate::run::VERSION;

/// How often the object is written.
const PERIOD: Duration = Duration::from_secs(60);

/// How soon it is tried again when the API server was away.
const RETRY: Duration = Duration::from_secs(10);

/// What does not change while the agent runs.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) node: String,
    pub(crate) pod: Option<PodIdentity>,
    pub(crate) node_subnets: Vec<String>,
    pub(crate) bridge: String,
    pub(crate) api_port: u16,
    pub(crate) api_ca: String,
    pub(crate) network: NetworkInfo,
}

impl Identity {
    /// That of the agent which runs here.
    pub(crate) fn new(
        config: &AgentConfig,
        node: &OwnNode,
        transport: &NodeTransport,
        pod_mtu: u16,
        api_ca: String,
    ) -> Self {
        let pod =
            std::env::var(environment::POD_NAME).ok().zip(std::env::var(environment::POD_NAMESPACE).ok());
        Self {
            node: node.name.to_string(),
            pod: pod.map(|(name, namespace)| PodIdentity { name, namespace }),
            node_subnets: node.pod_cidrs.iter().map(ToString::to_string).collect(),
            bridge: config.ovs.bridge.to_string(),
            api_port: config.api_port,
            api_ca,
            network: NetworkInfo {
                transport_interface: transport.transport.interface.to_string(),
                transport_interface_mtu: i32::try_from(transport.mtu).unwrap_or(i32::MAX),
                pod_mtu: pod_mtu.into(),
                transport_interface_ips: transport
                    .transport
                    .addresses
                    .iter()
                    .map(ToString::to_string)
                    .collect(),
            },
        }
    }
}

/// The Pod that the agent runs in.
#[derive(Clone, Debug)]
pub(crate) struct PodIdentity {
    pub(crate) name: String,
    pub(crate) namespace: String,
}

/// What is looked at each time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observation {
    pub(crate) ovs_version: String,
    pub(crate) ovsdb: ConnectionState,
    pub(crate) openflow: ConnectionState,
    /// None where the cluster has no antrea-controller.
    pub(crate) controller: Option<ConnectionState>,
    /// What is known of policies.
    pub(crate) policies: NetworkPolicyControllerInfo,
    /// How many flows each table holds.
    pub(crate) flow_table: BTreeMap<String, i32>,
    pub(crate) local_pods: i32,
    /// What keeps Pods of Nodes from being reached.
    pub(crate) problems: Vec<String>,
    /// What the Node lets other clusters in to; none where it is no Gateway.
    pub(crate) admits: Option<Admits>,
}

/// Whether something answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ConnectionState {
    Up,
    #[default]
    Down,
}

/// Where observations come from.
pub(crate) trait Observe: Send + Sync {
    /// The state of the agent now.
    fn observe(&self) -> impl Future<Output = Observation> + Send;

    /// Until something else is in the way than was told, or is let in.
    fn outdated(&mut self, told: &Observation) -> impl Future<Output = ()> + Send;
}

/// Writes the object until `stop`.
pub(crate) async fn run(
    client: Client,
    identity: Identity,
    mut observe: impl Observe,
    stop: CancellationToken,
) -> Result<()> {
    let api: Api<AntreaAgentInfo> = Api::all(client);
    let keep = async {
        loop {
            let observation = observe.observe().await;
            let wait = match write(&api, &identity, &observation, Timestamp::now()).await {
                Ok(()) => PERIOD,
                Err(error) => {
                    warn!(error = format!("{error:#}"), "AntreaAgentInfo was not written");
                    RETRY
                }
            };
            // Most of the time nothing changes.
            let _ = timeout(wait, observe.outdated(&observation)).await;
        }
    };
    stop.run_until_cancelled(keep).await;
    Ok(())
}

async fn write(
    api: &Api<AntreaAgentInfo>,
    identity: &Identity,
    observation: &Observation,
    now: Timestamp,
) -> Result<()> {
    let wanted = info(identity, observation, now);
    let name = identity.node.as_str();
    match bounded(api.get_opt(name)).await.context("cannot read the object")? {
        Some(present) => {
            let mut wanted = wanted;
            wanted.metadata = present.metadata;
            bounded(api.replace(name, &PostParams::default(), &wanted))
                .await
                .context("cannot update the object")?;
        }
        None => {
            bounded(api.create(&PostParams::default(), &wanted)).await.context("cannot create the object")?;
        }
    }
    debug!(node = name, "AntreaAgentInfo was written");
    Ok(())
}

/// The object as it is to be.
pub(crate) fn info(identity: &Identity, observation: &Observation, now: Timestamp) -> AntreaAgentInfo {
    let reference = |kind: &str, name: &str| ObjectReference {
        kind: Some(kind.to_owned()),
        name: Some(name.to_owned()),
        ..ObjectReference::default()
    };
    let pod_ref = identity
        .pod
        .as_ref()
        .map(|pod| ObjectReference { namespace: Some(pod.namespace.clone()), ..reference("Pod", &pod.name) });
    AntreaAgentInfo {
        version: VERSION.to_owned(),
        pod_ref: pod_ref.unwrap_or_default(),
        node_ref: reference("Node", &identity.node),
        node_subnets: identity.node_subnets.clone(),
        ovs_info: OvsInfo {
            version: observation.ovs_version.clone(),
            bridge_name: identity.bridge.clone(),
            flow_table: observation.flow_table.clone(),
        },
        network_policy_controller_info: observation.policies.clone(),
        local_pod_num: observation.local_pods,
        agent_conditions: conditions(observation, now),
        api_port: i32::from(identity.api_port),
        api_ca_bundle: Some(ByteString(identity.api_ca.clone().into_bytes())),
        network_info: identity.network.clone(),
        ..AntreaAgentInfo::new(&identity.node)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn identity() -> Identity {
        Identity {
            node: "node-1".into(),
            pod: Some(PodIdentity { name: "antrea-agent-x".into(), namespace: "kube-system".into() }),
            node_subnets: vec!["10.0.0.0/24".into()],
            bridge: "br-int".into(),
            api_port: 10350,
            api_ca: "CA".into(),
            network: NetworkInfo::default(),
        }
    }

    #[test]
    fn the_object_says_what_works() {
        let observation = Observation {
            ovs_version: "3.1.0".into(),
            ovsdb: ConnectionState::Up,
            openflow: ConnectionState::Down,
            controller: Some(ConnectionState::Up),
            policies: NetworkPolicyControllerInfo::default(),
            flow_table: BTreeMap::from([("Output".into(), 2)]),
            local_pods: 3,
            problems: Vec::new(),
            admits: None,
        };
        let now = "2026-11-21T09:51:04.5Z".parse().unwrap();
        let written = serde_json::to_value(info(&identity(), &observation, now)).unwrap();
        let statuses: Vec<_> = written["agentConditions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (&one["type"], &one["status"]))
            .collect();
        assert_eq!(
            format!("{statuses:?}"),
            r#"[(String("AgentHealthy"), String("True")), (String("ControllerConnectionUp"), String("True")), (String("OVSDBConnectionUp"), String("True")), (String("OpenflowConnectionUp"), String("False"))]"#
        );
        assert_eq!(written["agentConditions"][0]["lastHeartbeatTime"], "2026-11-21T09:51:04Z");
        assert_eq!(
            written["ovsInfo"],
            json!({"version": "3.1.0", "bridgeName": "br-int", "flowTable": {"Output": 2}})
        );
        assert_eq!(
            written["podRef"],
            json!({"kind": "Pod", "name": "antrea-agent-x", "namespace": "kube-system"})
        );
        assert_eq!((&written["localPodNum"], &written["apiPort"]), (&json!(3), &json!(10350)));
        assert_eq!(written["version"], format!("v{}", env!("CARGO_PKG_VERSION")));
    }
}
