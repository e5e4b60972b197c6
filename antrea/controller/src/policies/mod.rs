//! Policies of Antrea, which this controller does not enforce yet: each says so in its status.
//!
//! `phase` is upstream's `Pending`: accepted by the API server, not processed by Antrea.

pub(crate) mod keeper;

use antrea_shared_api::crd::v1beta1::{ClusterNetworkPolicy, NetworkPolicy};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

const TYPE: &str = "Realizable";
const REASON: &str = "NotEnforced";
const MESSAGE: &str = "this version of antrea-controller does not enforce Antrea policies: this policy neither allows nor denies traffic";

/// What matters of a policy.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Policy {
    generation: i64,
    status: Value,
}

impl From<ClusterNetworkPolicy> for Policy {
    fn from(object: ClusterNetworkPolicy) -> Self {
        Self::new(&object.metadata, object.status)
    }
}

impl From<NetworkPolicy> for Policy {
    fn from(object: NetworkPolicy) -> Self {
        Self::new(&object.metadata, object.status)
    }
}

impl Policy {
    fn new(metadata: &ObjectMeta, status: Option<Value>) -> Self {
        Self { generation: metadata.generation.unwrap_or_default(), status: status.unwrap_or_default() }
    }

    /// The status that tells users at `now`; nothing where they are told. Conditions of other types stay. What an earlier
    /// controller said of Nodes goes: they have stopped to enforce the policy with it.
    pub(crate) fn told(&self, now: Timestamp) -> Option<Self> {
        let conditions = self.status["conditions"].as_array().cloned().unwrap_or_default();
        let (own, others): (Vec<Value>, Vec<Value>) =
            conditions.into_iter().partition(|condition| condition["type"] == TYPE);
        let before = own.first().filter(|own| own["status"] == "False");
        let since = before.map_or_else(|| json!(time(now)), |before| before["lastTransitionTime"].clone());
        let own = json!({
            "type": TYPE, "status": "False", "reason": REASON, "message": MESSAGE, "lastTransitionTime": since,
        });
        let conditions: Vec<Value> = others.into_iter().chain([own]).collect();
        let status =
            json!({"phase": "Pending", "observedGeneration": self.generation, "conditions": conditions});
        (status != self.status).then_some(Self { generation: self.generation, status })
    }

    /// The merge patch (RFC 7396) that brings it about.
    pub(crate) fn patch(&self) -> Value {
        let mut patch = json!({"status": {"currentNodesRealized": null, "desiredNodesRealized": null}});
        if let (Some(patch), Some(status)) = (patch["status"].as_object_mut(), self.status.as_object()) {
            patch.extend(status.clone());
        }
        patch
    }
}

/// To the second, as Kubernetes has it.
fn time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The status of a policy of generation 2 after users were told, without the message.
    #[track_caller]
    fn check(status: Value, expected: &str) -> Policy {
        let now = "2026-11-22T05:40:00.5Z".parse().unwrap();
        let told = Policy { generation: 2, status }.told(now).unwrap();
        let text = told.status.to_string().replace(&format!(r#""message":"{MESSAGE}","#), "");
        assert_eq!(text, expected);
        assert_eq!(told.told("2027-01-01T00:00:00Z".parse().unwrap()), None, "said once");
        told
    }

    #[test]
    fn a_policy_says_that_it_is_not_enforced() {
        let told = check(
            Value::Null,
            r#"{"phase":"Pending","observedGeneration":2,"conditions":[{"type":"Realizable","status":"False","reason":"NotEnforced","lastTransitionTime":"2026-11-22T05:40:00Z"}]}"#,
        );
        assert!(
            told.patch()["status"]["conditions"][0]["message"]
                .as_str()
                .unwrap()
                .contains("neither allows nor denies traffic")
        );
    }

    #[test]
    fn the_time_stays_when_the_policy_changes() {
        let condition = json!({"type": TYPE, "status": "False", "reason": REASON, "message": MESSAGE, "lastTransitionTime": "2026-11-21T00:00:00Z"});
        check(
            json!({"phase": "Pending", "observedGeneration": 1, "conditions": [condition]}),
            r#"{"phase":"Pending","observedGeneration":2,"conditions":[{"type":"Realizable","status":"False","reason":"NotEnforced","lastTransitionTime":"2026-11-21T00:00:00Z"}]}"#,
        );
    }

    #[test]
    fn what_a_controller_before_has_said_of_nodes_goes() {
        let told = check(
            json!({"phase": "Realized", "observedGeneration": 2, "currentNodesRealized": 3, "desiredNodesRealized": 3, "conditions": [
                {"type": TYPE, "status": "True", "lastTransitionTime": "2026-11-21T00:00:00Z"},
                {"type": "RealizationFailure", "status": "False", "lastTransitionTime": "2026-11-21T00:00:00Z"},
            ]}),
            r#"{"phase":"Pending","observedGeneration":2,"conditions":[{"type":"RealizationFailure","status":"False","lastTransitionTime":"2026-11-21T00:00:00Z"},{"type":"Realizable","status":"False","reason":"NotEnforced","lastTransitionTime":"2026-11-22T05:40:00Z"}]}"#,
        );
        assert_eq!(told.patch()["status"].get("currentNodesRealized"), Some(&Value::Null));
    }
}
