//! antrea-agent.conf: the validated values that the agent acts on.

mod antrea_proxy;
mod audit_logging;
mod controller;
mod egress;
mod encryption;
mod external_node;
mod file;
mod flow_exporter;
mod host_network;
mod memberlist;
mod multicast;
pub(crate) mod multicluster;
mod network;
mod node_port_local;
mod secondary_network;
mod skipped_service;
mod tunnel;
mod unavailable;

use std::path::PathBuf;

use antrea_types::{DualStack, InterfaceName, MinimumTls};
use ipnet::IpNet;

pub use antrea_proxy::{AntreaProxy, ExternalServices, LoadBalancerIps, ProxyConfig};
pub use controller::Controller;
pub use multicluster::{Multicluster, MulticlusterConfig};
pub use network::{Ovs, TransportInterface};
pub use skipped_service::{InvalidSkippedService, SkippedService};
pub use tunnel::Tunnel;

use crate::error::{ConfigError, Problems};
use crate::feature_gates::{self, Component, FeatureGates};
use crate::modes::{Metrics, NewPods};
use crate::parse;
use crate::section::{Key, Section, Setting, refuse};
use crate::shared::{ApiServerAddress, controller_token_audience, parsed, port, tls_min_version};
use file::AgentFile;

/// What antrea-agent.conf says, validated. Only what is available is in it.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentConfig {
    /// Open vSwitch and the bridge of the Pods.
    pub ovs: Ovs,
    /// The host's interface on the bridge, the gateway of its Pods.
    pub host_gateway: InterfaceName,
    /// The tunnel to the other Nodes.
    pub tunnel: Tunnel,
    /// Whether masquerading picks source ports at random.
    pub snat_fully_random_ports: bool,
    /// Whether Pods' interfaces compute checksums themselves.
    pub disable_tx_checksum_offload: bool,
    /// The MTU of Pods, in bytes; `None` to derive it from the transport interface.
    pub default_mtu: Option<u16>,
    /// Who serves Services.
    pub antrea_proxy: AntreaProxy,
    /// Whether Pods reach other clusters.
    pub multicluster: Multicluster,
    /// ClusterIPs, for each IP family that has Services, where kube-proxy serves them. IPv4's default is upstream's,
    /// 10.96.0.0/12.
    pub service_cidrs: DualStack<IpNet>,
    /// How many packets a second Open vSwitch may send to the agent for each feature; bursts may be twice as large.
    pub packet_in_rate: u32,
    /// Where traffic to other Nodes leaves.
    pub transport_interface: TransportInterface,
    /// Whether the cluster has antrea-controller.
    pub controller: Controller,
    /// What becomes of Pods that come while antrea-controller is away.
    pub new_pods_without_controller: NewPods,
    /// For whom the tokens are that antrea-controller is shown; `None` for those of the API server, which upstream's takes.
    pub controller_token_audience: Option<String>,
    /// The socket that antrea-cni connects to.
    pub cni_socket: PathBuf,
    /// The port of the agent's own API, health included.
    pub api_port: u16,
    /// The oldest TLS version of that API.
    pub tls_min_version: MinimumTls,
    /// Whether it serves metrics.
    pub metrics: Metrics,
    /// The directory in which the host's `proc` is mounted; `/` outside a container.
    pub host_proc_path_prefix: PathBuf,
    /// How to reach the Kubernetes API; `None` for the credentials of the Pod.
    pub kubeconfig: Option<PathBuf>,
    /// The Kubernetes API server, where not the one of the environment or the kubeconfig.
    pub kube_api_server_override: Option<ApiServerAddress>,
    /// Which features are on.
    pub feature_gates: FeatureGates,
    /// What was accepted although nothing comes of it, a sentence each, to be logged at start.
    pub notices: Vec<String>,
}

impl AgentConfig {
    /// Reads `text`, the content of `file`.
    ///
    /// # Errors
    /// All that is wrong with it, by line and key.
    pub fn parse(file: &str, text: &str) -> Result<Self, ConfigError> {
        let mut problems = Problems::default();
        let config = Self::validate(parse(file, text)?, &mut problems);
        problems.into_result(file, config)
    }

    /// Every key that the file may have, with upstream's default.
    pub fn keys() -> Vec<Key> {
        let mut keys = Vec::new();
        AgentFile::keys("", &mut keys);
        keys
    }

