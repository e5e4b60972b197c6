//! `antctl get ovsflows`.

use clap::Args;
use serde_json::Value;

use super::question::Question;
use crate::answer::{field, items};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The Namespace of the Pod or the Service
    #[arg(short, long)]
    namespace: Option<String>,

    /// Only flows of this Pod of the Node
    #[arg(short, long, requires = "namespace", conflicts_with_all = ["service", "networkpolicy", "table", "groups"])]
    pod: Option<String>,

    /// Only flows and groups of this Service
    #[arg(short = 'S', long, requires = "namespace", conflicts_with_all = ["networkpolicy", "table", "groups"])]
    service: Option<String>,

    /// Only flows of this NetworkPolicy
    #[arg(short = 'N', long, conflicts_with_all = ["table", "groups"])]
    networkpolicy: Option<String>,

    /// Only flows of these tables: names or numbers, with commas between them
    #[arg(short = 'T', long, conflicts_with = "groups")]
    table: Option<String>,

    /// Groups in the place of flows: their numbers, with commas between them, or "all"
    #[arg(short = 'G', long)]
    groups: Option<String>,

    /// Only the names of the tables
    #[arg(long, conflicts_with_all = ["pod", "service", "networkpolicy", "table", "groups", "namespace"])]
    table_names_only: bool,
}

impl Options {
    pub(super) fn question(&self) -> Question<'_> {
        Question::new("/ovsflows").with([
            ("namespace", self.namespace.as_deref()),
            ("pod", self.pod.as_deref()),
            ("service", self.service.as_deref()),
            ("networkpolicy", self.networkpolicy.as_deref()),
            ("table", self.table.as_deref()),
            ("groups", self.groups.as_deref()),
            ("table-names-only", self.table_names_only.then_some("")),
        ])
    }
}

/// A line for each, below a header of nothing.
pub(super) fn table(answer: &Value) -> String {
    let lines = items(answer).into_iter().map(|flow| format!("{}\n", field(flow, "flow")));
    std::iter::once("\n".to_owned()).chain(lines).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_table_is_that_of_upstream() {
        let upstream = include_str!("../../tests/golden/upstream/ovsflows.table");
        let flows = upstream.lines().skip(1).map(|line| json!({"flow": line}));
        assert_eq!(table(&flows.collect()), upstream);
    }
}
