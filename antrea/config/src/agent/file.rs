//! antrea-agent.conf as it stands: every key at the top, and the sections.

use super::antrea_proxy::AntreaProxySection;
use super::audit_logging::AuditLogging;
use super::controller::ControllerSection;
use super::egress::Egress;
use super::encryption::{IpSec, WireGuard};
use super::external_node::ExternalNode;
use super::flow_exporter::FlowExporter;
use super::host_network::HostNetworkAcceleration;
use super::memberlist::Memberlist;
use super::multicast::Multicast;
use super::multicluster::MulticlusterSection;
use super::node_port_local::NodePortLocal;
use super::secondary_network::SecondaryNetwork;
use crate::feature_gates::Gates;
use crate::section::section;
use crate::shared::{CONTROLLER_TOKEN_AUDIENCE, ClientConnection};

section! {
    /// The raw file. Where upstream's default depends on the platform or on another key, the default is empty or 0.
    AgentFile {
        feature_gates: Gates = "featureGates", [];
        ovs_bridge: String = "ovsBridge", "br-int";
        ovs_datapath_type: String = "ovsDatapathType", "system";
        ovs_run_dir: String = "ovsRunDir", "/var/run/openvswitch";
        host_gateway: String = "hostGateway", "antrea-gw0";
        traffic_encap_mode: String = "trafficEncapMode", "encap";
        pod_cidrs: String = "podCIDRs", "";
        no_snat: bool = "noSNAT", false;
        snat_fully_random_ports: bool = "snatFullyRandomPorts", false;
        tunnel_type: String = "tunnelType", "geneve";
        tunnel_port: i64 = "tunnelPort", 0;
        tunnel_csum: bool = "tunnelCsum", false;
        traffic_encryption_mode: String = "trafficEncryptionMode", "none";
        enable_bridging_mode: bool = "enableBridgingMode", false;
        disable_tx_checksum_offload: bool = "disableTXChecksumOffload", false;
        default_mtu: i64 = "defaultMTU", 0;
        packet_in_rate: i64 = "packetInRate", 5000;
        service_cidr: String = "serviceCIDR", "";
        service_cidr_v6: String = "serviceCIDRv6", "";
        transport_interface: String = "transportInterface", "";
        transport_interface_cidrs: Vec<String> = "transportInterfaceCIDRs", [];
        new_pods_without_controller: String = "newPodsWithoutController", "isolate";
        controller_token_audience: String = "controllerTokenAudience", CONTROLLER_TOKEN_AUDIENCE;
        cni_socket: String = "cniSocket", "/var/run/antrea/cni.sock";
        api_port: i64 = "apiPort", 10350;
        cluster_port: i64 = "clusterPort", 10351;
        enable_prometheus_metrics: bool = "enablePrometheusMetrics", true;
        host_proc_path_prefix: String = "hostProcPathPrefix", "/host";
        kube_api_server_override: String = "kubeAPIServerOverride", "";
        dns_server_override: String = "dnsServerOverride", "";
        fqdn_cache_min_ttl: i64 = "fqdnCacheMinTTL", 0;
        tls_cipher_suites: String = "tlsCipherSuites", "";
        tls_min_version: String = "tlsMinVersion", "";
        flow_collector_addr: String = "flowCollectorAddr", "";
        flow_poll_interval: String = "flowPollInterval", "";
        active_flow_export_timeout: String = "activeFlowExportTimeout", "";
        idle_flow_export_timeout: String = "idleFlowExportTimeout", "";
        node_type: String = "nodeType", "k8sNode";
        host_network_mode: String = "hostNetworkMode", "iptables";
    } with sections {
        client_connection: ClientConnection = "clientConnection";
        antrea_client_connection: ClientConnection = "antreaClientConnection";
        wire_guard: WireGuard = "wireGuard";
        ip_sec: IpSec = "ipsec";
        egress: Egress = "egress";
        memberlist: Memberlist = "memberlist";
        flow_exporter: FlowExporter = "flowExporter";
        node_port_local: NodePortLocal = "nodePortLocal";
        multicast: Multicast = "multicast";
        antrea_proxy: AntreaProxySection = "antreaProxy";
        controller: ControllerSection = "controller";
        multicluster: MulticlusterSection = "multicluster";
        external_node: ExternalNode = "externalNode";
        audit_logging: AuditLogging = "auditLogging";
        secondary_network: SecondaryNetwork = "secondaryNetwork";
        host_network_acceleration: HostNetworkAcceleration = "hostNetworkAcceleration";
    }
}
