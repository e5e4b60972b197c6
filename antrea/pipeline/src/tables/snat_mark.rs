//! SNATMark: decides whose source has to be translated so that answers come back to this Node, and commits that.
//!
//! Stage PostRouting. Matches ct_state, ct_mark, PktSource, PktDestination, ToExternalAddress, DSRService; commits with the
//! marks ConnSNAT, Hairpin and ConnSource; next table SNAT. Filled by Services and Multicluster.

use std::net::{IpAddr, Ipv4Addr};

use antrea_openflow::{Action, Conjunction, CtState, Flow, Match};
use antrea_types::IpFamily;
use ipnet::Ipv4Net;

use crate::cookie::Category;
use crate::fields::{
    CONN_SNAT, DSR_SERVICE, HAIRPIN, Mark, PktDestination, PktSource, SERVICE_CONNECTION,
    TO_EXTERNAL_ADDRESS, ct_zone,
};
use crate::flow::{FlowBuilder, HIGH, HIGHEST, LOW, NORMAL, commit_marked};
use crate::layout::{Layout, OpenTable};
use crate::order::Table;
use crate::tables::conntrack_commit::SOURCE;

/// The table.
pub const TABLE: Table = Table::pass("SNATMark");

/// The only conjunction of this table.
const BETWEEN_OTHER_CLUSTERS: u32 = 1;

/// In by the gateway and out by it again: the endpoint must not answer the client past this Node.
pub fn through_gateway(layout: &Layout, family: IpFamily) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, Category::Service).matching(new(family));
    let flow = flow.marked(PktSource::Gateway.mark()).marked(PktDestination::Gateway.mark());
    Some(committed(&table, flow, family, &[CONN_SNAT, HAIRPIN]))
}

/// In by the gateway and on to an endpoint of another Node, which would answer the client itself.
pub fn to_remote_endpoint(layout: &Layout, family: IpFamily) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, Category::Service).matching(new(family));
    let flow = flow.marked(PktSource::Gateway.mark()).marked(PktDestination::Tunnel.mark());
    let flow = flow.marked(TO_EXTERNAL_ADDRESS).marked(DSR_SERVICE.unset());
    Some(committed(&table, flow, family, &[CONN_SNAT]))
}

/// From a Pod to itself: it would take the answer for one to nobody.
pub fn to_oneself(layout: &Layout, pod: IpAddr) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let family = IpFamily::of(&pod);
    let flow = table.flow(LOW, Category::Service).matching(new(family).ip_src(pod).ip_dst(pod));
    Some(committed(&table, flow, family, &[CONN_SNAT, HAIRPIN]))
}

/// To another cluster, which has to see its Gateway as the source: it does not know the Pods.
pub fn to_cluster(layout: &Layout, network: Ipv4Net) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(HIGH, Category::Multicluster).matching(new(IpFamily::V4).ip_dst(network));
    Some(committed(&table, flow, IpFamily::V4, &[CONN_SNAT]))
}

/// Drops what another cluster opens to one that is not this: the two clauses of this conjunction are
/// [`opened_by_another_cluster`] and [`opened_to_another_cluster`]. Else it would go on as from this Gateway.
pub fn between_other_clusters(layout: &Layout) -> Option<Flow> {
    let matching = new(IpFamily::V4).conj_id(BETWEEN_OTHER_CLUSTERS);
    Some(from_tunnel(layout, matching)?.done())
}

/// The clause for connections that another cluster's Gateway opens.
pub fn opened_by_another_cluster(layout: &Layout, gateway: Ipv4Addr) -> Option<Flow> {
    let flow = from_tunnel(layout, new(IpFamily::V4).ip_src(IpAddr::V4(gateway)))?;
    Some(flow.fulfil(&[clause(1)]).done())
}

/// The clause for connections to a network of another cluster.
pub fn opened_to_another_cluster(layout: &Layout, network: Ipv4Net) -> Option<Flow> {
    let flow = from_tunnel(layout, new(IpFamily::V4).ip_dst(network))?;
    Some(flow.fulfil(&[clause(2)]).done())
}

fn from_tunnel(layout: &Layout, matching: Match) -> Option<FlowBuilder> {
    let flow = layout.open(&TABLE)?.flow(HIGHEST, Category::Multicluster).matching(matching);
    Some(flow.marked(PktSource::Tunnel.mark()))
}

const fn clause(clause: u8) -> Conjunction {
    Conjunction { id: BETWEEN_OTHER_CLUSTERS, clause, of: 2 }
}

/// From another cluster to an endpoint on a host, which would answer past this Node.
pub fn from_other_clusters_to_host(layout: &Layout) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, Category::Multicluster).matching(new(IpFamily::V4));
    let flow = flow.marked(SERVICE_CONNECTION);
    let flow = flow.marked(PktSource::Tunnel.mark()).marked(PktDestination::Gateway.mark());
    Some(committed(&table, flow, IpFamily::V4, &[CONN_SNAT]))
}

fn new(family: IpFamily) -> Match {
    Match::new().ip(family).ct_state(CtState::new().set(CtState::NEW | CtState::TRK))
}

fn committed(table: &OpenTable<'_>, flow: FlowBuilder, family: IpFamily, marks: &[Mark]) -> Flow {
    let commit = commit_marked(ct_zone(family), marks).exec(Action::Move(SOURCE));
    flow.commit_as(commit, table.next()).done()
}
