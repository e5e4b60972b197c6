//! antrea-controller.conf as it stands: every key at the top, and the sections.

use crate::feature_gates::Gates;
use crate::section::section;
use crate::shared::{CONTROLLER_TOKEN_AUDIENCE, ClientConnection};

section! {
    /// `nodeIPAM`: Pod CIDRs of Nodes, given out by the controller.
    NodeIpam {
        enable_node_ipam: bool = "enableNodeIPAM", false;
        cluster_cidrs: Vec<String> = "clusterCIDRs", [];
        service_cidr: String = "serviceCIDR", "";
        service_cidr_v6: String = "serviceCIDRv6", "";
        node_cidr_mask_size_ipv4: i64 = "nodeCIDRMaskSizeIPv4", 24;
        node_cidr_mask_size_ipv6: i64 = "nodeCIDRMaskSizeIPv6", 64;
    }
}

section! {
    /// `ipsecCSRSigner`: certificates for IPsec between Nodes.
    IpsecCsrSigner {
        auto_approve: bool = "autoApprove", true;
        self_signed_ca: bool = "selfSignedCA", true;
    }
}

section! {
    /// `multicluster`: policies that select Pods of other clusters.
    Multicluster {
        enable_stretched_network_policy: bool = "enableStretchedNetworkPolicy", false;
        namespace: String = "namespace", "";
    }
}

section! {
    /// The raw file.
    ControllerFile {
        feature_gates: Gates = "featureGates", [];
        api_port: i64 = "apiPort", 10349;
        enable_prometheus_metrics: bool = "enablePrometheusMetrics", true;
        self_signed_cert: bool = "selfSignedCert", true;
        tls_cipher_suites: String = "tlsCipherSuites", "";
        tls_min_version: String = "tlsMinVersion", "";
        client_ca_file: String = "clientCAFile", "";
        kube_api_server_override: String = "kubeAPIServerOverride", "";
        controller_token_audience: String = "controllerTokenAudience", CONTROLLER_TOKEN_AUDIENCE;
    } with sections {
        client_connection: ClientConnection = "clientConnection";
        node_ipam: NodeIpam = "nodeIPAM";
        ipsec_csr_signer: IpsecCsrSigner = "ipsecCSRSigner";
        multicluster: Multicluster = "multicluster";
    }
}
