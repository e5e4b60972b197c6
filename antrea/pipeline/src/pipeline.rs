//! The pipeline of a Node: from what the Node is to its flows, as a function.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use antrea_openflow::message::PacketOut;
use antrea_openflow::{Flow, Group, Meter, TableId};
use antrea_types::OfPort;
use ipnet::Ipv4Net;

use crate::features::{multicluster, network_policy, pod_connectivity, root, service, service_without_proxy};
use crate::layout::Layout;
use crate::model::{Peer, PipelineConfig, PodInterface, PolicyEnforcement};
use crate::multicluster::{GatewayRole, RemoteCluster, UntunnelledPods};
use crate::policy::PolicyFlows;
use crate::service::{AdmittedSources, Backend, EndpointGroup, ExternalTraffic, Frontend, Services};
use crate::tables::{
    conntrack_zone, egress_metric, egress_rule, ingress_metric, ingress_rule, service_lb, session_affinity,
};
use crate::{probe, refusal};

/// The tables of a Node and the rules for filling them. The same input gives the same flows in the same order; their
/// cookies have round 0.
#[derive(Clone, Debug)]
pub struct Pipeline {
    config: PipelineConfig,
    layout: Layout,
}

impl Pipeline {
    /// Chooses and numbers the tables that the Node's features need.
    pub fn new(config: PipelineConfig) -> Self {
        let services = service_without_proxy::tables(&config).chain(service::tables(&config));
        let features =
            pod_connectivity::tables(&config).chain(services).chain(network_policy::tables(&config));
        let required = root::TABLES.iter().chain(features).map(|table| table.name).collect();
        Self { layout: Layout::new(&required), config }
    }

    /// The same Node with other addresses that NodePorts are served on, loopback ones left out. What differs is the flows that
    /// do not depend on Pods and peers, and with the userspace datapath those of frontends.
    #[must_use]
    pub fn with_node_port_addresses(&self, addresses: Vec<IpAddr>) -> Self {
        let mut other = self.clone();
        if let Services::ByProxy(proxy) = &mut other.config.services
            && let ExternalTraffic::ByAgent { node_port_addresses } = &mut proxy.external
        {
            *node_port_addresses = addresses;
        }
        other
    }

    /// The Node that the pipeline is for.
    pub fn config(&self) -> &PipelineConfig {
        &self.config
    }

    /// The realized tables, by number.
    pub fn table_names(&self) -> Vec<(TableId, &'static str)> {
        self.layout.names()
    }

    /// The flows that do not depend on Pods and peers, among them one in each table for packets that match no other.
    pub fn base_flows(&self) -> Vec<Flow> {
        let Self { config, layout } = self;
        let mut flows = root::base_flows(layout, config);
        flows.extend(pod_connectivity::base_flows(layout, config));
        flows.extend(service_without_proxy::base_flows(layout, config));
        flows.extend(service::base_flows(layout, config));
        flows.extend(network_policy::base_flows(layout, config));
        flows.extend(root::miss_flows(layout));
        in_table_order(flows)
    }

    /// The meters that flows refer to.
    pub fn meters(&self) -> Vec<Meter> {
        let refusals = self.config.proxy().map(|proxy| refusal::meter(proxy.refusal_rate));
        let answers = multicluster::tunnel(&self.config).map(|_| probe::meter());
        refusals.into_iter().chain(answers).collect()
    }

    /// The flows of a Pod of this Node.
    pub fn pod_flows(&self, pod: &PodInterface) -> Vec<Flow> {
        let mut flows = pod_connectivity::pod_flows(&self.layout, &self.config, pod);
        flows.extend(service::pod_flows(&self.layout, pod));
        flows.extend(network_policy::pod_flows(&self.layout, pod));
        in_table_order(flows)
    }

    /// The flow that keeps packets from the connections of a Pod that is gone and had this address.
    pub fn former_pod_flow(&self, address: IpAddr) -> Option<Flow> {
        conntrack_zone::to_former_pod(&self.layout, address)
    }

    /// The flows of another Node.
    pub fn peer_flows(&self, peer: &Peer) -> Vec<Flow> {
        let mut flows = pod_connectivity::peer_flows(&self.layout, &self.config, peer);
        flows.extend(service::peer_flows(&self.layout, &self.config, peer));
        in_table_order(flows)
    }

    /// The flows of the Node's part in a ClusterSet; none where there is no Multi-cluster.
    pub fn gateway_role_flows(&self, role: &GatewayRole) -> Vec<Flow> {
        in_table_order(multicluster::role_flows(&self.layout, &self.config, role))
    }

