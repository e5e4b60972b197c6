//! SNATMark: decides whose source has to be translated so that answers come back to this Node, and commits that.
//!
//! Stage PostRouting. Matches ct_state, ct_mark, PktSource, PktDestination, ToExternalAddress, DSRService; commits with the
//! marks ConnSNAT, Hairpin and ConnSource; next table SNAT. Filled by Services and Multicluster.

use std::net::IpAddr;

use antrea_openflow::{Action, CtState, Flow, Match};
use antrea_types::IpFamily;
use ipnet::Ipv4Net;

use crate::cookie::Category;
use crate::fields::{
    CONN_SNAT, DSR_SERVICE, HAIRPIN, Mark, PktDestination, PktSource, SERVICE_CONNECTION,
    TO_EXTERNAL_ADDRESS, ct_zone,
};
use crate::flow::{FlowBuilder, HIGH, LOW, NORMAL, commit_marked};
use crate::layout::{Layout, OpenTable};
use crate::order::Table;
use crate::tables::conntrack_commit::SOURCE;

/// The table.
pub const TABLE: Table = Table::pass("SNATMark");

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
