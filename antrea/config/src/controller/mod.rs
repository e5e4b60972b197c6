//! antrea-controller.conf: the validated values that the controller acts on.

mod file;

use std::path::PathBuf;

use antrea_types::MinimumTls;

use crate::agent::multicluster;
use crate::error::{ConfigError, Problems};
use crate::feature_gates::{self, Component, FeatureGates, Status};
use crate::modes::Metrics;
use crate::parse;
use crate::section::{Key, Section, allow_default_only};
use crate::shared::{ApiServerAddress, controller_token_audience, parsed, port, tls_min_version};
use file::ControllerFile;

/// What antrea-controller.conf says, validated. Only what is available is in it.
#[derive(Clone, Debug, PartialEq)]
pub struct ControllerConfig {
    /// The port of the controller's own API, health included.
    pub api_port: u16,
    /// The oldest TLS version of that API.
    pub tls_min_version: MinimumTls,
    /// Whether it serves metrics.
    pub metrics: Metrics,
    /// How to reach the Kubernetes API; `None` for the credentials of the Pod.
    pub kubeconfig: Option<PathBuf>,
    /// The Kubernetes API server, where not the one of the environment or the kubeconfig.
    pub kube_api_server_override: Option<ApiServerAddress>,
    /// For whom tokens may be beside the API server, whose own are always taken.
    pub controller_token_audience: Option<String>,
    /// Which features are on.
    pub feature_gates: FeatureGates,
    /// What was accepted although nothing comes of it, a sentence each, to be logged at start.
    pub notices: Vec<String>,
}

impl ControllerConfig {
    /// Reads `text`, the content of `file`.
    ///
    /// # Errors
    /// All that is wrong with it, by line and key.
    pub fn parse(file: &str, text: &str) -> Result<Self, ConfigError> {
        let mut problems = Problems::default();
        let config = Self::validate(parse(file, text)?, &mut problems);
        problems.into_result(file, config)
    }

    /// Every key that the file may have, with upstream's default.
    pub fn keys() -> Vec<Key> {
        let mut keys = Vec::new();
        ControllerFile::keys("", &mut keys);
        keys
    }

    fn validate(file: ControllerFile, problems: &mut Problems) -> Self {
        let feature_gates = feature_gates::read(&file.feature_gates, Component::Controller, problems);
        refuse_unavailable(&file, problems);
        let mut notices = Vec::new();
        notices.extend(multicluster(&file, &feature_gates, problems));
        Self {
            api_port: port(&file.api_port, "apiPort", problems).unwrap_or(10349),
            tls_min_version: tls_min_version(&file.tls_min_version, problems),
            metrics: Metrics::of(&file.enable_prometheus_metrics),
            kubeconfig: file.client_connection.validate("clientConnection", problems),
            kube_api_server_override: parsed(
                &file.kube_api_server_override,
                "kubeAPIServerOverride",
                problems,
            ),
            controller_token_audience: controller_token_audience(&file.controller_token_audience),
            feature_gates,
            notices,
        }
    }
}

/// Refuses whatever asks for a feature that is not available yet.
fn refuse_unavailable(file: &ControllerFile, problems: &mut Problems) {
    let empty = String::new();
    let own_certificates = "certificates of one's own are not available yet";
    allow_default_only(&file.self_signed_cert, "selfSignedCert", &true, own_certificates, problems);
    let no_choice = "cipher suites cannot be chosen yet";
    allow_default_only(&file.tls_cipher_suites, "tlsCipherSuites", &empty, no_choice, problems);
    let no_clients = "clients are known by the certificates and tokens of the cluster alone";
    allow_default_only(&file.client_ca_file, "clientCAFile", &empty, no_clients, problems);
    file.node_ipam.allow_defaults_only("nodeIPAM", "NodeIPAM is not available yet", problems);
    file.ipsec_csr_signer.allow_defaults_only(
        "ipsecCSRSigner",
        "IPsecCertAuth is not available yet",
        problems,
    );
}

/// Charts turn the gate on, and name the Namespace, for all programs at once; the controller has nothing to do for them.
fn multicluster(file: &ControllerFile, gates: &FeatureGates, problems: &mut Problems) -> Option<String> {
    if gates.status(multicluster::GATE) == Status::Disabled {
        file.multicluster.allow_defaults_only("multicluster", multicluster::NEEDS_GATE, problems);
        return None;
    }
    let reason = multicluster::NO_STRETCHED_POLICIES;
    let stretched = &file.multicluster.enable_stretched_network_policy;
    allow_default_only(stretched, "multicluster.enableStretchedNetworkPolicy", &false, reason, problems);
    Some(format!("featureGates.Multicluster is true, but the controller does nothing for it: {reason}"))
}
