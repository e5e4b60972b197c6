//! The choices that some keys offer, each by the name it has in the file.

use std::fmt;
use std::str::FromStr;

/// A word that is none of the choices of its key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("allowed are {allowed}")]
pub struct InvalidChoice {
    allowed: String,
}

macro_rules! choice {
    ($(#[$documentation:meta])* $visibility:vis $name:ident { $($(#[$variant_documentation:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$documentation])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        $visibility enum $name {
            $($(#[$variant_documentation])* $variant,)*
        }

        impl $name {
            /// The name that the choice has in the file.
            $visibility const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }

        impl FromStr for $name {
            type Err = InvalidChoice;

            /// As upstream does, upper and lower case count alike.
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $(
                    if text.eq_ignore_ascii_case($text) {
                        return Ok(Self::$variant);
                    }
                )*
                Err(InvalidChoice { allowed: [$($text),*].join(", ") })
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

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
