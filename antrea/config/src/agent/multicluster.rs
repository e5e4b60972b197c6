//! `multicluster`: traffic to the other clusters of a ClusterSet.

use crate::section::section;

section! {
    /// `multicluster.wireGuard` as it stands in the file.
    MulticlusterWireGuard {
        port: i64 = "port", 51821;
    }
}

section! {
    /// As it stands in the file.
    Multicluster {
        enable_gateway: bool = "enableGateway", false;
        namespace: String = "namespace", "";
        enable_stretched_network_policy: bool = "enableStretchedNetworkPolicy", false;
        enable_pod_to_pod_connectivity: bool = "enablePodToPodConnectivity", false;
        traffic_encryption_mode: String = "trafficEncryptionMode", "none";
    } with sections {
        wire_guard: MulticlusterWireGuard = "wireGuard";
    }
}
