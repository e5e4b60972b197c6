//! The file as it stands: upstream's MultiClusterConfig, and the sections that we add.

use antrea_config_file::Texts;
use antrea_config_file::section::section;
use antrea_shared_api::well_known::NAMESPACE;
use serde_saphyr::{Location, Spanned};

/// Namespaces of a cluster's own affairs, that exist in each.
pub(super) const EXCLUDED_NAMESPACES: [&str; 3] = ["kube-system", "kube-public", "kube-node-lease"];

/// A value that stands in no file.
fn unplaced(name: &str) -> Spanned<String> {
    Spanned::new(name.to_owned(), Location::UNKNOWN, Location::UNKNOWN)
}

section! {
    /// `health`: whether the controller lives.
    Health {
        probe_bind_address: String = "healthProbeBindAddress", ":8080";
    }
}

section! {
    /// `metrics`: figures for Prometheus.
    Metrics {
        bind_address: String = "bindAddress", "0";
    }
}

section! {
    /// `webhook`: the server that API servers ask about objects.
    Webhook {
        port: i64 = "port", 9443;
        host: String = "host", "";
        cert_dir: String = "certDir", "";
    }
}

section! {
    /// `leaderElection`: which of several replicas works.
    LeaderElection {
        leader_elect: bool = "leaderElect", true;
    }
}

section! {
    /// `leader.memberLimits`: how much each member may export.
    MemberLimits {
        exports: i64 = "exports", 2_000;
        label_identities: i64 = "labelIdentities", 5_000;
        bytes: String = "bytes", "16Mi";
        object_bytes: String = "objectBytes", "1Mi";
        endpoint_ports: i64 = "endpointPorts", 100_000;
    }
}

section! {
    /// `leader`: the Common Areas.
    Leader {
        namespaces: Vec<Spanned<String>> = "namespaces", [];
        member_lease: String = "memberLease", "5m";
        member_silence: String = "memberSilence", "30s";
        member_token_lifetime: String = "memberTokenLifetime", "168h";
    } with sections {
        member_limits: MemberLimits = "memberLimits";
    }
}

section! {
    /// `member`: this cluster in a ClusterSet.
    Member {
        namespace: String = "namespace", "";
        agent_namespace: String = "agentNamespace", NAMESPACE;
        token_secret: String = "tokenSecret", "";
        token_lifetime: String = "tokenLifetime", "168h";
        excluded_namespaces: Vec<Spanned<String>> = "excludedNamespaces", EXCLUDED_NAMESPACES.map(unplaced);
    }
}

section! {
    /// The raw file.
    ControllerFile {
        api_version: String = "apiVersion", "multicluster.crd.antrea.io/v1alpha1";
        kind: String = "kind", "MultiClusterConfig";
        service_cidr: String = "serviceCIDR", "";
        pod_cidrs: Texts = "podCIDRs", Texts::List(Vec::new());
        gateway_ip_precedence: String = "gatewayIPPrecedence", "internal";
        endpoint_ip_type: String = "endpointIPType", "ClusterIP";
        enable_stretched_network_policy: bool = "enableStretchedNetworkPolicy", false;
    } with sections {
        health: Health = "health";
        metrics: Metrics = "metrics";
        webhook: Webhook = "webhook";
        leader_election: LeaderElection = "leaderElection";
        leader: Leader = "leader";
        member: Member = "member";
    }
}
