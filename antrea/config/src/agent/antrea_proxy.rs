//! `antreaProxy`: Services by the agent instead of kube-proxy.

use std::net::SocketAddr;

use ipnet::IpNet;

use super::file::AgentFile;
use super::network::cidr;
use super::skipped_service::SkippedService;
use crate::error::Problems;
use crate::feature_gates::{FeatureGates, Status, refuse_in_vain};
use crate::modes::LoadBalancerMode;
use crate::section::{Section, Setting, allow_default_only, refuse, section};
use crate::shared::parsed;

/// The gate that Direct Server Return needs.
const DSR_GATE: &str = "LoadBalancerModeDSR";

section! {
    /// As it stands in the file.
    AntreaProxySection {
        enable: bool = "enable", true;
        proxy_all: bool = "proxyAll", false;
        node_port_addresses: Vec<String> = "nodePortAddresses", [];
        skip_services: Vec<String> = "skipServices", [];
        proxy_load_balancer_ips: bool = "proxyLoadBalancerIPs", true;
        service_proxy_name: String = "serviceProxyName", "";
        default_load_balancer_mode: String = "defaultLoadBalancerMode", "nat";
        disable_service_health_check_server: bool = "disableServiceHealthCheckServer", false;
        service_health_check_server_bind_address: String =
            "serviceHealthCheckServerBindAddress", "0.0.0.0:10256";
    }
}

/// Who serves Services.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AntreaProxy {
    /// kube-proxy.
    Off,
    /// The agent.
    On(ProxyConfig),
}

/// How the agent serves Services.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyConfig {
    /// What else it serves beside ClusterIPs (`proxyAll`).
    pub external: ExternalServices,
    /// Services that it leaves to others.
    pub skip_services: Vec<SkippedService>,
    /// Who serves addresses of load balancers.
    pub load_balancer_ips: LoadBalancerIps,
    /// The value of the label `service.kubernetes.io/service-proxy-name` of the Services that it serves; `None`: those
    /// without the label.
    pub service_proxy_name: Option<String>,
    /// How answers get back, for Services that do not say it themselves.
    pub default_load_balancer_mode: LoadBalancerMode,
    /// Whether Services may ask for Direct Server Return (feature gate LoadBalancerModeDSR).
    pub direct_server_return: Status,
    /// Whether `trafficDistribution` PreferSameZone and PreferSameNode are known (feature gate
    /// PreferSameTrafficDistribution).
    pub prefer_same: Status,
    /// Whether connections of UDP to endpoints that are gone are removed (feature gate CleanupStaleUDPSvcConntrack).
    pub cleanup_stale_udp: Status,
}

/// Who serves NodePorts, external IPs and the Node's own processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExternalServices {
    /// kube-proxy.
    ByHost,
    /// The agent.
    ByAgent {
        /// The networks of the Node's addresses that have NodePorts; empty: every address.
        node_port_addresses: Vec<IpNet>,
        /// Where the health of the proxy is told; `None`: nowhere.
        health_check_server: Option<SocketAddr>,
    },
}

/// Who serves the addresses of load balancers, within the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadBalancerIps {
    /// The agent.
    ByAgent,
    /// The load balancer itself: packets leave the cluster.
    ByLoadBalancer,
}

pub(super) fn antrea_proxy(
    file: &mut AgentFile,
    gates: &FeatureGates,
    problems: &mut Problems,
) -> AntreaProxy {
    let enable = file.antrea_proxy.enable.take();
    let reason = match (enable, gates.status("AntreaProxy")) {
        (_, Status::Disabled) => "feature gate AntreaProxy is false",
        (Some(enable), Status::Enabled) if !enable.value => "antreaProxy.enable is false",
        _ => return AntreaProxy::On(proxy_config(file, gates, problems)),
    };
    refuse_without_proxy(file, reason, problems);
    AntreaProxy::Off
}

/// Whatever asks for something of a proxy that there is none of.
fn refuse_without_proxy(file: &AgentFile, reason: &str, problems: &mut Problems) {
    file.antrea_proxy.allow_defaults_only("antreaProxy", reason, problems);
    for gate in [DSR_GATE, "PreferSameTrafficDistribution"] {
        refuse_in_vain(&file.feature_gates, gate, reason, problems);
    }
    allow_default_only(&file.packet_in_rate, "packetInRate", &5000, reason, problems);
}

