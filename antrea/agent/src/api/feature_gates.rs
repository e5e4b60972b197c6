//! `/featuregates`: the gates of the agent, on or off, and how mature upstream says that the feature is.

use antrea_config::{FeatureGate, FeatureGates, Status};
use serde_json::{Value, json};

pub(super) fn answer(gates: &FeatureGates) -> Value {
    gates.iter().map(gate).collect()
}

fn gate((gate, status): (&FeatureGate, Status)) -> Value {
    json!({
        "component": "agent",
        "name": gate.name,
        "status": status.to_string(),
        "version": gate.stage.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use antrea_config::AgentConfig;

    use super::*;

    /// Recorded from upstream Antrea main at fc70f2bb7 (v2.8.0-dev): `/featuregates` of an agent.
    const UPSTREAM: &str = include_str!("../../tests/main/golden/upstream/featuregates.json");

    #[test]
    fn gates_and_their_stages_are_those_of_upstream() {
        let upstream: Value = serde_json::from_str(UPSTREAM).unwrap();
        let facts = |gates: &Value| -> Vec<[Value; 3]> {
            let gates = gates.as_array().unwrap().iter();
            gates.map(|gate| ["component", "name", "version"].map(|key| gate[key].clone())).collect()
        };
        let gates = AgentConfig::parse("antrea-agent.conf", "").unwrap().feature_gates;
        assert_eq!(facts(&answer(&gates)), facts(&upstream));
    }

    #[test]
    fn a_gate_is_on_or_off_as_the_configuration_says() {
        let text = "featureGates: {LoadBalancerModeDSR: true}\nantreaProxy: {proxyAll: true}";
        let gates = AgentConfig::parse("antrea-agent.conf", text).unwrap().feature_gates;
        let answer = answer(&gates);
        let status = |name: &str| {
            let gates = answer.as_array().unwrap();
            gates.iter().find(|gate| gate["name"] == name).unwrap()["status"].clone()
        };
        assert_eq!(
            (status("LoadBalancerModeDSR"), status("AntreaProxy")),
            (json!("Enabled"), json!("Enabled"))
        );
        assert_eq!(status("AntreaPolicy"), json!("Disabled"));
    }
}
