//! What the proxy of a Node depends on beside Services and EndpointSlices.

use std::collections::BTreeSet;
use std::net::IpAddr;

use antrea_pipeline::service::DirectServerReturn;
use antrea_types::{IpFamily, NodeName};

use crate::service::ForwardingMode;
use crate::service_name::ServiceName;

/// Whether the Node serves NodePorts and external IPs, too (`proxyAll`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExternalServices {
    /// kube-proxy does, or nobody.
    ByHost,
    /// The agent does.
    ByAgent,
}

/// Who serves the addresses of load balancers inside the cluster (`proxyLoadBalancerIPs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadBalancerAddresses {
    /// The load balancer itself.
    Left,
    /// The agent.
    Served,
}

/// Whether endpoints are chosen by the Nodes they are meant for (`PreferSameTrafficDistribution`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeHints {
    /// They are not.
    Ignored,
    /// They are, before zones.
    Honoured,
}

/// Whether clients in other clusters may come to Services by this Node (`multicluster.enableGateway`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherClusters {
    /// There are none.
    Off,
    /// They come when this Node is the Gateway, which may be at any time.
    On,
}

/// Services that are left alone (`skipServices`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// By name.
    pub names: BTreeSet<ServiceName>,
    /// By ClusterIP.
    pub cluster_ips: BTreeSet<IpAddr>,
}

/// The Node, and what its configuration says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The Node.
    pub node: NodeName,
    /// Its addresses: an endpoint there is on this Node whatever its EndpointSlice says.
    pub own_addresses: Vec<IpAddr>,
    /// The families that its Pods have.
    pub families: Vec<IpFamily>,
    /// NodePorts and external IPs.
    pub external: ExternalServices,
    /// Addresses of load balancers.
    pub load_balancer_addresses: LoadBalancerAddresses,
    /// The `service.kubernetes.io/service-proxy-name` of Services to be served; none for those without the label.
    pub service_proxy_name: Option<String>,
    /// What is left alone.
    pub skipped: Skipped,
    /// How answers to external clients get back where the Service does not say.
    pub default_mode: ForwardingMode,
    /// Whether they may get back directly.
    pub direct_server_return: DirectServerReturn,
    /// Hints for Nodes.
    pub node_hints: NodeHints,
    /// Clients in other clusters.
    pub other_clusters: OtherClusters,
}
