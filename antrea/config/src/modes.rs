//! The choices that some keys offer, each by the name it has in the file.

use antrea_config_file::choice;

use crate::section::Setting;

choice! {
    /// How traffic between Pods on different Nodes travels (`trafficEncapMode`).
    pub(crate) TrafficEncapMode {
        /// Always through a tunnel.
        Encap = "encap",
        /// Routed by the underlay.
        NoEncap = "noEncap",
        /// Routed within a subnet of Nodes, through a tunnel between subnets.
        Hybrid = "hybrid",
        /// By another CNI plugin; only policies are enforced here.
        NetworkPolicyOnly = "networkPolicyOnly",
    }
}

choice! {
    /// The tunnel protocol (`tunnelType`).
    pub TunnelType {
        /// RFC 8926, UDP port 6081.
        Geneve = "geneve",
        /// RFC 7348, UDP port 4789.
        Vxlan = "vxlan",
        /// RFC 2784, IP protocol 47.
        Gre = "gre",
    }
}

choice! {
    /// The OVS datapath (`ovsDatapathType`).
    pub DatapathType {
        /// The module of the kernel.
        System = "system",
        /// ovs-vswitchd itself, in user space.
        Netdev = "netdev",
    }
}

choice! {
    /// What becomes of Pods that come while antrea-controller cannot be asked which policies are about them
    /// (`newPodsWithoutController`).
    pub NewPods {
        /// They are isolated until it can, but for their own Node.
        Isolate = "isolate",
        /// They are not, as upstream has it.
        Admit = "admit",
    }
}

choice! {
    /// What encrypts the traffic between Nodes (`trafficEncryptionMode`).
    pub(crate) EncryptionMode {
        /// Nothing.
        None = "none",
        /// IPsec ESP.
        IpSec = "ipsec",
        /// WireGuard.
        WireGuard = "wireGuard",
    }
}

choice! {
    /// The oldest TLS version that an API server of ours speaks (`tlsMinVersion`).
    pub(crate) TlsMinVersion {
        /// RFC 2246.
        Tls10 = "VersionTLS10",
        /// RFC 4346.
        Tls11 = "VersionTLS11",
        /// RFC 5246.
        Tls12 = "VersionTLS12",
        /// RFC 8446.
        Tls13 = "VersionTLS13",
    }
}

choice! {
    /// How answers of endpoints get back to clients outside the cluster (`antreaProxy.defaultLoadBalancerMode`).
    pub LoadBalancerMode {
        /// By the Node that the request came to.
        Nat = "nat",
        /// Directly: Direct Server Return.
        Dsr = "dsr",
    }
}

choice! {
    /// What the agent runs on (`nodeType`).
    pub(crate) NodeType {
        /// A Kubernetes Node.
        K8sNode = "k8sNode",
        /// A machine outside the cluster.
        ExternalNode = "externalNode",
    }
}

/// Whether metrics are served (`enablePrometheusMetrics`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metrics {
    /// Below `/metrics`.
    Served,
    /// Nowhere.
    Off,
}

impl Metrics {
    pub(crate) fn of(setting: &Setting<bool>) -> Self {
        if setting.as_ref().is_none_or(|value| value.value) { Self::Served } else { Self::Off }
    }
}
