//! What the agent is put together from, made of its configuration and the Node.

use std::path::Path;
use std::sync::Arc;

use antrea_agent_cni::Dependencies;
use antrea_agent_cni::interface_store::InterfaceStore;
use antrea_agent_cni::ipam::host_local::HostLocal;
use antrea_agent_cni::server::CniServer;
use antrea_agent_cni::settings::Settings;
use antrea_agent_routing::{OwnNode as RoutedNode, TrafficMode, gateway_ips};
use antrea_config::{AgentConfig, DatapathType};
use antrea_host::TxChecksumOffload;
use antrea_host::pod_interface::HostIngress;
use antrea_hostplan::Transport;
use antrea_ovs::openflow::Connection;
use antrea_ovs::{Round, Switch};
use antrea_pipeline::multicluster::Multicluster;
use antrea_pipeline::service::Services;
use antrea_pipeline::{Gateway, NodeTraffic, Pipeline, PipelineConfig, PolicyEnforcement, Tunnel};
use anyhow::Result;

use crate::bridge::Ports;
use crate::former_pods::FormerPods;
use crate::gateway::{self, GatewayInterface};
use crate::multicluster::MulticlusterSetup;
use crate::node::OwnNode;
use crate::packet_ins::PacketIns;
use crate::pods::SwitchFlows;
use crate::policies::PodPolicies;
use crate::proxy::ProxySetup;
use crate::survey::Surroundings;
use crate::tunnel;

/// Where host-local IPAM keeps which address is whose, as the standard plugin does for a network called `antrea`.
const IPAM_DIRECTORY: &str = "/var/lib/cni/networks/antrea";

pub(crate) fn pipeline_config(
    config: &AgentConfig,
    node: &OwnNode,
    ports: &Ports,
    proxy: Option<&ProxySetup>,
    multicluster: Option<&MulticlusterSetup>,
) -> PipelineConfig {
    let node_traffic = match config.ovs.datapath_type {
        DatapathType::System => NodeTraffic::PacketMark,
        DatapathType::Netdev => NodeTraffic::SourceMac,
    };
    let ips = gateway_ips(&node.pod_cidrs);
    PipelineConfig {
        gateway: Gateway { of_port: ports.gateway, mac: ports.gateway_mac, ips },
        tunnel: Some(Tunnel { of_port: ports.tunnel, traffic: tunnel::traffic(config.tunnel) }),
        local_pod_cidrs: node.pod_cidrs,
        services: match proxy {
            Some(proxy) => Services::ByProxy(proxy.pipeline.clone()),
            None => Services::ByHost { cidrs: config.service_cidrs },
        },
        multicluster: if multicluster.is_some() { Multicluster::On } else { Multicluster::Off },
        policies: PolicyEnforcement::On { node_traffic },
    }
}

pub(crate) fn routed_node(config: &AgentConfig, node: &OwnNode, transport: &Transport) -> RoutedNode {
    RoutedNode {
        name: node.name.clone(),
        pod_cidrs: node.pod_cidrs,
        gateway: config.host_gateway.clone(),
        transport: transport.clone(),
        mode: TrafficMode::Encap,
        tunnel: tunnel::protocol(config.tunnel),
    }
}

pub(crate) fn open_switch(config: &AgentConfig, pipeline: &Pipeline, round: Round) -> (Switch, PacketIns) {
    let socket = config.ovs.run_dir.join(format!("{}.mgmt", config.ovs.bridge));
    let (connection, unasked) = Connection::open(socket);
    let tables = pipeline.table_names().into_iter().map(|(id, name)| (id, name.to_owned())).collect();
    (Switch::new(connection, round, tables), PacketIns::new(unasked.packet_ins))
}

pub(crate) fn gateway(config: &AgentConfig, node: &OwnNode, ports: &Ports) -> GatewayInterface {
    GatewayInterface {
        name: config.host_gateway.clone(),
        mac: ports.gateway_mac,
        addresses: gateway::addresses(&node.pod_cidrs),
    }
}

pub(crate) fn cni_server(
    config: &AgentConfig,
    surroundings: &Surroundings,
    switch: &Switch,
    pipeline: &Arc<Pipeline>,
    store: &InterfaceStore,
    policies: PodPolicies,
    former: FormerPods,
) -> Result<CniServer> {
    let (switch, pipeline) = (switch.clone(), Arc::clone(pipeline));
    let dependencies = Dependencies {
        ipam: HostLocal::new(IPAM_DIRECTORY, surroundings.node.pod_cidrs.iter().copied())?,
        ovsdb: surroundings.database.clone(),
        netlink: surroundings.netlink.clone(),
        store: store.clone(),
        flows: Arc::new(SwitchFlows { switch, pipeline, policies, former }),
    };
    Ok(CniServer::new(cni_settings(config, surroundings.pod_mtu), dependencies))
}

fn cni_settings(config: &AgentConfig, pod_mtu: u16) -> Settings {
    let netdev = config.ovs.datapath_type == DatapathType::Netdev;
    // Through the userspace datapath packets travel as they are: without checksum they would arrive broken.
    let offload = if netdev || config.disable_tx_checksum_offload {
        TxChecksumOffload::Off
    } else {
        TxChecksumOffload::On
    };
    Settings {
        bridge: config.ovs.bridge.to_string(),
        mtu: pod_mtu.into(),
        host_proc_path_prefix: prefix(&config.host_proc_path_prefix),
        tx_checksum_offload: offload,
        host_ingress: if netdev { HostIngress::Drop } else { HostIngress::Accept },
    }
}

fn prefix(path: &Path) -> String {
    path.display().to_string()
}
