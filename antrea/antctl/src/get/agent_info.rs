//! `antctl get agentinfo`.

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
        status(info).to_owned(),
        output::list_cell(list(info, "nodeSubnets")),
        number(&policies, "networkPolicyNum"),
        number(&policies, "addressGroupNum"),
        number(&policies, "appliedToGroupNum"),
        number(info, "localPodNum"),
    ];
    output::table(&HEADER, vec![row])
}

fn status(info: &Value) -> &'static str {
    let conditions = info.get("agentConditions").and_then(Value::as_array).into_iter().flatten();
    let mut health = conditions.filter(|condition| field(condition, "type") == "AgentHealthy");
    match health.next().map(|condition| field(condition, "status")).as_deref() {
        Some("True") => "Healthy",
        Some("False") => "Unhealthy",
        _ => "Unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_that_of_upstream() {
        let answer =
            serde_json::from_str(include_str!("../../tests/golden/upstream/agentinfo.json")).unwrap();
        assert_eq!(table(&answer), include_str!("../../tests/golden/upstream/agentinfo.table"));
    }
}