    /// The flows of another cluster; none where there is no Multi-cluster.
    pub fn remote_cluster_flows(&self, role: &GatewayRole, cluster: &RemoteCluster) -> Vec<Flow> {
        in_table_order(multicluster::cluster_flows(&self.layout, &self.config, role, cluster))
    }

    /// The flows of what other clusters may open connections to, on a Gateway whose role says that there is a list of it;
    /// none where there is no Multi-cluster.
    pub fn exported_flows(&self, networks: &BTreeSet<Ipv4Net>) -> Vec<Flow> {
        in_table_order(multicluster::exported_flows(&self.layout, &self.config, networks))
    }

    /// The flow of another Gateway of this cluster, by an address that it sends from; `None` without Multi-cluster.
    pub fn own_gateway_flow(&self, address: Ipv4Addr) -> Option<Flow> {
        multicluster::own_gateway_flow(&self.layout, &self.config, address)
    }

    /// The flow with which a Gateway sends packets of other clusters to Pods of another Node through the tunnel, though
    /// this cluster's own packets reach them without.
    pub fn untunnelled_flow(&self, role: &GatewayRole, pods: &UntunnelledPods) -> Option<Flow> {
        multicluster::untunnelled_flow(&self.layout, &self.config, role, pods)
    }

    /// The flows of a frontend of a Service; none where the host serves Services.
    pub fn frontend_flows(&self, frontend: &Frontend) -> Vec<Flow> {
        service::frontend_flows(&self.layout, &self.config, frontend)
    }

    /// The flows that keep others than these sources from an address of a load balancer; none where the host serves
    /// Services.
    pub fn admitted_source_flows(&self, sources: &AdmittedSources) -> Vec<Flow> {
        service::admitted_source_flows(&self.layout, sources)
    }

    /// The flow of an endpoint, whichever Services have it; none where the host serves Services.
    pub fn backend_flow(&self, backend: &Backend) -> Option<Flow> {
        service::backend_flow(&self.layout, backend)
    }

    /// A group of endpoints. It has as many buckets as there are endpoints, be they more than fit into one message.
    pub fn service_group(&self, group: &EndpointGroup) -> Group {
        service::group(&self.layout, group)
    }

    /// The flows of a group of endpoints: one for each that clients stay with.
    pub fn service_group_flows(&self, group: &EndpointGroup) -> Vec<Flow> {
        service::group_flows(&self.layout, group)
    }

    /// The flows of the rules of NetworkPolicies, of which there are none yet; nothing where policies are not enforced.
    pub fn policy_flows(&self) -> Option<PolicyFlows> {
        match self.config.policies {
            PolicyEnforcement::On { .. } => {
                Some(PolicyFlows::new(self.layout.clone(), self.config.families().collect()))
            }
            PolicyEnforcement::Off => None,
        }
    }

    /// The tables whose flows have numbers of rules.
    pub fn policy_rule_tables(&self) -> impl Iterator<Item = TableId> {
        [&egress_rule::TABLE, &ingress_rule::TABLE].into_iter().filter_map(|table| self.layout.id(table))
    }

    /// The tables whose flows count what rules have admitted.
    pub fn policy_metric_tables(&self) -> impl Iterator<Item = TableId> {
        [&egress_metric::TABLE, &ingress_metric::TABLE].into_iter().filter_map(|table| self.layout.id(table))
    }

    /// The table of frontends.
    pub fn service_lb_table(&self) -> Option<TableId> {
        self.layout.id(&service_lb::TABLE)
    }

    /// The table that the switch learns flows of clients in. They have the group's number in their cookies, and no
    /// round.
    pub fn session_affinity_table(&self) -> Option<TableId> {
        self.layout.id(&session_affinity::TABLE)
    }

    /// What sends `answer`, which refuses a connection, to the client whose packet came in by `port`. The answer has
    /// the packet's MAC addresses, exchanged.
    pub fn reject_packet_out(&self, port: OfPort, answer: Vec<u8>) -> PacketOut {
        refusal::packet_out(&self.config, port, answer)
    }

    /// What sends `request`, an ICMP echo request from this Gateway's address to the Gateway `peer` of another cluster,
    /// through the tunnel; nothing where there is no Multi-cluster.
    pub fn gateway_probe(&self, peer: Ipv4Addr, request: Vec<u8>) -> Option<PacketOut> {
        probe::packet_out(&self.config, peer, request)
    }
}

fn in_table_order(mut flows: Vec<Flow>) -> Vec<Flow> {
    flows.sort_by_key(|flow| (flow.table, Reverse(flow.priority)));
    flows
}
