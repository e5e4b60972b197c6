//! ConntrackState: separates packets of known connections from first ones. Only the latter may need a Service's endpoint.
//!
//! Stage ConntrackState. Matches ct_state, ct_mark and, for tunnel packets, PktSource, ForeignSource, ByOwnGateway, dl_dst
//! and addresses; next tables: stage EgressSecurity for known connections, stage PreRouting for new ones; packets that belong
//! to no possible connection are dropped. Filled by PodConnectivity, Services and Multicluster.

use std::net::{IpAddr, Ipv4Addr};

use antrea_openflow::{Conjunction, CtState, Flow, FlowPriority, Match};
use antrea_types::{GLOBAL_VIRTUAL_MAC, IpFamily};
use ipnet::{IpNet, Ipv4Net};

use crate::cookie::Category;
use crate::fields::{
    BY_OWN_GATEWAY, FOREIGN_SOURCE, FROM_EXTERNAL, Mark, PktSource, REWRITE_MAC, SERVICE_CONNECTION,
};
use crate::flow::{FlowBuilder, HIGH, HIGHEST, LOW, NORMAL, UNCLAIMED};
use crate::layout::Layout;
use crate::multicluster::VIRTUAL_MAC;
use crate::order::{Stage, Table};
use crate::service::{Destination, Frontend, LoadBalancerMode};

/// The table.
pub const TABLE: Table = Table::by_feature("ConntrackState");

/// The only conjunction of this table.
const EXPORTED: u32 = 1;

/// Packets that connection tracking refuses.
pub fn invalid(layout: &Layout, family: IpFamily) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let state = CtState::new().set(CtState::INV | CtState::TRK);
    let matching = Match::new().ip(family).ct_state(state);
    Some(table.flow(NORMAL, Category::PodConnectivity).matching(matching).done())
}

/// Later packets of connections that are not to a Service.
pub fn known(layout: &Layout, family: IpFamily) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let state = CtState::new().set(CtState::TRK).unset(CtState::NEW);
    let matching = Match::new().ip(family).ct_state(state);
    let flow = table.flow(LOW, Category::PodConnectivity).matching(matching);
    Some(flow.marked(SERVICE_CONNECTION.unset()).goto(layout.first_of(Stage::EgressSecurity)))
}

/// Later packets of connections to a Service. Whoever gets them does not know the sender's MAC address.
///
/// Before the first answer they are still called new, those that the client sends again most of all. They have been
/// translated already, so none of the tables that look for an endpoint would know them.
pub fn known_to_service(layout: &Layout, family: IpFamily) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let state = CtState::new().set(CtState::TRK);
    let matching = Match::new().ip(family).ct_state(state);
    let flow = table.flow(LOW, Category::Service).matching(matching).marked(SERVICE_CONNECTION);
    Some(flow.load(REWRITE_MAC).goto(layout.first_of(Stage::EgressSecurity)))
}

/// Packets that connection tracking refuses, and that may be of a connection whose other direction never comes by
/// here: the endpoint answers the client directly.
pub fn perhaps_answered_directly(layout: &Layout, family: IpFamily) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let state = CtState::new().set(CtState::INV | CtState::TRK);
    let flow = table.flow(HIGH, Category::Service).matching(Match::new().ip(family).ct_state(state));
    Some(flow.marked(FROM_EXTERNAL).goto(layout.first_of(Stage::PreRouting)))
}

/// The same where connection tracking takes half a connection for a whole one, as that of Open vSwitch's userspace
/// datapath does.
pub fn perhaps_answered_directly_but_known(layout: &Layout, family: IpFamily) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let state = CtState::new().set(CtState::TRK).unset(CtState::NEW | CtState::RPL);
    let flow = table.flow(HIGH, Category::Service).matching(Match::new().ip(family).ct_state(state));
    let flow = flow.marked(SERVICE_CONNECTION.unset()).marked(FROM_EXTERNAL);
    Some(flow.goto(layout.first_of(Stage::PreRouting)))
}

/// Drops tunnel packets with a foreign source that belong to no established or related connection. Connections with the Service
/// mark are excluded: they were admitted when they were committed.
pub fn foreign(layout: &Layout, family: IpFamily) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let state = CtState::new().set(CtState::TRK).unset(CtState::EST | CtState::REL);
    let matching = Match::new().ip(family).ct_state(state);
    let flow = table.flow(UNCLAIMED, Category::PodConnectivity).matching(matching);
    Some(flow.marked(SERVICE_CONNECTION.unset()).marked(FOREIGN_SOURCE).done())
}

