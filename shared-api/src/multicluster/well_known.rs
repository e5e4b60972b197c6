//! Names of Multi-cluster that programs, charts, users and upstream agree on.

/// Annotations.
pub mod annotation {
    /// Of derived Services and endpoints: they are imported, and never exported.
    pub const IMPORTED_SERVICE: &str = "multicluster.antrea.io/imported-service";
    /// Of ServiceImports: the labels (`l:KEY`) and annotations (`a:KEY`) that exports gave them, joined by commas.
    pub const EXPORTED_KEYS: &str = "multicluster.antrea.io/exported-keys";
    /// Of imported ClusterNetworkPolicies.
    pub const IMPORTED_ACNP: &str = "multicluster.antrea.io/imported-acnp";
    /// Of a Node that may be the Gateway: `true`. Upstream takes any value for that, `false` as well.
    pub const GATEWAY: &str = "multicluster.antrea.io/gateway";
    /// Of such a Node: the address that tunnels of other clusters go to.
    pub const GATEWAY_IP: &str = "multicluster.antrea.io/gateway-ip";
    /// Of a ServiceAccount in the Common Area: the member that it belongs to.
    pub const CLUSTER_ID: &str = "multicluster.antrea.io/cluster-id";
    /// Of the same: the networks that the member may have, joined by commas. Without it these are private ones.
    pub const NETWORKS: &str = "multicluster.antrea.io/networks";
    /// Of the same: where the Gateways of the member may be, addresses or networks joined by commas. No other member has a
    /// Gateway there.
    pub const GATEWAYS: &str = "multicluster.antrea.io/gateways";
    /// Of the same: how long the tokens last that the member asks for, as `720h`, where not as the leader's configuration
    /// says.
    pub const TOKEN_LIFETIME: &str = "multicluster.antrea.io/token-lifetime";
    /// Of what antctl made, and may remove.
    pub const CREATED_BY_ANTCTL: &str = "multicluster.antrea.io/created-by-antctl";
}

/// Labels of ResourceExports. The leader finds what belongs together by them.
pub mod label {
    /// The name of the exported object.
    pub const SOURCE_NAME: &str = "sourceName";
    /// Its Namespace.
    pub const SOURCE_NAMESPACE: &str = "sourceNamespace";
    /// The exporter.
    pub const SOURCE_CLUSTER_ID: &str = "sourceClusterID";
    /// The kind.
    pub const SOURCE_KIND: &str = "sourceKind";
}

/// Finalizers.
pub mod finalizer {
    /// Of ResourceExports of all kinds but LabelIdentity.
    pub const RESOURCE_EXPORT: &str = "resourceexport.antrea.io/finalizer";
    /// The same before Antrea 2.2.
    pub const RESOURCE_EXPORT_BEFORE_2_2: &str = "resourceexport.finalizers.antrea.io";
    /// Of a member's ClusterSet: it stays until the leader knows that the cluster has left.
    pub const CLUSTER_SET: &str = "multicluster.antrea.io/leave";

    /// Of the MemberClusterAnnounce of a cluster.
    pub fn member_cluster_announce(cluster_id: &str) -> String {
        format!("memberclusterannounce.finalizer.antrea.io/{cluster_id}")
    }
}

/// The most addresses, or networks that are made up of them, in `exported` of a Gateway: every agent of the cluster reads them
/// with each heartbeat of the Gateway.
pub const MOST_EXPORTED_ADDRESSES: usize = 4096;

/// The most networks of Pods there.
pub const MOST_EXPORTED_POD_CIDRS: usize = 64;

/// Before the names of derived Services and of imported ClusterNetworkPolicies.
pub const DERIVED_PREFIX: &str = "antrea-mc-";

/// The name of the MemberClusterAnnounce of a cluster.
pub fn announce_name(cluster_id: &str) -> String {
    format!("member-announce-from-{cluster_id}")
}

/// The command that binds these networks, and no others, to the member that a ServiceAccount belongs to.
pub fn bind_command(namespace: &str, account: &str, networks: &str) -> String {
    format!(
        "kubectl annotate serviceaccount --namespace {namespace} {account} --overwrite {}={networks}",
        annotation::NETWORKS
    )
}