fn proxy_config(file: &AgentFile, gates: &FeatureGates, problems: &mut Problems) -> ProxyConfig {
    let section = &file.antrea_proxy;
    let proxy_name = section.service_proxy_name.as_ref().map(|name| name.value.clone());
    let load_balancer_ips = match &section.proxy_load_balancer_ips {
        Some(proxied) if !proxied.value => LoadBalancerIps::ByLoadBalancer,
        _ => LoadBalancerIps::ByAgent,
    };
    let external = external(section, problems);
    if external == ExternalServices::ByHost {
        let reason = "it is for traffic from outside the cluster, which needs antreaProxy.proxyAll";
        refuse_in_vain(&file.feature_gates, DSR_GATE, reason, problems);
    }
    ProxyConfig {
        external,
        skip_services: list(
            &section.skip_services,
            "antreaProxy.skipServices",
            |text| text.parse(),
            problems,
        ),
        load_balancer_ips,
        service_proxy_name: proxy_name.filter(|name| !name.is_empty()),
        default_load_balancer_mode: mode(section, gates, problems),
        direct_server_return: gates.status(DSR_GATE),
        prefer_same: gates.status("PreferSameTrafficDistribution"),
        cleanup_stale_udp: gates.status("CleanupStaleUDPSvcConntrack"),
    }
}

fn external(section: &AntreaProxySection, problems: &mut Problems) -> ExternalServices {
    const BIND_ADDRESS: &str = "antreaProxy.serviceHealthCheckServerBindAddress";
    let bind_address = &section.service_health_check_server_bind_address;
    let default = || "0.0.0.0:10256".to_owned();
    if !section.proxy_all.as_ref().is_some_and(|all| all.value) {
        let reason = "it needs antreaProxy.proxyAll";
        allow_default_only(
            &section.node_port_addresses,
            "antreaProxy.nodePortAddresses",
            &Vec::new(),
            reason,
            problems,
        );
        allow_default_only(
            &section.disable_service_health_check_server,
            "antreaProxy.disableServiceHealthCheckServer",
            &false,
            "there is no such server without antreaProxy.proxyAll",
            problems,
        );
        allow_default_only(bind_address, BIND_ADDRESS, &default(), reason, problems);
        return ExternalServices::ByHost;
    }
    let disabled = section.disable_service_health_check_server.as_ref().is_some_and(|off| off.value);
    if disabled {
        let reason = "antreaProxy.disableServiceHealthCheckServer is true";
        allow_default_only(bind_address, BIND_ADDRESS, &default(), reason, problems);
    }
    let network =
        |text: &str| cidr(text).ok_or("is no network; wanted are networks as 192.168.1.0/24 or fd00:1::/64");
    ExternalServices::ByAgent {
        node_port_addresses: list(
            &section.node_port_addresses,
            "antreaProxy.nodePortAddresses",
            network,
            problems,
        ),
        health_check_server: (!disabled).then(|| socket_address(bind_address, BIND_ADDRESS, problems)),
    }
}

fn socket_address(setting: &Setting<String>, key: &str, problems: &mut Problems) -> SocketAddr {
    let default = SocketAddr::from(([0, 0, 0, 0], 10256));
    let Some(value) = setting.as_ref().filter(|value| !value.value.is_empty()) else { return default };
    match value.value.parse() {
        Ok(address) if SocketAddr::port(&address) > 0 => address,
        _ => {
            refuse(
                problems,
                key,
                value,
                "an address and a port are wanted, as in 0.0.0.0:10256 or [::]:10256",
            );
            default
        }
    }
}

fn mode(section: &AntreaProxySection, gates: &FeatureGates, problems: &mut Problems) -> LoadBalancerMode {
    const KEY: &str = "antreaProxy.defaultLoadBalancerMode";
    let mode = parsed(&section.default_load_balancer_mode, KEY, problems).unwrap_or(LoadBalancerMode::Nat);
    if let (LoadBalancerMode::Dsr, Status::Disabled, Some(value)) =
        (mode, gates.status(DSR_GATE), &section.default_load_balancer_mode)
    {
        refuse(
            problems,
            KEY,
            value,
            format!("it needs featureGates.{DSR_GATE}; set that to true, or this to nat"),
        );
    }
    mode
}

/// The entries of a list that can be read. Of each other one is told what is wrong with it.
fn list<T, E: std::fmt::Display>(
    setting: &Setting<Vec<String>>,
    key: &str,
    read: impl Fn(&str) -> Result<T, E>,
    problems: &mut Problems,
) -> Vec<T> {
    let Some(value) = setting else { return Vec::new() };
    let mut entries = Vec::new();
    for text in &value.value {
        match read(text) {
            Ok(entry) => entries.push(entry),
            Err(error) => refuse(problems, key, value, format!("{text:?} {error}")),
        }
    }
    entries
}
