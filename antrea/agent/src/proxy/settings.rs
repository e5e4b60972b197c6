//! What AntreaProxy needs to know before the pipeline is made: from the configuration and the Node.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use antrea_agent_proxy::service::ForwardingMode;
use antrea_agent_proxy::{
    ExternalServices, LoadBalancerAddresses, NodeHints, ServiceName, Settings, Skipped,
};
use antrea_config::{
    AgentConfig, AntreaProxy, ExternalServices as ExternalConfig, LoadBalancerIps, LoadBalancerMode,
    ProxyConfig, SkippedService, Status,
};
use antrea_host::{Netlink, find_node_port_addresses};
use antrea_hostplan::{AgentServices, ServiceTraffic};
use antrea_pipeline::service::{DirectServerReturn, ExternalTraffic, ServiceProxy};
use anyhow::{Context, Result};

use super::stale_udp::StaleUdpConnections;
use crate::node::OwnNode;

/// Everything about Services that is settled at start.
pub(crate) struct ProxySetup {
    /// For the tables.
    pub(crate) pipeline: ServiceProxy,
    /// For decisions.
    pub(crate) settings: Settings,
    /// For the kernel, which does not know of any Service yet.
    pub(crate) traffic: ServiceTraffic,
    /// UDP connections whose endpoint is gone.
    pub(crate) stale_udp: StaleUdpConnections,
    /// Where ovs-vswitchd listens.
    pub(crate) ovs_run_dir: PathBuf,
    /// Where load balancers ask whether this Node serves Services.
    pub(crate) health_server: Option<SocketAddr>,
}

/// None where Services are left to kube-proxy.
pub(crate) async fn set_up(
    config: &AgentConfig,
    node: &OwnNode,
    netlink: &Netlink,
) -> Result<Option<ProxySetup>> {
    let AntreaProxy::On(proxy) = &config.antrea_proxy else { return Ok(None) };
    let (external, traffic, health_server) = match &proxy.external {
        ExternalConfig::ByHost => (ExternalTraffic::ByHost, ServiceTraffic::ByHost, None),
        ExternalConfig::ByAgent { node_port_addresses, health_check_server } => {
            let addresses = find_node_port_addresses(netlink, &config.host_gateway, node_port_addresses)
                .await
                .context("cannot find the addresses of this Node for NodePorts")?;
            (by_agent(&addresses), kernel(addresses, *health_check_server), *health_check_server)
        }
    };
    let direct_server_return = direct_server_return(proxy);
    Ok(Some(ProxySetup {
        settings: settings(proxy, node, direct_server_return),
        pipeline: ServiceProxy { external, direct_server_return, refusal_rate: config.packet_in_rate },
        traffic,
        stale_udp: match proxy.cleanup_stale_udp {
            Status::Enabled => StaleUdpConnections::Forgotten,
            Status::Disabled => StaleUdpConnections::Kept,
        },
        ovs_run_dir: config.ovs.run_dir.clone(),
        health_server,
    }))
}

/// Packets to loopback addresses never reach the bridge.
fn by_agent(addresses: &BTreeSet<IpAddr>) -> ExternalTraffic {
    let node_port_addresses = addresses.iter().filter(|address| !address.is_loopback()).copied().collect();
    ExternalTraffic::ByAgent { node_port_addresses }
}

fn kernel(node_port_addresses: BTreeSet<IpAddr>, health_server: Option<SocketAddr>) -> ServiceTraffic {
    let health_check_port = health_server.map(|address| address.port());
    ServiceTraffic::ByAgent(AgentServices { node_port_addresses, health_check_port, services: None })
}

const fn direct_server_return(config: &ProxyConfig) -> DirectServerReturn {
    match config.direct_server_return {
        Status::Enabled => DirectServerReturn::On,
        Status::Disabled => DirectServerReturn::Off,
    }
}

fn settings(config: &ProxyConfig, node: &OwnNode, direct_server_return: DirectServerReturn) -> Settings {
    Settings {
        node: node.name.clone(),
        own_addresses: node.addresses.iter().copied().collect(),
        families: node.pod_cidrs.families().collect(),
        external: match config.external {
            ExternalConfig::ByHost => ExternalServices::ByHost,
            ExternalConfig::ByAgent { .. } => ExternalServices::ByAgent,
        },
        load_balancer_addresses: match config.load_balancer_ips {
            LoadBalancerIps::ByAgent => LoadBalancerAddresses::Served,
            LoadBalancerIps::ByLoadBalancer => LoadBalancerAddresses::Left,
        },
        service_proxy_name: config.service_proxy_name.clone(),
        skipped: skipped(&config.skip_services),
        default_mode: match config.default_load_balancer_mode {
            LoadBalancerMode::Nat => ForwardingMode::Nat,
            LoadBalancerMode::Dsr => ForwardingMode::Dsr,
        },
        direct_server_return,
        node_hints: match config.prefer_same {
            Status::Enabled => NodeHints::Honoured,
            Status::Disabled => NodeHints::Ignored,
        },
    }
}

fn skipped(entries: &[SkippedService]) -> Skipped {
    let mut skipped = Skipped::default();
    for entry in entries {
        match entry {
            SkippedService::Named { namespace, name } => {
                skipped.names.insert(ServiceName::new(namespace, name));
            }
            SkippedService::ClusterIp(ip) => {
                skipped.cluster_ips.insert(*ip);
            }
        }
    }
    skipped
}
