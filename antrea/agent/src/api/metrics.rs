//! `/metrics`: what there is on the Node and what was done to flows, under upstream's names, looked up when it is asked for.

use antrea_kit::metrics::{Histogram, Page};
use antrea_kit::server::print_evicted;
use antrea_openflow::TableId;
use antrea_ovs::openflow::{Operation, OperationCounts};

use crate::observer::Observer;

/// What is told of.
#[derive(Debug)]
struct Numbers<'a> {
    local_pods: usize,
    policies: usize,
    /// Ingress and egress.
    rules: [usize; 2],
    /// How many flows each table holds; nothing while the switch does not answer.
    tables: Option<Vec<(TableId, &'a str, u32)>>,
    operations: [(Operation, OperationCounts); 3],
}

pub(super) async fn answer(observer: &Observer) -> String {
    let connection = observer.switch.connection();
    let (policies, rules) = observer.policies.numbers();
    let numbers = Numbers {
        local_pods: observer.store.containers().len(),
        policies,
        rules,
        tables: observer.table_sizes().await,
        operations: Operation::ALL.map(|operation| (operation, connection.counts(operation))),
    };
    let mut page = Page::default();
    numbers.print(&mut page);
    print_evicted(&mut page, "antrea_agent");
    page.into_text()
}

impl Numbers<'_> {
    fn print(&self, page: &mut Page) {
        let [ingress, egress] = self.rules;
        let gauges = [
            ("egress_networkpolicy_rule_count", egress, "Rules about what Pods of this Node send."),
            ("ingress_networkpolicy_rule_count", ingress, "Rules about what Pods of this Node get."),
            ("local_pod_count", self.local_pods, "Pods that this agent has connected."),
            ("networkpolicy_count", self.policies, "NetworkPolicies that are about Pods of this Node."),
        ];
        for (name, value, help) in gauges {
            let name = format!("antrea_agent_{name}");
            page.gauge(&name, help);
            page.sample(&name, &[], value);
        }
        if let Some(tables) = &self.tables {
            print_flows(page, tables);
        }
        self.print_operations(page);
    }

    fn print_operations(&self, page: &mut Page) {
        let name = "antrea_agent_ovs_flow_ops_count";
        page.counter(name, "How often flows were added, modified, deleted.");
        for (operation, counts) in &self.operations {
            page.sample(name, &[("operation", word(*operation))], counts.done);
        }
        let name = "antrea_agent_ovs_flow_ops_error_count";
        page.counter(name, "How often Open vSwitch refused that, or was away.");
        for (operation, counts) in &self.operations {
            page.sample(name, &[("operation", word(*operation))], counts.failed);
        }
        let histograms = self.operations.map(|(operation, counts)| {
            let buckets = OperationCounts::BOUNDS.into_iter().zip(counts.within);
            let count = counts.done + counts.failed;
            ([("operation", word(operation))], Histogram::counted(buckets, counts.milliseconds, count))
        });
        page.histograms(
            "antrea_agent_ovs_flow_ops_latency_milliseconds",
            "How long that took.",
            histograms.iter().map(|(labels, histogram)| (&labels[..], histogram)),
        );
    }
}

fn print_flows(page: &mut Page, tables: &[(TableId, &str, u32)]) {
    let name = "antrea_agent_ovs_flow_count";
    page.gauge(name, "Flows of each table.");
    for (table, table_name, flows) in tables {
        let labels = [("table_id", &*table.to_string()), ("table_name", table_name)];
        page.sample(name, &labels, flows);
    }
    let name = "antrea_agent_ovs_total_flow_count";
    page.gauge(name, "Flows of all tables.");
    page.sample(name, &[], tables.iter().map(|(.., flows)| u64::from(*flows)).sum::<u64>());
}

const fn word(operation: Operation) -> &'static str {
    match operation {
        Operation::Add => "add",
        Operation::Modify => "modify",
        Operation::Delete => "delete",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(tables: Option<Vec<(TableId, &str, u32)>>) -> String {
        let mut counts =
            OperationCounts { done: 2, failed: 1, milliseconds: 13.5, ..OperationCounts::default() };
        counts.within[9..].fill(2);
        let operations = [
            (Operation::Add, counts),
            (Operation::Modify, OperationCounts::default()),
            (Operation::Delete, OperationCounts::default()),
        ];
        let numbers = Numbers { local_pods: 2, policies: 4, rules: [7, 5], tables, operations };
        let mut page = Page::default();
        numbers.print(&mut page);
        page.into_text()
    }

    /// Upstream's page, recorded from its agent at fc70f2bb7 (v2.8.0-dev), of what is told of here: names and types.
    const UPSTREAM: &str = "\
antrea_agent_egress_networkpolicy_rule_count gauge
antrea_agent_ingress_networkpolicy_rule_count gauge
antrea_agent_local_pod_count gauge
antrea_agent_networkpolicy_count gauge
antrea_agent_ovs_flow_count gauge
antrea_agent_ovs_total_flow_count gauge
antrea_agent_ovs_flow_ops_count counter
antrea_agent_ovs_flow_ops_error_count counter
antrea_agent_ovs_flow_ops_latency_milliseconds histogram";

    #[test]
    fn names_and_types_are_those_of_upstream() {
        let page = page(Some(Vec::new()));
        let types: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
        assert_eq!(types, UPSTREAM.lines().collect::<Vec<_>>());
    }

    #[test]
    fn samples_have_the_labels_of_upstream() {
        let page =
            page(Some(vec![(TableId(0), "PipelineRootClassifier", 3), (TableId(15), "EgressMetric", 9)]));
        let expected = [
            "antrea_agent_egress_networkpolicy_rule_count 5",
            "antrea_agent_ingress_networkpolicy_rule_count 7",
            "antrea_agent_ovs_flow_count{table_id=\"15\",table_name=\"EgressMetric\"} 9",
            "antrea_agent_ovs_total_flow_count 12",
            "antrea_agent_ovs_flow_ops_count{operation=\"add\"} 2",
            "antrea_agent_ovs_flow_ops_error_count{operation=\"add\"} 1",
            "antrea_agent_ovs_flow_ops_count{operation=\"modify\"} 0",
            "antrea_agent_ovs_flow_ops_latency_milliseconds_bucket{operation=\"add\",le=\"2.5\"} 0",
            "antrea_agent_ovs_flow_ops_latency_milliseconds_bucket{operation=\"add\",le=\"5\"} 2",
            "antrea_agent_ovs_flow_ops_latency_milliseconds_bucket{operation=\"add\",le=\"+Inf\"} 3",
            "antrea_agent_ovs_flow_ops_latency_milliseconds_sum{operation=\"add\"} 13.5",
        ];
        let missing: Vec<_> = expected.iter().filter(|line| !page.lines().any(|one| one == **line)).collect();
        assert!(missing.is_empty(), "{missing:#?} in\n{page}");
    }

    #[test]
    fn without_a_switch_nothing_is_said_of_tables() {
        let page = page(None);
        assert!(!page.contains("ovs_flow_count") && !page.contains("total_flow_count"), "{page}");
        assert!(page.contains("antrea_agent_local_pod_count 2"), "{page}");
    }
}
