//! Every feature gate of upstream.

use super::{Availability, Component, FeatureGate, NETWORK_POLICY_STATS, Stage, Status};

const AGENT: &[Component] = &[Component::Agent];
const CONTROLLER: &[Component] = &[Component::Controller];
const BOTH: &[Component] = &[Component::Agent, Component::Controller];

/// A gate of a feature that is not available yet, with upstream's default for its stage.
const fn gate(name: &'static str, components: &'static [Component], stage: Stage) -> FeatureGate {
    let upstream_default = match stage {
        Stage::Alpha | Stage::Deprecated => Status::Disabled,
        Stage::Beta | Stage::Ga => Status::Enabled,
    };
    FeatureGate { name, components, stage, availability: Availability::NotYet, upstream_default }
}

impl FeatureGate {
    const fn available(self) -> Self {
        Self { availability: Availability::Available, ..self }
    }

    const fn locked(self) -> Self {
        Self { availability: Availability::Locked, ..self }
    }
}

/// All gates, in alphabetical order.
pub const FEATURE_GATES: &[FeatureGate] = &[
    gate("AdminNetworkPolicy", CONTROLLER, Stage::Deprecated),
    gate("AntreaIPAM", BOTH, Stage::Alpha),
    gate("AntreaNodeConfig", AGENT, Stage::Beta),
    gate("AntreaPolicy", BOTH, Stage::Beta),
    gate("AntreaProxy", AGENT, Stage::Ga).available(),
    gate("BGPPolicy", AGENT, Stage::Alpha),
    gate("CleanupStaleUDPSvcConntrack", AGENT, Stage::Beta).available(),
    gate("ClusterNetworkPolicy", CONTROLLER, Stage::Alpha),
    gate("Egress", BOTH, Stage::Beta),
    gate("EgressSeparateSubnet", AGENT, Stage::Beta),
    gate("EgressTrafficShaping", AGENT, Stage::Alpha),
    gate("EndpointSlice", AGENT, Stage::Ga).locked(),
    gate("ExternalNode", BOTH, Stage::Alpha),
    gate("FlowExporter", AGENT, Stage::Alpha),
    gate("IPsecCertAuth", BOTH, Stage::Alpha),
    gate("L7NetworkPolicy", BOTH, Stage::Alpha),
    gate("LoadBalancerModeDSR", AGENT, Stage::Alpha).available(),
    gate("Multicast", BOTH, Stage::Beta),
    gate("Multicluster", BOTH, Stage::Alpha).available(),
    gate("NFTablesHostNetworkMode", AGENT, Stage::Alpha),
    gate(NETWORK_POLICY_STATS, BOTH, Stage::Beta).available(),
    gate("NodeIPAM", CONTROLLER, Stage::Beta),
    gate("NodeLatencyMonitor", AGENT, Stage::Alpha),
    gate("NodeNetworkPolicy", AGENT, Stage::Alpha),
    gate("NodePortLocal", AGENT, Stage::Ga),
    gate("PacketCapture", AGENT, Stage::Alpha),
    gate("PreferSameTrafficDistribution", AGENT, Stage::Alpha).available(),
    gate("SecondaryNetwork", AGENT, Stage::Alpha),
    gate("ServiceExternalIP", BOTH, Stage::Beta),
    gate("ServiceTrafficDistribution", AGENT, Stage::Ga).locked(),
    gate("SupportBundleCollection", BOTH, Stage::Alpha),
    gate("TopologyAwareHints", AGENT, Stage::Ga).locked(),
    gate("Traceflow", BOTH, Stage::Beta),
    gate("TrafficControl", AGENT, Stage::Alpha),
];
