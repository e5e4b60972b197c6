//! `antctl get featuregates`.

use serde_json::Value;

use crate::answer::{field, items};

/// Columns have the same width whatever stands in them.
pub(super) fn table(answer: &Value) -> String {
    let mut rows: Vec<[String; 3]> = items(answer)
        .into_iter()
        .map(|gate| ["name", "status", "version"].map(|name| field(gate, name)))
        .collect();
    rows.sort();
    let header = ["FEATUREGATE", "STATUS", "VERSION"].map(str::to_owned);
    let line = |[name, status, version]: [String; 3]| format!("{name:<33} {status:<12} {version}\n");
    let lines = std::iter::once(header).chain(rows).map(line);
    std::iter::once("Antrea Agent Feature Gates\n".to_owned()).chain(lines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_that_of_upstream() {
        // The answer is of another cluster; the gates are the same.
        let answer =
            serde_json::from_str(include_str!("../../tests/golden/upstream/featuregates.answer.json"))
                .unwrap();
        assert_eq!(table(&answer), include_str!("../../tests/golden/upstream/featuregates.txt"));
    }
}
