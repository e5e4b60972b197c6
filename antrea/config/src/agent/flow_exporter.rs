//! `flowExporter`: records of connections, sent to a collector.

use crate::section::section;

section! {
    /// As it stands in the file.
    FlowExporter {
        enable: bool = "enable", false;
        flow_collector_addr: String = "flowCollectorAddr", "flow-aggregator/flow-aggregator:14739:grpc";
        flow_poll_interval: String = "flowPollInterval", "5s";
        active_flow_export_timeout: String = "activeFlowExportTimeout", "5s";
        idle_flow_export_timeout: String = "idleFlowExportTimeout", "15s";
        protocol_filter: Vec<String> = "protocolFilter", [];
    }
}
