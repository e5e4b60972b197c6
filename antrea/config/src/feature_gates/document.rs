//! `/featuregates`: the gates of a program, on or off, and how mature upstream says that the feature is.

use std::fmt;

use serde_json::{Value, json};

use super::{Component, FeatureGate, FeatureGates, Status};

impl FeatureGates {
    /// What a program that has these gates answers, in upstream's form.
    pub fn document(&self, component: Component) -> Value {
        self.iter().map(|(gate, status)| document(component, gate, status)).collect()
    }
}

fn document(component: Component, gate: &FeatureGate, status: Status) -> Value {
    json!({
        "component": component.to_string(),
        "name": gate.name,
        "status": status.to_string(),
        "version": gate.stage.to_string(),
    })
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Agent => "agent",
            Self::Controller => "controller",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AgentConfig, ControllerConfig};

    /// Recorded from upstream Antrea main at fc70f2bb7 (v2.8.0-dev): `/featuregates` of an agent.
    const UPSTREAM: &str = include_str!("../../tests/golden/upstream-featuregates.json");

    #[test]
    fn gates_and_their_stages_are_those_of_upstream() {
        let upstream: Value = serde_json::from_str(UPSTREAM).unwrap();
        let facts = |gates: &Value| -> Vec<[Value; 3]> {
            let gates = gates.as_array().unwrap().iter();
            gates.map(|gate| ["component", "name", "version"].map(|key| gate[key].clone())).collect()
        };
        let gates = AgentConfig::parse("antrea-agent.conf", "").unwrap().feature_gates;
        assert_eq!(facts(&gates.document(Component::Agent)), facts(&upstream));
    }

    #[test]
    fn a_gate_is_on_or_off_as_the_configuration_says() {
        let text = "featureGates: {LoadBalancerModeDSR: true}\nantreaProxy: {proxyAll: true}";
        let gates = AgentConfig::parse("antrea-agent.conf", text).unwrap().feature_gates;
        let answer = gates.document(Component::Agent);
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

    #[test]
    fn the_controller_has_gates_of_its_own() {
        let gates = ControllerConfig::parse("antrea-controller.conf", "").unwrap().feature_gates;
        let answer = gates.document(Component::Controller);
        let names: Vec<_> =
            answer.as_array().unwrap().iter().map(|gate| gate["name"].as_str().unwrap()).collect();
        assert!(names.contains(&"NodeIPAM") && !names.contains(&"AntreaProxy"), "{names:?}");
        assert_eq!(answer[0]["component"], "controller");
    }
}
