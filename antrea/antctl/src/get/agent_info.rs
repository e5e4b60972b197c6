//! `antctl get agentinfo`.

use antrea_shared_api::well_known::NO_CONTROLLER;
use serde_json::Value;

use crate::answer::{field, list};
use crate::output;

const HEADER: [&str; 8] = [
    "POD",
    "NODE",
    "STATUS",
    "NODE-SUBNET",
    "NETWORK-POLICIES",
    "ADDRESS-GROUPS",
    "APPLIED-TO-GROUPS",
    "LOCAL-PODS",
];

pub(super) fn table(info: &Value) -> String {
    let pod = info.get("podRef").map(|pod| format!("{}/{}", field(pod, "namespace"), field(pod, "name")));
    let policies = info.get("networkPolicyControllerInfo").cloned().unwrap_or_default();
    let number = |value: &Value, name: &str| value.get(name).and_then(Value::as_i64).unwrap_or(0).to_string();
    let row = vec![
        pod.filter(|pod| pod != "/").unwrap_or_default(),
        info.get("nodeRef").map(|node| field(node, "name")).unwrap_or_default(),
        status(info),
        output::list_cell(list(info, "nodeSubnets")),
        number(&policies, "networkPolicyNum"),
        number(&policies, "addressGroupNum"),
        number(&policies, "appliedToGroupNum"),
        number(info, "localPodNum"),
    ];
    output::table(&HEADER, vec![row])
}

/// How the agent is, and that the cluster has no controller, where it has none.
fn status(info: &Value) -> String {
    let conditions = || info.get("agentConditions").and_then(Value::as_array).into_iter().flatten();
    let mut health = conditions().filter(|condition| field(condition, "type") == "AgentHealthy");
    let health = match health.next().map(|condition| field(condition, "status")).as_deref() {
        Some("True") => "Healthy",
        Some("False") => "Unhealthy",
        _ => "Unknown",
    };
    match conditions().any(|condition| field(condition, "reason") == NO_CONTROLLER) {
        true => format!("{health},{NO_CONTROLLER}"),
        false => health.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cluster_without_antrea_controller_is_named_in_the_status() {
        let info = json!({"agentConditions": [
            {"type": "AgentHealthy", "status": "True"},
            {"type": "ControllerConnectionUp", "status": "False", "reason": "NoController"},
        ]});
        assert_eq!(status(&info), "Healthy,NoController");
    }

    #[test]
    fn the_table_is_that_of_upstream() {
        let answer =
            serde_json::from_str(include_str!("../../tests/golden/upstream/agentinfo.json")).unwrap();
        assert_eq!(table(&answer), include_str!("../../tests/golden/upstream/agentinfo.table"));
    }
}