/// Admits a new connection that another Node forwards, with the client's address, to a Service in DSR mode.
pub fn foreign_to_direct_endpoint(layout: &Layout, frontend: &Frontend) -> Option<Flow> {
    let (LoadBalancerMode::Dsr { .. }, Destination::Address(_)) = (frontend.mode, frontend.destination)
    else {
        return None;
    };
    let flow = layout.open(&TABLE)?.flow_of(NORMAL, Category::Service.cookie_of(frontend.group.0));
    // Not what comes from another cluster.
    Some(opens(layout, flow, frontend.matching().eth_dst(GLOBAL_VIRTUAL_MAC), FOREIGN_SOURCE))
}

/// Drops such a connection if its source is a Pod: a Pod's packets come from its own Node, never as foreign.
pub fn foreign_from_pods(layout: &Layout, pod_cidr: IpNet) -> Option<Flow> {
    let state = CtState::new().set(CtState::NEW | CtState::TRK);
    let matching = Match::new().ip_src(pod_cidr).ct_state(state);
    let flow = layout.open(&TABLE)?.flow(HIGH, Category::Service).matching(matching);
    Some(flow.marked(SERVICE_CONNECTION.unset()).marked(FOREIGN_SOURCE).done())
}

/// Admits a new connection of another cluster that a Gateway of this cluster forwards.
pub fn from_other_cluster(layout: &Layout, gateway: Ipv4Addr) -> Option<Flow> {
    let flow = layout.open(&TABLE)?.flow(HIGHEST, Category::Multicluster);
    Some(opens(layout, flow, Match::new().ip_src(IpAddr::V4(gateway)), BY_OWN_GATEWAY))
}

/// Admits what a former Gateway forwards for Nodes that still send to it.
pub fn sent_on_to_cluster(layout: &Layout, network: Ipv4Net) -> Option<Flow> {
    let flow = layout.open(&TABLE)?.flow(HIGHEST, Category::Multicluster);
    Some(opens(layout, flow, Match::new().ip_dst(network).eth_dst(VIRTUAL_MAC), BY_OWN_GATEWAY))
}

fn opens(layout: &Layout, flow: FlowBuilder, matching: Match, mark: Mark) -> Flow {
    flow.matching(first(matching))
        .marked(SERVICE_CONNECTION.unset())
        .marked(mark)
        .goto(layout.first_of(Stage::PreRouting))
}

/// Admits a new connection of another cluster to what is exported: the two clauses of this conjunction are
/// [`opened_by_another_cluster`] and [`opened_to_exported`].
pub fn exported(layout: &Layout) -> Option<Flow> {
    let matching = Match::new().ip(IpFamily::V4).conj_id(EXPORTED);
    Some(from_tunnel(layout, HIGHEST, matching)?.goto(layout.first_of(Stage::PreRouting)))
}

/// The clause for connections that another cluster's Gateway opens, be it through a Gateway of this cluster that it still
/// sends to. A packet that another sender forges is ForeignSource.
pub fn opened_by_another_cluster(layout: &Layout, gateway: Ipv4Addr) -> impl Iterator<Item = Flow> {
    [FOREIGN_SOURCE.unset(), BY_OWN_GATEWAY].into_iter().filter_map(move |mark| {
        let flow = from_tunnel(layout, HIGHEST, Match::new().ip_src(IpAddr::V4(gateway)))?;
        Some(flow.marked(mark).fulfil(&[clause(1)]).done())
    })
}

/// The clause for connections to a network that is exported.
pub fn opened_to_exported(layout: &Layout, network: Ipv4Net) -> Option<Flow> {
    let flow = from_tunnel(layout, HIGHEST, Match::new().ip_dst(network))?;
    Some(flow.fulfil(&[clause(2)]).done())
}

/// Drops what else another cluster's Gateway opens.
pub fn not_exported(layout: &Layout, gateway: Ipv4Addr) -> Option<Flow> {
    Some(from_tunnel(layout, HIGH, Match::new().ip_src(IpAddr::V4(gateway)))?.done())
}

fn from_tunnel(layout: &Layout, priority: FlowPriority, matching: Match) -> Option<FlowBuilder> {
    let flow = layout.open(&TABLE)?.flow(priority, Category::Multicluster).matching(first(matching));
    Some(flow.marked(SERVICE_CONNECTION.unset()).marked(PktSource::Tunnel.mark()))
}

fn first(matching: Match) -> Match {
    matching.ct_state(CtState::new().set(CtState::NEW | CtState::TRK))
}

const fn clause(clause: u8) -> Conjunction {
    Conjunction { id: EXPORTED, clause, of: 2 }
}

/// First packets.
pub fn new(layout: &Layout) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    Some(table.miss_flow(Category::PodConnectivity).goto(layout.first_of(Stage::PreRouting)))
}