    fn validate(mut file: AgentFile, problems: &mut Problems) -> Self {
        let feature_gates = feature_gates::read(&file.feature_gates, Component::Agent, problems);
        unavailable::refuse_all(&file, problems);
        let mut notices = Vec::new();
        network::refuse_other_modes(&file, problems);
        let ovs = network::ovs(&file, problems);
        let host_gateway = network::host_gateway(&file, &ovs, problems);
        let antrea_proxy = antrea_proxy::antrea_proxy(&mut file, &feature_gates, problems);
        notices.extend(needless_service_cidrs(&file, &antrea_proxy));
        let multicluster = multicluster::multicluster(&file, &feature_gates, &antrea_proxy, problems);
        notices.extend(multicluster::notice(&feature_gates, &multicluster));
        Self {
            tunnel: tunnel::tunnel(&file.tunnel_type, &file.tunnel_port, &file.tunnel_csum, problems),
            snat_fully_random_ports: is_true(&file.snat_fully_random_ports),
            disable_tx_checksum_offload: is_true(&file.disable_tx_checksum_offload),
            default_mtu: network::mtu(&file.default_mtu, problems),
            packet_in_rate: packet_in_rate(&file.packet_in_rate, problems),
            service_cidrs: network::service_cidrs(&file.service_cidr, &file.service_cidr_v6, problems),
            transport_interface: network::transport_interface(
                &file.transport_interface,
                &file.transport_interface_cidrs,
                problems,
            ),
            controller: controller::controller(&file, problems),
            new_pods_without_controller: parsed(
                &file.new_pods_without_controller,
                "newPodsWithoutController",
                problems,
            )
            .unwrap_or(NewPods::Isolate),
            controller_token_audience: controller_token_audience(&file.controller_token_audience),
            cni_socket: path(&file.cni_socket, "cniSocket", "/var/run/antrea/cni.sock", problems),
            api_port: port(&file.api_port, "apiPort", problems).unwrap_or(10350),
            tls_min_version: tls_min_version(&file.tls_min_version, problems),
            metrics: Metrics::of(&file.enable_prometheus_metrics),
            host_proc_path_prefix: path(&file.host_proc_path_prefix, "hostProcPathPrefix", "/host", problems),
            kubeconfig: file.client_connection.validate("clientConnection", problems),
            kube_api_server_override: parsed(
                &file.kube_api_server_override,
                "kubeAPIServerOverride",
                problems,
            ),
            ovs,
            host_gateway,
            antrea_proxy,
            multicluster,
            feature_gates,
            notices,
        }
    }
}

/// Upstream says of these keys that AntreaProxy ignores them, so that files have them.
fn needless_service_cidrs(file: &AgentFile, proxy: &AntreaProxy) -> Option<String> {
    let is_set = |setting: &Setting<String>| setting.as_ref().is_some_and(|value| !value.value.is_empty());
    let needless = is_set(&file.service_cidr) || is_set(&file.service_cidr_v6);
    (needless && *proxy != AntreaProxy::Off).then(|| {
        "serviceCIDR or serviceCIDRv6 is set, which AntreaProxy does not need: it knows the ClusterIPs"
            .to_owned()
    })
}

/// Twice the rate, the size of bursts, has to fit a meter.
fn packet_in_rate(setting: &Setting<i64>, problems: &mut Problems) -> u32 {
    const DEFAULT: u32 = 5000;
    let Some(value) = setting.as_ref().filter(|value| value.value != 0) else { return DEFAULT };
    let rate = u32::try_from(value.value).ok().filter(|rate| *rate <= u32::MAX / 2);
    rate.unwrap_or_else(|| {
        refuse(problems, "packetInRate", value, "allowed are 1 to 2147483647, and 0 for the default");
        DEFAULT
    })
}

fn is_true(setting: &Setting<bool>) -> bool {
    setting.as_ref().is_some_and(|value| value.value)
}

/// An absolute path, `default` where it is absent.
fn path(setting: &Setting<String>, key: &str, default: &str, problems: &mut Problems) -> PathBuf {
    let Some(value) = setting.as_ref().filter(|value| !value.value.is_empty()) else {
        return PathBuf::from(default);
    };
    let path = PathBuf::from(&value.value);
    if !path.is_absolute() {
        refuse(problems, key, value, "an absolute path is wanted");
    }
    path
}
