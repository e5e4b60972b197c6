//! What AntreaProxy needs to know before the pipeline is made: from the configuration and the Node.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use antrea_agent_proxy::service::ForwardingMode;
use antrea_agent_proxy::{
    ExternalServices, LoadBalancerAddresses, NodeHints, OtherClusters, ServiceName, Settings, Skipped,
};
use antrea_config::{
    AgentConfig, AntreaProxy, ExternalServices as ExternalConfig, LoadBalancerIps, LoadBalancerMode,
    Multicluster, ProxyConfig, SkippedService, Status,
};
use antrea_host::Netlink;
use antrea_hostplan::{AgentServices, ServiceTraffic};
use antrea_ovs::Datapath;
use antrea_pipeline::service::{DirectServerReturn, ExternalTraffic, ServiceProxy};
use anyhow::Result;

use super::node_ports::NodePortAddresses;
use super::stale_udp::StaleUdpConnections;
use crate::datapath_flows;
use crate::node::OwnNode;

/// Everything about Services that is settled at start.
pub(crate) struct ProxySetup {
    /// For the tables.
    pub(crate) pipeline: ServiceProxy,
    /// For decisions.
    pub(crate) settings: Settings,
    /// Follows the addresses that NodePorts are served on; none where that is the host's matter.
    pub(crate) node_ports: Option<NodePortAddresses>,
    /// For the kernel, which does not know of any Service yet.
    pub(crate) traffic: ServiceTraffic,
    /// UDP connections whose endpoint is gone.
    pub(crate) stale_udp: StaleUdpConnections,
    /// Where packets of Services are switched.
    pub(crate) datapath: Datapath,
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
    let (external, traffic, health_server, node_ports) = match &proxy.external {
        ExternalConfig::ByHost => (ExternalTraffic::ByHost, ServiceTraffic::ByHost, None, None),
        ExternalConfig::ByAgent { node_port_addresses, health_check_server } => {
            let found = NodePortAddresses::find(netlink, &config.host_gateway, node_port_addresses).await?;
            let addresses = found.addresses().borrow().clone();
            let external = ExternalTraffic::ByAgent { node_port_addresses: on_the_bridge(&addresses) };
            (external, kernel(addresses, *health_check_server), *health_check_server, Some(found))
        }
    };
    let direct_server_return = direct_server_return(proxy);
    Ok(Some(ProxySetup {
        settings: settings(proxy, &config.multicluster, node, direct_server_return),
        pipeline: ServiceProxy { external, direct_server_return, refusal_rate: config.packet_in_rate },
        node_ports,
        traffic,
        stale_udp: match proxy.cleanup_stale_udp {
            Status::Enabled => StaleUdpConnections::Forgotten,
            Status::Disabled => StaleUdpConnections::Kept,
        },
        datapath: datapath_flows::of(config),
        health_server,
    }))
}

/// Packets to loopback addresses never reach the bridge.
pub(super) fn on_the_bridge(addresses: &BTreeSet<IpAddr>) -> Vec<IpAddr> {
    addresses.iter().filter(|address| !address.is_loopback()).copied().collect()
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

fn settings(
    config: &ProxyConfig,
    multicluster: &Multicluster,
    node: &OwnNode,
    direct_server_return: DirectServerReturn,
) -> Settings {
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
        other_clusters: match multicluster {
            Multicluster::On(_) => OtherClusters::On,
            Multicluster::Off => OtherClusters::Off,
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
