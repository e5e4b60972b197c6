//! ServiceLB: finds the Service that a packet is to, and has a group choose one of its endpoints.
//!
//! Stage PreRouting. Matches protocol, port, destination or ToNodePortAddress, ServiceEPState, for some clients PktSource or
//! FromLocal; loads RewriteMAC, ServiceEPState, ToExternalAddress, ServiceGroupID, NestedService; the group takes the packet
//! on: to EndpointDNAT, for clients that stay with their endpoint by way of this table, for Direct Server Return to
//! DSRServiceMark. Of clients that have an endpoint it matches EndpointIP, EndpointPort and ServiceGroupID. Filled by Services.

use antrea_openflow::{Flow, FlowPriority, GroupId, Match};
use antrea_types::IpFamily;

use crate::cookie::Category;
use crate::fields::{
    EndpointState, FROM_LOCAL, Mark, NESTED_SERVICE, PktSource, REMOTE_ENDPOINT, REWRITE_MAC, SERVICE_GROUP,
    TO_EXTERNAL_ADDRESS, endpoint_ip, remembered_port,
};
use crate::flow::{HIGH, LOW, NORMAL};
use crate::layout::{Layout, OpenTable};
use crate::order::Table;
use crate::service::{
    Endpoint, EndpointGroup, EndpointKind, Frontend, LoadBalancerMode, Origin, SessionAffinity, ip_bits,
};
use crate::tables::session_affinity;

/// The table.
pub const TABLE: Table = Table::pass("ServiceLB");

/// Everybody who has no endpoint yet.
pub fn select(layout: &Layout, frontend: &Frontend) -> Option<Flow> {
    Some(choose(&layout.open(&TABLE)?, frontend, NORMAL, frontend.group, None))
}

/// Clients of this Node, where others get endpoints of this Node only: those have no source to preserve.
pub fn short_circuit(layout: &Layout, frontend: &Frontend) -> Option<Flow> {
    let Origin::External { short_circuit: Some(group) } = frontend.origin else { return None };
    Some(choose(&layout.open(&TABLE)?, frontend, HIGH, group, Some(FROM_LOCAL)))
}

/// Clients in other clusters, where those in this one get endpoints of their own Node only. Nothing else that comes through the
/// tunnel is to a ClusterIP: Nodes of this cluster translate it before they send.
pub fn of_other_clusters(layout: &Layout, frontend: &Frontend) -> Option<Flow> {
    let Origin::Internal { other_clusters: Some(group) } = frontend.origin else { return None };
    Some(choose(&layout.open(&TABLE)?, frontend, HIGH, group, Some(PktSource::Tunnel.mark())))
}

/// What another Node has sent on because an endpoint of this one shall answer directly.
pub fn sent_on(layout: &Layout, frontend: &Frontend) -> Option<Flow> {
    let LoadBalancerMode::Dsr { local_group } = frontend.mode else { return None };
    Some(choose(&layout.open(&TABLE)?, frontend, HIGH, local_group, Some(PktSource::Tunnel.mark())))
}

/// The endpoint is chosen; the client's next connection shall have it, too.
pub fn remember(layout: &Layout, frontend: &Frontend) -> Option<Flow> {
    let SessionAffinity::ClientIp { timeout_seconds } = frontend.affinity else { return None };
    let table = layout.open(&TABLE)?;
    let learn = session_affinity::client(layout, frontend, timeout_seconds)?;
    let flow =
        table.flow_of(LOW, Category::Service.cookie_of(frontend.group.0)).matching(frontend.matching());
    let flow = flow.marked(EndpointState::ToLearn.mark()).learn(learn);
    Some(flow.load(EndpointState::Selected.mark()).goto(table.next()))
}

/// The client's endpoint is still one of the group that chose it. In the same bundle in which it leaves the group this goes,
/// whichever other Services have it.
pub fn still_there(layout: &Layout, group: &EndpointGroup, endpoint: &Endpoint) -> Option<Flow> {
    let SessionAffinity::ClientIp { .. } = group.affinity else { return None };
    let table = layout.open(&TABLE)?;
    let address = endpoint.address.ip();
    let matching = Match::new().bits(endpoint_ip(IpFamily::of(&address)), ip_bits(address));
    let flow = table.flow(NORMAL, Category::Service).matching(matching.bits(SERVICE_GROUP, group.id.0));
    let flow = flow.marked(remembered_port(endpoint.address.port()));
    Some(flow.load(EndpointState::Selected.mark()).goto(table.next()))
}

/// The client's endpoint is not: another one is chosen, which may be on this Node.
pub fn gone(layout: &Layout) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(LOW, Category::Service).marked(EndpointState::Remembered.mark());
    let flow = flow.load(EndpointState::ToSelect.mark()).load(REMOTE_ENDPOINT.unset());
    Some(flow.resubmit(Some(table.id())).done())
}

fn choose(
    table: &OpenTable<'_>,
    frontend: &Frontend,
    priority: FlowPriority,
    group: GroupId,
    only: Option<Mark>,
) -> Flow {
    let chosen = match frontend.affinity {
        SessionAffinity::None => EndpointState::Selected,
        SessionAffinity::ClientIp { .. } => EndpointState::ToLearn,
    };
    let mut flow = table.flow(priority, Category::Service).matching(frontend.matching());
    flow = flow.marked(EndpointState::ToSelect.mark());
    if let Some(mark) = only {
        flow = flow.marked(mark);
    }
    flow = flow.load(REWRITE_MAC).load(chosen.mark());
    if matches!(frontend.origin, Origin::External { .. }) {
        flow = flow.load(TO_EXTERNAL_ADDRESS);
    }
    flow = flow.load_bits(SERVICE_GROUP, group.0);
    if frontend.endpoints == EndpointKind::Nested {
        flow = flow.load(NESTED_SERVICE);
    }
    flow.group(group).done()
}
