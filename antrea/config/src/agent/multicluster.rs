//! `multicluster`: connections to the other clusters of a ClusterSet.

use super::antrea_proxy::AntreaProxy;
use super::file::AgentFile;
use super::is_true;
use super::network::only;
use super::skipped_service::is_label;
use crate::error::Problems;
use crate::feature_gates::{FeatureGates, Status};
use crate::modes::EncryptionMode;
use crate::section::{Section, Setting, allow_default_only, refuse, section};

/// Without it there is nothing to configure.
pub(crate) const GATE: &str = "Multicluster";

/// What is wrong with keys of a section whose feature is off.
pub(crate) const NEEDS_GATE: &str = "it needs featureGates.Multicluster";

/// Why `enableStretchedNetworkPolicy` is refused, in both files.
pub(crate) const NO_STRETCHED_POLICIES: &str = "network policies between clusters are not available yet";

section! {
    /// `multicluster.wireGuard` as it stands in the file.
    MulticlusterWireGuard {
        port: i64 = "port", 51821;
    }
}

section! {
    /// As it stands in the file.
    MulticlusterSection {
        enable_gateway: bool = "enableGateway", false;
        namespace: String = "namespace", "";
        enable_stretched_network_policy: bool = "enableStretchedNetworkPolicy", false;
        enable_pod_to_pod_connectivity: bool = "enablePodToPodConnectivity", false;
        traffic_encryption_mode: String = "trafficEncryptionMode", "none";
    } with sections {
        wire_guard: MulticlusterWireGuard = "wireGuard";
    }
}

/// Whether Pods reach other clusters through Gateways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Multicluster {
    /// They do not.
    Off,
    /// They do (`enableGateway`).
    On(MulticlusterConfig),
}

/// How Pods reach other clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MulticlusterConfig {
    /// The Namespace of the Multi-cluster controller; `None`: the agent's own.
    pub namespace: Option<String>,
    /// Whether they reach Pods there, beside Services (`enablePodToPodConnectivity`).
    pub pod_to_pod: Status,
}

pub(super) fn multicluster(
    file: &AgentFile,
    gates: &FeatureGates,
    proxy: &AntreaProxy,
    problems: &mut Problems,
) -> Multicluster {
    let section = &file.multicluster;
    if gates.status(GATE) == Status::Disabled {
        section.allow_defaults_only("multicluster", NEEDS_GATE, problems);
        return Multicluster::Off;
    }
    refuse_unavailable(section, problems);
    let namespace = namespace(&section.namespace, problems);
    if is_true(&section.enable_gateway) {
        if *proxy == AntreaProxy::Off {
            let reason = "it needs AntreaProxy, which is off";
            allow_default_only(
                &section.enable_gateway,
                "multicluster.enableGateway",
                &false,
                reason,
                problems,
            );
        }
        let pod_to_pod = is_true(&section.enable_pod_to_pod_connectivity);
        let pod_to_pod = if pod_to_pod { Status::Enabled } else { Status::Disabled };
        return Multicluster::On(MulticlusterConfig { namespace, pod_to_pod });
    }
    allow_default_only(
        &section.enable_pod_to_pod_connectivity,
        "multicluster.enablePodToPodConnectivity",
        &false,
        "it needs multicluster.enableGateway",
        problems,
    );
    Multicluster::Off
}

/// What is accepted although nothing comes of it: charts turn the gate on for all programs at once.
pub(super) fn notice(gates: &FeatureGates, multicluster: &Multicluster) -> Option<String> {
    let needless = gates.status(GATE) == Status::Enabled && *multicluster == Multicluster::Off;
    needless.then(|| {
        "featureGates.Multicluster is true, but multicluster.enableGateway is not: Pods do not reach other clusters"
            .to_owned()
    })
}

fn refuse_unavailable(section: &MulticlusterSection, problems: &mut Problems) {
    allow_default_only(
        &section.enable_stretched_network_policy,
        "multicluster.enableStretchedNetworkPolicy",
        &false,
        NO_STRETCHED_POLICIES,
        problems,
    );
    let encryption = &section.traffic_encryption_mode;
    only(encryption, "multicluster.trafficEncryptionMode", EncryptionMode::None, problems);
    let no_wire_guard = "multicluster.trafficEncryptionMode wireGuard is not available yet";
    section.wire_guard.allow_defaults_only("multicluster.wireGuard", no_wire_guard, problems);
}

fn namespace(setting: &Setting<String>, problems: &mut Problems) -> Option<String> {
    let value = setting.as_ref().filter(|value| !value.value.is_empty())?;
    if !is_label(&value.value) {
        let message = "the name of a Namespace is wanted, as in kube-system";
        refuse(problems, "multicluster.namespace", value, message);
    }
    Some(value.value.clone())
}
