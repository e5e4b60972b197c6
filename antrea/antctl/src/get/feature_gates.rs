//! `antctl get featuregates`.

use serde_json::Value;

use crate::answer::{field, items};

/// A table for each program whose gates are told, in the order in which they are. An agent tells its own, the controller those
/// of both.
pub(super) fn tables(answer: &Value) -> String {
    let gates = items(answer);
    let mut components: Vec<String> = gates.iter().map(|gate| field(gate, "component")).collect();
    components.dedup();
    let of = |component: &String| table(component, &gates);
    components.iter().map(of).collect::<Vec<_>>().join("\n")
}

fn table(component: &str, gates: &[&Value]) -> String {
    let of_component = gates.iter().filter(|gate| field(gate, "component") == component);
    let mut rows: Vec<[String; 3]> =
        of_component.map(|gate| ["name", "status", "version"].map(|name| field(gate, name))).collect();
    rows.sort();
    let header = ["FEATUREGATE", "STATUS", "VERSION"].map(str::to_owned);
    // Upstream leaves five columns after the longest name.
    let width = rows.iter().map(|[name, ..]| name.len()).max().unwrap_or_default() + 5;
    let line = |[name, status, version]: [String; 3]| format!("{name:<width$}{status:<13}{version}\n");
    let lines = std::iter::once(header).chain(rows).map(line);
    std::iter::once(title(component)).chain(lines).collect()
}

fn title(component: &str) -> String {
    let program = match component {
        "controller" => "Controller",
        "agent-windows" => "Windows Agent",
        _ => "Agent",
    };
    format!("Antrea {program} Feature Gates\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_table_is_that_of_upstream() {
        // The answer is of another cluster; the gates are the same.
        let answer =
            serde_json::from_str(include_str!("../../tests/golden/upstream/featuregates.answer.json"))
                .unwrap();
        assert_eq!(tables(&answer), include_str!("../../tests/golden/upstream/featuregates.txt"));
    }

    /// The answer that a table was printed of.
    fn answer(table: &str) -> Value {
        let mut component = String::new();
        let mut gates = Vec::new();
        for line in table.lines() {
            match line.split_whitespace().collect::<Vec<_>>()[..] {
                ["Antrea", program, "Feature", "Gates"] => component = program.to_lowercase(),
                [name, status @ ("Enabled" | "Disabled"), version] => gates.push(
                    json!({"component": component, "name": name, "status": status, "version": version}),
                ),
                _ => {}
            }
        }
        gates.into()
    }

    #[test]
    fn the_controller_tells_of_agents_and_of_itself_as_upstreams_does() {
        let printed = include_str!("../../tests/golden/upstream/controller-featuregates.txt");
        let answer = answer(printed);
        assert_eq!(answer.as_array().unwrap().len(), 45);
        assert_eq!(tables(&answer), printed);
    }
}
