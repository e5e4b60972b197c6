//! Keys of features that are not available yet: nothing but their defaults is accepted.

use super::file::AgentFile;
use crate::error::Problems;
use crate::section::{Section, Setting, Value, allow_default_only};

/// Refuses whatever asks for a feature that is not available yet.
pub(super) fn refuse_all(file: &AgentFile, problems: &mut Problems) {
    refuse_keys(file, problems);
    refuse_sections(file, problems);
}

fn refuse_keys(file: &AgentFile, problems: &mut Problems) {
    let empty = String::new();
    let mut only = Only(problems);
    only.default(
        &file.pod_cidrs,
        "podCIDRs",
        &empty,
        "trafficEncapMode networkPolicyOnly is not available yet",
    );
    only.default(
        &file.no_snat,
        "noSNAT",
        &false,
        "it is for trafficEncapMode noEncap, which is not available yet",
    );
    only.default(
        &file.enable_bridging_mode,
        "enableBridgingMode",
        &false,
        "bridging mode is not available yet",
    );
    only.default(
        &file.cluster_port,
        "clusterPort",
        &10351,
        "Egress and ServiceExternalIP are not available yet",
    );
    let no_policies = "AntreaPolicy is not available yet";
    only.default(&file.dns_server_override, "dnsServerOverride", &empty, no_policies);
    only.default(&file.fqdn_cache_min_ttl, "fqdnCacheMinTTL", &0, no_policies);
    only.default(&file.tls_cipher_suites, "tlsCipherSuites", &empty, "cipher suites cannot be chosen yet");
    let iptables = "iptables".to_owned();
    let no_nftables = "NFTablesHostNetworkMode is not available yet";
    only.default(&file.host_network_mode, "hostNetworkMode", &iptables, no_nftables);
    let no_flow_exporter = "FlowExporter is not available yet";
    only.default(&file.flow_collector_addr, "flowCollectorAddr", &empty, no_flow_exporter);
    only.default(&file.flow_poll_interval, "flowPollInterval", &empty, no_flow_exporter);
    only.default(&file.active_flow_export_timeout, "activeFlowExportTimeout", &empty, no_flow_exporter);
    only.default(&file.idle_flow_export_timeout, "idleFlowExportTimeout", &empty, no_flow_exporter);
}

fn refuse_sections(file: &AgentFile, problems: &mut Problems) {
    let no_controller = "antrea-controller is found by its Service; another way to it cannot be chosen yet";
    let sections: [(&dyn Section, &str, &str); 11] = [
        (&file.antrea_client_connection, "antreaClientConnection", no_controller),
        (&file.wire_guard, "wireGuard", "trafficEncryptionMode wireGuard is not available yet"),
        (&file.ip_sec, "ipsec", "trafficEncryptionMode ipsec is not available yet"),
        (&file.egress, "egress", "Egress is not available yet"),
        (&file.memberlist, "memberlist", "Egress and ServiceExternalIP are not available yet"),
        (&file.flow_exporter, "flowExporter", "FlowExporter is not available yet"),
        (&file.node_port_local, "nodePortLocal", "NodePortLocal is not available yet"),
        (&file.multicast, "multicast", "Multicast is not available yet"),
        (&file.external_node, "externalNode", "ExternalNode is not available yet"),
        (&file.audit_logging, "auditLogging", "AntreaPolicy is not available yet"),
        (&file.secondary_network, "secondaryNetwork", "SecondaryNetwork is not available yet"),
    ];
    for (section, path, reason) in sections {
        section.allow_defaults_only(path, reason, problems);
    }
}

/// Where refusals of single keys go.
struct Only<'problems>(&'problems mut Problems);

impl Only<'_> {
    fn default<T: Value>(&mut self, setting: &Setting<T>, key: &str, default: &T, reason: &str) {
        allow_default_only(setting, key, default, reason, self.0);
    }
}
