//! IngressSecurityClassifier: sends packets that no policy of a receiver is about past the policies.
//!
//! Stage IngressSecurity. Matches the mark of the Node's own packets, PktDestination, TargetOFPort, Hairpin; next tables
//! IngressMetric for what leaves this Node's Pods, stage Conntrack for what the Node sends and what comes back to its
//! sender, IngressRule for the rest. Filled by NetworkPolicy.

use antrea_openflow::{CtState, Flow, Match};
use antrea_types::{IpFamily, OfPort};

use crate::cookie::Category;
use crate::fields::{FROM_NODE, HAIRPIN, HOST_LOCAL_SOURCE, PktDestination, TARGET_OF_PORT};
use crate::flow::{HIGH, NORMAL};
use crate::layout::Layout;
use crate::model::NodeTraffic;
use crate::order::{Stage, Table};
use crate::tables::ingress_metric;

/// The table.
pub const TABLE: Table = Table::pass("IngressSecurityClassifier");

/// What the Node itself sends, a kubelet's probes say. Pods cannot keep it out.
pub fn from_node(layout: &Layout, node_traffic: NodeTraffic, family: IpFamily) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let state = CtState::new().set(CtState::TRK).unset(CtState::RPL);
    let flow = table.flow(HIGH, Category::PodConnectivity).matching(Match::new().ip(family).ct_state(state));
    let flow = flow.marked(match node_traffic {
        NodeTraffic::PacketMark => HOST_LOCAL_SOURCE,
        NodeTraffic::SourceMac => FROM_NODE,
    });
    Some(flow.goto(layout.first_of(Stage::Conntrack)))
}

/// What leaves by the gateway. Its port is matched, too: the host may send to an address that is nowhere else (a link-local one)
/// with a Pod's MAC, and the Pod's policies are about that.
pub fn to_gateway(layout: &Layout, gateway: OfPort) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let matching = Match::new().bits(TARGET_OF_PORT, gateway.0);
    let flow = table.flow(NORMAL, Category::NetworkPolicy).matching(matching);
    Some(flow.marked(PktDestination::Gateway.mark()).goto(layout.id(&ingress_metric::TABLE)))
}

/// What leaves by the tunnel: policies of its receiver are enforced on that one's Node.
pub fn to_tunnel(layout: &Layout) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, Category::NetworkPolicy).marked(PktDestination::Tunnel.mark());
    Some(flow.goto(layout.id(&ingress_metric::TABLE)))
}

/// From a Pod to itself, through a Service.
pub fn back(layout: &Layout) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, Category::NetworkPolicy).marked(HAIRPIN);
    Some(flow.goto(layout.first_of(Stage::Conntrack)))
}
