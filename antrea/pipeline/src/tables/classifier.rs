//! Classifier: marks packets by where they came into the bridge. Ports that nobody vouches for are dropped.
//!
//! Stage Classifier. Matches in_port; loads PktSource, FromLocal or FromExternal, RewriteMAC; next tables SpoofGuard
//! and, for the tunnel, stage ConntrackState: the peer has checked the source. Filled by PodConnectivity and Multicluster.

use std::net::IpAddr;

use antrea_openflow::{Flow, Match};
use antrea_types::OfPort;

use crate::cookie::Category;
use crate::fields::{FROM_EXTERNAL, FROM_LOCAL, PktSource, REWRITE_MAC};
use crate::flow::{FlowBuilder, HIGH, LOW, NORMAL};
use crate::layout::Layout;
use crate::multicluster::VIRTUAL_MAC;
use crate::order::{Stage, Table};

/// The table.
pub const TABLE: Table = Table::guard("Classifier");

/// What the Node itself sends from its gateway's address.
pub fn from_node(layout: &Layout, gateway: OfPort, address: IpAddr) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(HIGH, Category::PodConnectivity);
    let flow = flow.matching(Match::new().in_port(gateway).ip_src(address));
    Some(flow.load(PktSource::Gateway.mark()).load(FROM_LOCAL).goto(table.next()))
}

/// What comes through the gateway from elsewhere.
pub fn from_gateway(layout: &Layout, gateway: OfPort) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, Category::PodConnectivity).matching(Match::new().in_port(gateway));
    Some(flow.load(PktSource::Gateway.mark()).load(FROM_EXTERNAL).goto(table.next()))
}

/// What peers send. Its MAC addresses are the tunnel's, so they have to be written before a Pod gets it.
pub fn from_tunnel(layout: &Layout, tunnel: OfPort) -> Option<Flow> {
    let flow = layout.open(&TABLE)?.flow(NORMAL, Category::PodConnectivity);
    Some(tunnelled(layout, flow.matching(Match::new().in_port(tunnel))))
}

/// What Nodes of this cluster send to others, and what those send.
pub fn between_clusters(layout: &Layout, tunnel: OfPort) -> Option<Flow> {
    let flow = layout.open(&TABLE)?.flow(HIGH, Category::Multicluster);
    Some(tunnelled(layout, flow.matching(Match::new().in_port(tunnel).eth_dst(VIRTUAL_MAC))))
}

fn tunnelled(layout: &Layout, flow: FlowBuilder) -> Flow {
    let flow = flow.load(PktSource::Tunnel.mark()).load(REWRITE_MAC);
    flow.goto(layout.first_of(Stage::ConntrackState))
}

/// What a Pod sends.
pub fn from_pod(layout: &Layout, pod: OfPort) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(LOW, Category::PodConnectivity).matching(Match::new().in_port(pod));
    Some(flow.load(PktSource::Pod.mark()).load(FROM_LOCAL).goto(table.next()))
}
