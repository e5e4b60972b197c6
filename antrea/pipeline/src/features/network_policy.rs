//! NetworkPolicies: what Pods of this Node may send, and who may send to them.
//!
//! The flows of rules come and go with them ([`crate::policy`]); here are those that are there in any case.

use antrea_openflow::Flow;
use antrea_types::IpFamily;

use crate::layout::Layout;
use crate::model::{Gateway, NodeTraffic, PipelineConfig, PodInterface, PolicyEnforcement};
use crate::order::Table;
use crate::policy::Direction;
use crate::tables::{
    egress_default_rule, egress_metric, egress_rule, ingress_default_rule, ingress_metric, ingress_rule,
    ingress_security_classifier, l2_forwarding_calc, policy_rules, spoof_guard,
};

const TABLES: &[Table] = &[
    egress_rule::TABLE,
    egress_default_rule::TABLE,
    egress_metric::TABLE,
    ingress_security_classifier::TABLE,
    ingress_rule::TABLE,
    ingress_default_rule::TABLE,
    ingress_metric::TABLE,
];

/// The tables that the feature needs: none where policies are not enforced.
pub fn tables(config: &PipelineConfig) -> impl Iterator<Item = &'static Table> {
    let tables = match config.policies {
        PolicyEnforcement::On { .. } => TABLES,
        PolicyEnforcement::Off => &[],
    };
    tables.iter()
}

/// The flows that depend on no policy.
pub fn base_flows(layout: &Layout, config: &PipelineConfig) -> Vec<Flow> {
    let PolicyEnforcement::On { node_traffic } = config.policies else { return Vec::new() };
    let mut flows = Vec::new();
    for family in config.families() {
        for direction in Direction::ALL {
            flows.extend(policy_rules::known(layout, direction, family));
        }
        flows.extend(node_flows(layout, &config.gateway, node_traffic, family));
    }
    flows.extend(l2_forwarding_calc::to_nobody(layout));
    flows.extend(ingress_security_classifier::to_gateway(layout, config.gateway.of_port));
    flows.extend(ingress_security_classifier::to_tunnel(layout));
    flows.extend(ingress_security_classifier::back(layout));
    flows
}

/// What makes the Node's own packets known, and lets them pass.
fn node_flows(layout: &Layout, gateway: &Gateway, node_traffic: NodeTraffic, family: IpFamily) -> Vec<Flow> {
    let known = match node_traffic {
        NodeTraffic::PacketMark => None,
        NodeTraffic::SourceMac => spoof_guard::from_node(layout, gateway.of_port, gateway.mac, family),
    };
    known.into_iter().chain(ingress_security_classifier::from_node(layout, node_traffic, family)).collect()
}

/// What a Pod of this Node needs to reach itself through a Service.
pub fn pod_flows(layout: &Layout, pod: &PodInterface) -> Vec<Flow> {
    pod.ips.iter().filter_map(|address| egress_rule::to_oneself(layout, *address)).collect()
}
