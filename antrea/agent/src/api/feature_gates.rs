//! `/featuregates`: the gates of the agent, on or off, and how mature upstream says that the feature is.

use antrea_config::{Component, FEATURE_GATES, FeatureGate};
use serde_json::{Value, json};

/// What upstream has declared stable.
const GA: [&str; 5] =
    ["AntreaProxy", "EndpointSlice", "NodePortLocal", "ServiceTrafficDistribution", "TopologyAwareHints"];

/// What upstream has on unless it is turned off.
const BETA: [&str; 9] = [
    "AntreaNodeConfig",
    "AntreaPolicy",
    "CleanupStaleUDPSvcConntrack",
    "Egress",
    "EgressSeparateSubnet",
    "Multicast",
    "NetworkPolicyStats",
    "ServiceExternalIP",
    "Traceflow",
];

pub(super) fn answer() -> Value {
    let gates = FEATURE_GATES.iter().filter(|gate| gate.components.contains(&Component::Agent));
    gates.map(gate).collect()
}

fn gate(FeatureGate { name, .. }: &FeatureGate) -> Value {
    // The configuration refuses to turn one on: none of the features is available yet.
    json!({"component": "agent", "name": name, "status": "Disabled", "version": stage(name)})
}

fn stage(name: &str) -> &'static str {
    if GA.contains(&name) {
        "GA"
    } else if BETA.contains(&name) {
        "BETA"
    } else {
        "ALPHA"
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(facts(&answer()), facts(&upstream));
    }
}
