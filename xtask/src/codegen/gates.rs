//! The feature gates of both programs, for docs/configuration.md.

use antrea_config::{Component, FEATURE_GATES};

/// A row for each set of programs, the gates in the order of the code.
pub(super) fn table() -> String {
    let rows: [(&str, &[Component]); 3] = [
        ("agent", &[Component::Agent]),
        ("controller", &[Component::Controller]),
        ("both", &[Component::Agent, Component::Controller]),
    ];
    let mut text = String::from("| program | gates |\n|---|---|\n");
    for (programs, components) in rows {
        let gates = FEATURE_GATES.iter().filter(|gate| gate.components == components);
        let names: Vec<&str> = gates.map(|gate| gate.name).collect();
        text += &format!("| {programs} | {} |\n", names.join(", "));
    }
    text
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
