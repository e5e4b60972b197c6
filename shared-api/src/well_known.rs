//! Names that programs, charts, users and upstream agree on.

/// Annotations of Nodes.
pub mod node_annotation {
    /// The MAC address of the interface with the Node IP.
    pub const MAC_ADDRESS: &str = "node.antrea.io/mac-address";
    /// The addresses that tunnels go to, comma separated, where they are not the Node IPs.
    pub const TRANSPORT_ADDRESSES: &str = "node.antrea.io/transport-addresses";
    /// Where tunnels of a Node come from, apart from the addresses that it is known by; separated by commas. Upstream has none.
    pub const TUNNEL_SOURCES: &str = "node.antrea.io/tunnel-sources";
    /// The public WireGuard key.
    pub const WIREGUARD_PUBLIC_KEY: &str = "node.antrea.io/wireguard-public-key";
    /// How many Egress IPs the Node may have.
    pub const MAX_EGRESS_IPS: &str = "node.antrea.io/max-egress-ips";
    /// The BGP router ID.
    pub const BGP_ROUTER_ID: &str = "node.antrea.io/bgp-router-id";
}

/// ConfigMaps in the Namespace of Antrea.
pub mod config_map {
    /// The configuration files.
    pub const CONFIG: &str = "antrea-config";
    /// The certificate that vouches for the API of antrea-controller, under the key `ca.crt`.
    pub const CA: &str = "antrea-ca";
    /// The identity of the cluster.
    pub const CLUSTER_IDENTITY: &str = "antrea-cluster-identity";
}

/// Keys of the ConfigMap [`config_map::CONFIG`].
pub mod config_key {
    /// The agent's file.
    pub const AGENT: &str = "antrea-agent.conf";
    /// The controller's file.
    pub const CONTROLLER: &str = "antrea-controller.conf";
    /// The CNI configuration that is installed on Nodes.
    pub const CNI: &str = "antrea-cni.conflist";
}

/// ServiceAccounts in the Namespace of Antrea.
pub mod service_account {
    /// Of antrea-agent.
    pub const AGENT: &str = "antrea-agent";
    /// Of antrea-controller.
    pub const CONTROLLER: &str = "antrea-controller";
    /// Of antctl.
    pub const ANTCTL: &str = "antctl";
}

/// The Namespace that Antrea is installed in.
pub const NAMESPACE: &str = "kube-system";

/// The Service of antrea-controller.
pub const CONTROLLER_SERVICE: &str = "antrea";

/// The APIService that the API server has where antrea-controller is installed.
pub const CONTROLLER_API_SERVICE: &str = "v1beta2.controlplane.antrea.io";

/// The reason of an agent's condition ControllerConnectionUp where the cluster has no antrea-controller.
pub const NO_CONTROLLER: &str = "NoController";

/// The one AntreaControllerInfo.
pub const CONTROLLER_INFO: &str = "antrea-controller";

/// The field manager of whatever antrea-controller writes.
pub const CONTROLLER_FIELD_MANAGER: &str = "antrea-controller";

/// The field manager of whatever antrea-agent writes.
pub const AGENT_FIELD_MANAGER: &str = "antrea-agent";

/// Variables that the Pods' manifests set.
pub mod environment {
    /// The name of the Node.
    pub const NODE_NAME: &str = "NODE_NAME";
    /// The name of the Pod.
    pub const POD_NAME: &str = "POD_NAME";
    /// The Namespace of the Pod.
    pub const POD_NAMESPACE: &str = "POD_NAMESPACE";
}
