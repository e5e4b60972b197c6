//! The feature gates of upstream, and which of them can be turned on.

use std::collections::BTreeMap;

use serde_saphyr::Spanned;

use crate::error::Problems;
use crate::section::{Setting, shown};

/// A program that has feature gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    /// antrea-agent.
    Agent,
    /// antrea-controller.
    Controller,
}

/// How mature upstream holds a feature to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// May change or go.
    Alpha,
    /// Stays, may still change.
    Beta,
    /// Stays as it is.
    Ga,
    /// Will be removed.
    Deprecated,
}

/// A feature gate of upstream. None of the features is available here yet, so each gate is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureGate {
    /// The name in `featureGates`.
    pub name: &'static str,
    /// The programs that know it.
    pub components: &'static [Component],
    /// Upstream's stage.
    pub stage: Stage,
    /// Whether upstream turns it on by itself.
    pub upstream_default: bool,
}

const fn gate(
    name: &'static str,
    components: &'static [Component],
    stage: Stage,
    upstream_default: bool,
) -> FeatureGate {
    FeatureGate { name, components, stage, upstream_default }
}

const AGENT: &[Component] = &[Component::Agent];
const CONTROLLER: &[Component] = &[Component::Controller];
const BOTH: &[Component] = &[Component::Agent, Component::Controller];

/// All gates, in alphabetical order.
pub const FEATURE_GATES: &[FeatureGate] = &[
    gate("AdminNetworkPolicy", CONTROLLER, Stage::Deprecated, false),
    gate("AntreaIPAM", BOTH, Stage::Alpha, false),
    gate("AntreaNodeConfig", AGENT, Stage::Beta, true),
    gate("AntreaPolicy", BOTH, Stage::Beta, true),
    gate("AntreaProxy", AGENT, Stage::Ga, true),
    gate("BGPPolicy", AGENT, Stage::Alpha, false),
    gate("CleanupStaleUDPSvcConntrack", AGENT, Stage::Beta, true),
    gate("ClusterNetworkPolicy", CONTROLLER, Stage::Alpha, false),
    gate("Egress", BOTH, Stage::Beta, true),
    gate("EgressSeparateSubnet", AGENT, Stage::Beta, true),
    gate("EgressTrafficShaping", AGENT, Stage::Alpha, false),
    gate("EndpointSlice", AGENT, Stage::Ga, true),
    gate("ExternalNode", BOTH, Stage::Alpha, false),
    gate("FlowExporter", AGENT, Stage::Alpha, false),
    gate("IPsecCertAuth", BOTH, Stage::Alpha, false),
    gate("L7NetworkPolicy", BOTH, Stage::Alpha, false),
    gate("LoadBalancerModeDSR", AGENT, Stage::Alpha, false),
    gate("Multicast", BOTH, Stage::Beta, true),
    gate("Multicluster", BOTH, Stage::Alpha, false),
    gate("NFTablesHostNetworkMode", AGENT, Stage::Alpha, false),
    gate("NetworkPolicyStats", BOTH, Stage::Beta, true),
    gate("NodeIPAM", CONTROLLER, Stage::Beta, true),
    gate("NodeLatencyMonitor", AGENT, Stage::Alpha, false),
    gate("NodeNetworkPolicy", AGENT, Stage::Alpha, false),
    gate("NodePortLocal", AGENT, Stage::Ga, true),
    gate("PacketCapture", AGENT, Stage::Alpha, false),
    gate("PreferSameTrafficDistribution", AGENT, Stage::Alpha, false),
    gate("SecondaryNetwork", AGENT, Stage::Alpha, false),
    gate("ServiceExternalIP", BOTH, Stage::Beta, true),
    gate("ServiceTrafficDistribution", AGENT, Stage::Ga, true),
    gate("SupportBundleCollection", BOTH, Stage::Alpha, false),
    gate("TopologyAwareHints", AGENT, Stage::Ga, true),
    gate("Traceflow", BOTH, Stage::Beta, true),
    gate("TrafficControl", AGENT, Stage::Alpha, false),
];

/// The gates that stand for all of a stage.
const TOGGLES: [&str; 2] = ["AllAlpha", "AllBeta"];

/// The value of `featureGates`.
pub(crate) type Gates = BTreeMap<String, Spanned<bool>>;

/// Refuses names that do not exist, and gates of features that are not available.
pub(crate) fn validate(gates: &Setting<Gates>, component: Component, problems: &mut Problems) {
    for (name, on) in gates.iter().flat_map(|gates| &gates.value) {
        let (line, column) = (on.referenced.line(), on.referenced.column());
        let mut refuse = |message: String| {
            problems.add(line, column, format!("featureGates.{name} {}: {message}", shown(&on.value)));
        };
        let toggle = TOGGLES.contains(&name.as_str());
        let known = toggle || of(component).any(|gate| gate.name == name);
        if !known {
            let names: Vec<_> = TOGGLES.into_iter().chain(of(component).map(|gate| gate.name)).collect();
            refuse(format!("there is no such feature gate; allowed are {}", names.join(", ")));
        } else if on.value && toggle {
            refuse(
                "it includes features that are not available yet; leave it out, or set it to false".into(),
            );
        } else if on.value {
            refuse(format!("feature gate {name} is not available yet; leave it out, or set it to false"));
        }
    }
}

fn of(component: Component) -> impl Iterator<Item = &'static FeatureGate> {
    FEATURE_GATES.iter().filter(move |gate| gate.components.contains(&component))
}
