//! AntreaControllerInfo: built from facts, written every minute.

use std::sync::Arc;
use std::time::Duration;

use antrea_kit::backoff::{Backoff, jitter};
use antrea_kit::kube_client::bounded;
use antrea_kit::logging::chain;
use antrea_shared_api::crd::v1beta1::{
    AntreaControllerInfo, ConditionStatus, ControllerCondition, ControllerConditionType,
    NetworkPolicyControllerInfo,
};
use antrea_shared_api::well_known::{CONTROLLER_FIELD_MANAGER, CONTROLLER_INFO, CONTROLLER_SERVICE};
use anyhow::{Context, Result};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::api::Controller;
use crate::computation::Numbers;
use crate::identity::Identity;

/// How often the object is written.
const PERIOD: Duration = Duration::from_secs(60);

/// How often before its numbers are known.
const SOON: Duration = Duration::from_secs(1);

/// What does not change while the controller runs.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    version: &'static str,
    pod: ObjectReference,
    node: ObjectReference,
    api_port: u16,
}

impl Facts {
    pub(crate) fn new(identity: &Identity, version: &'static str, api_port: u16) -> Self {
        let reference = |kind: &str, name: &Option<String>, namespace: &Option<String>| ObjectReference {
            kind: name.as_ref().map(|_| kind.to_owned()),
            name: name.clone(),
            namespace: namespace.clone(),
            ..ObjectReference::default()
        };
        Self {
            version,
            pod: reference("Pod", &identity.pod_name, &identity.pod_namespace),
            node: reference("Node", &identity.node_name, &None),
            api_port,
        }
    }

    /// `present`, or a new object, with all that is known at `now` put into it.
    pub(crate) fn object(
        &self,
        present: Option<AntreaControllerInfo>,
        numbers: &Numbers,
        now: Timestamp,
    ) -> AntreaControllerInfo {
        let heartbeat = Timestamp::from_second(now.as_second()).unwrap_or(now);
        AntreaControllerInfo {
            version: self.version.to_owned(),
            pod_ref: self.pod.clone(),
            node_ref: self.node.clone(),
            service_ref: ObjectReference {
                kind: Some("Service".to_owned()),
                name: Some(CONTROLLER_SERVICE.to_owned()),
                ..ObjectReference::default()
            },
            network_policy_controller_info: NetworkPolicyControllerInfo {
                network_policy_num: number(numbers.policies),
                address_group_num: number(numbers.address_groups),
                applied_to_group_num: number(numbers.applied_to_groups),
            },
            connected_agent_num: number(numbers.agents),
            controller_conditions: vec![ControllerCondition {
                condition_type: ControllerConditionType::ControllerHealthy,
                status: ConditionStatus::True,
                last_heartbeat_time: Time(heartbeat),
                reason: String::new(),
                message: String::new(),
            }],
            api_port: i32::from(self.api_port),
            ..present.unwrap_or_else(|| AntreaControllerInfo::new(CONTROLLER_INFO))
        }
    }
}

/// More than the field holds are the most that it does.
fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// Writes the object at once and every minute, until `stop`. While the API server is away it tries more often.
pub(crate) async fn run(client: Client, controller: Arc<Controller>, stop: CancellationToken) -> Result<()> {
    let api = Api::<AntreaControllerInfo>::all(client);
    let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(10));
    let periods = async {
        loop {
            let wait = match write(&api, &controller).await {
                Ok(next) => {
                    backoff.reset();
                    next
                }
                Err(error) => {
                    if backoff.is_fresh() {
                        warn!(error = %chain(error.as_ref()), "AntreaControllerInfo could not be written");
                    }
                    backoff.wait(jitter())
                }
            };
            tokio::time::sleep(wait).await;
        }
    };
    stop.run_until_cancelled(periods).await.unwrap_or(());
    Ok(())
}

/// Gives how long to wait before the next time.
async fn write(api: &Api<AntreaControllerInfo>, controller: &Controller) -> Result<Duration> {
    let parameters =
        PostParams { field_manager: Some(CONTROLLER_FIELD_MANAGER.to_owned()), ..PostParams::default() };
    let present = bounded(api.get_opt(CONTROLLER_INFO)).await.context("cannot read it")?;
    let exists = present.is_some();
    let next = if controller.computation.is_filling() { SOON } else { PERIOD };
    let numbers = controller.computation.numbers();
    let info = controller.facts.object(present, &numbers, Timestamp::now());
    if exists {
        bounded(api.replace(CONTROLLER_INFO, &parameters, &info)).await.context("cannot update it")?;
    } else {
        bounded(api.create(&parameters, &info)).await.context("cannot create it")?;
    }
    Ok(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build_at(present: Option<AntreaControllerInfo>, identity: &Identity) -> serde_json::Value {
        let facts = Facts::new(identity, "v0.1.0", 10349);
        let now = "2026-11-21T09:51:00.123Z".parse().unwrap();
        let numbers = Numbers { policies: 5, address_groups: 4, applied_to_groups: 3, agents: 2 };
        serde_json::to_value(facts.object(present, &numbers, now)).unwrap()
    }

    fn identity() -> Identity {
        Identity {
            pod_name: Some("antrea-controller-0".into()),
            pod_namespace: Some("kube-system".into()),
            node_name: Some("c2n1".into()),
        }
    }

    #[test]
    fn the_object_has_the_shape_of_upstreams() {
        assert_eq!(
            build_at(None, &identity()),
            serde_json::json!({
                "apiVersion": "crd.antrea.io/v1beta1",
                "kind": "AntreaControllerInfo",
                "metadata": {"name": "antrea-controller"},
                "version": "v0.1.0",
                "podRef": {"kind": "Pod", "name": "antrea-controller-0", "namespace": "kube-system"},
                "nodeRef": {"kind": "Node", "name": "c2n1"},
                "serviceRef": {"kind": "Service", "name": "antrea"},
                "networkPolicyControllerInfo":
                    {"networkPolicyNum": 5, "addressGroupNum": 4, "appliedToGroupNum": 3},
                "connectedAgentNum": 2,
                "controllerConditions": [{
                    "lastHeartbeatTime": "2026-11-21T09:51:00Z",
                    "status": "True",
                    "type": "ControllerHealthy",
                }],
                "apiPort": 10349,
            })
        );
    }

    #[test]
    fn an_object_that_is_there_keeps_its_metadata() {
        let mut present = AntreaControllerInfo::new(CONTROLLER_INFO);
        present.metadata.resource_version = Some("932".into());
        present.connected_agent_num = 7;
        let built = build_at(Some(present), &identity());
        assert_eq!(built["metadata"]["resourceVersion"], "932");
        assert_eq!(built["connectedAgentNum"], 2);
    }

    #[test]
    fn outside_a_pod_there_is_nothing_to_refer_to() {
        let built = build_at(None, &Identity::default());
        assert_eq!(built["podRef"], serde_json::json!({}));
        assert_eq!(built["nodeRef"], serde_json::json!({}));
    }
}
