//! The feature gates of both programs, for docs/configuration.md.

use antrea_config::{Availability, Component, FEATURE_GATES, FeatureGate};

/// A row for each gate that can be on; then one for each set of programs with what is not available.
pub(super) fn table() -> String {
    let mut text = String::from("| gate | program | stage | default | available |\n|---|---|---|---|---|\n");
    for gate in FEATURE_GATES {
        let available = match gate.availability {
            Availability::Available => "yes",
            Availability::Locked => "always on",
            Availability::NotYet => continue,
        };
        let on = gate.default_status().to_string().to_lowercase();
        text += &format!("| {} | {} | {} | {on} | {available} |\n", gate.name, programs(gate), gate.stage);
    }
    text += "\nNot available yet:\n\n| program | gates |\n|---|---|\n";
    for of in ["agent", "controller", "both"] {
        let missing = |gate: &&FeatureGate| gate.availability == Availability::NotYet && programs(gate) == of;
        let names: Vec<&str> = FEATURE_GATES.iter().filter(missing).map(|gate| gate.name).collect();
        text += &format!("| {of} | {} |\n", names.join(", "));
    }
    text
}

fn programs(gate: &FeatureGate) -> &'static str {
    match gate.components {
        [Component::Agent] => "agent",
        [Component::Controller] => "controller",
        _ => "both",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gate_is_in_the_table_once() {
        let table = table();
        let words: Vec<&str> = table.split([' ', ',', '|', '\n']).collect();
        for gate in FEATURE_GATES {
            assert_eq!(words.iter().filter(|word| **word == gate.name).count(), 1, "{}", gate.name);
        }
    }
}
