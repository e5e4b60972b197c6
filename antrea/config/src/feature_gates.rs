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

/// A feature gate of upstream. None of the features is available here yet, so each gate is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureGate {
    /// The name in `featureGates`.
    pub name: &'static str,
    /// The programs that know it.
    pub components: &'static [Component],
}

const fn gate(name: &'static str, components: &'static [Component]) -> FeatureGate {
    FeatureGate { name, components }
}

const AGENT: &[Component] = &[Component::Agent];
const CONTROLLER: &[Component] = &[Component::Controller];
const BOTH: &[Component] = &[Component::Agent, Component::Controller];

/// All gates, in alphabetical order.
pub const FEATURE_GATES: &[FeatureGate] = &[
    gate("AdminNetworkPolicy", CONTROLLER),
    gate("AntreaIPAM", BOTH),
    gate("AntreaNodeConfig", AGENT),
    gate("AntreaPolicy", BOTH),
    gate("AntreaProxy", AGENT),
    gate("BGPPolicy", AGENT),
    gate("CleanupStaleUDPSvcConntrack", AGENT),
    gate("ClusterNetworkPolicy", CONTROLLER),
    gate("Egress", BOTH),
    gate("EgressSeparateSubnet", AGENT),
    gate("EgressTrafficShaping", AGENT),
    gate("EndpointSlice", AGENT),
    gate("ExternalNode", BOTH),
    gate("FlowExporter", AGENT),
    gate("IPsecCertAuth", BOTH),
    gate("L7NetworkPolicy", BOTH),
    gate("LoadBalancerModeDSR", AGENT),
    gate("Multicast", BOTH),
    gate("Multicluster", BOTH),
    gate("NFTablesHostNetworkMode", AGENT),
    gate("NetworkPolicyStats", BOTH),
    gate("NodeIPAM", CONTROLLER),
    gate("NodeLatencyMonitor", AGENT),
    gate("NodeNetworkPolicy", AGENT),
    gate("NodePortLocal", AGENT),
    gate("PacketCapture", AGENT),
    gate("PreferSameTrafficDistribution", AGENT),
    gate("SecondaryNetwork", AGENT),
    gate("ServiceExternalIP", BOTH),
    gate("ServiceTrafficDistribution", AGENT),
    gate("SupportBundleCollection", BOTH),
    gate("TopologyAwareHints", AGENT),
    gate("Traceflow", BOTH),
    gate("TrafficControl", AGENT),
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
