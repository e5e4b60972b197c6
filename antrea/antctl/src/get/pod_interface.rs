//! `antctl get podinterface`.

use clap::Args;
use serde_json::Value;

use super::question::Question;
use crate::answer::{field, items, list};
use crate::output::{self, Cells};

const HEADER: [&str; 8] =
    ["NAMESPACE", "NAME", "INTERFACE-NAME", "IP", "MAC", "PORT-UUID", "OF-PORT", "CONTAINER-ID"];

/// How much of a container's identity tells it from others.
const CONTAINER_ID: usize = 11;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The name of a Pod
    name: Option<String>,

    /// The Namespace of the Pods
    #[arg(short, long)]
    namespace: Option<String>,
}

impl Options {
    pub(super) fn question(&self) -> Question<'_> {
        let (name, namespace) = (self.name.as_deref(), self.namespace.as_deref());
        Question::new("/podinterfaces").with([("name", name), ("namespace", namespace)])
    }
}

pub(super) fn table(answer: &Value) -> String {
    output::table(&HEADER, items(answer).into_iter().map(row).collect())
}

fn row(interface: &Value) -> Cells {
    let text = |name| field(interface, name);
    vec![
        text("podNamespace"),
        text("name"),
        text("interfaceName"),
        output::list_cell(list(interface, "ips")),
        text("mac"),
        text("portUUID"),
        text("ofPort"),
        text("containerID").chars().take(CONTAINER_ID).collect(),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_table_is_that_of_upstream() {
        let answer =
            serde_json::from_str(include_str!("../../tests/golden/upstream/podinterface.json")).unwrap();
        assert_eq!(table(&answer), include_str!("../../tests/golden/upstream/podinterface.table"));
    }

    #[test]
    fn a_node_without_pods_has_an_empty_line() {
        assert_eq!(table(&json!([])), "\n");
    }
}
