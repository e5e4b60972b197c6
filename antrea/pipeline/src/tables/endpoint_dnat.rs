//! EndpointDNAT: makes the chosen endpoint the packet's destination, and remembers that for the connection.
//!
//! Stage PreRouting. Matches EndpointIP, EndpointPort and ServiceEPState, DSRService, NestedService, SvcNoEp; commits
//! with the mark Service; next table: that of stage EgressSecurity. Filled by Services.

use std::net::SocketAddr;

use antrea_openflow::{CtCommit, CtState, Flow, Match, Nat};
use antrea_types::IpFamily;

use crate::cookie::Category;
use crate::fields::{
    DSR_SERVICE, EndpointState, NESTED_SERVICE, SERVICE_CONNECTION, SERVICE_WITHOUT_ENDPOINT, ct_zone,
    endpoint_ip, selected_port,
};
use crate::flow::{HIGH, LOW, NORMAL, commit_marked};
use crate::layout::Layout;
use crate::order::Table;
use crate::refusal;
use crate::service::{Backend, Frontend, ip_bits, transport};
use crate::tables::service_lb;

/// The table.
pub const TABLE: Table = Table::pass("EndpointDNAT");

/// To a Service without endpoints: the agent refuses for it.
pub fn no_endpoint(layout: &Layout) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, Category::Service).marked(SERVICE_WITHOUT_ENDPOINT);
    Some(flow.limit(refusal::METER).to_agent(refusal::SERVICE_REJECT_USERDATA).done())
}

/// To an endpoint that is there.
pub fn to_endpoint(layout: &Layout, backend: &Backend) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let (Backend::Translated { protocol, address } | Backend::Nested { protocol, address, .. }) = *backend;
    let family = IpFamily::of(&address.ip());
    let mut matching = Match::new().transport(family, transport(protocol));
    matching = matching.bits(endpoint_ip(family), ip_bits(address.ip()));
    let selected = selected_port(address.port());
    Some(match *backend {
        Backend::Translated { .. } => {
            let flow = table.flow(NORMAL, Category::Service).matching(matching).marked(selected);
            let commit = commit_marked(ct_zone(family), &[SERVICE_CONNECTION]);
            let nat = Nat::destination(address.ip()).port(address.port());
            flow.commit_as(commit.nat(nat), table.next()).done()
        }
        Backend::Nested { group, .. } => {
            let flow = table.flow(HIGH, Category::Service).matching(matching).marked(selected);
            flow.marked(NESTED_SERVICE).group(group).done()
        }
    })
}

/// To an endpoint that has the address and port of its Service, and is the packet's destination already: that must not be
/// translated (see [`super::snat`]).
pub fn already_there(layout: &Layout, frontend: &Frontend, address: SocketAddr) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let family = IpFamily::of(&address.ip());
    let matching = frontend.matching().ip_dst(address.ip());
    let matching = matching.bits(endpoint_ip(family), ip_bits(address.ip()));
    let flow = table.flow(HIGH, Category::Service).matching(matching).marked(selected_port(address.port()));
    let flow = flow.marked(DSR_SERVICE.unset()).marked(NESTED_SERVICE.unset());
    Some(flow.commit_as(commit_marked(ct_zone(family), &[SERVICE_CONNECTION]), table.next()).done())
}

/// To an endpoint that answers directly: it has to see the address that the client knows.
pub fn direct(layout: &Layout, family: IpFamily) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(HIGH, Category::Service).matching(Match::new().ip(family)).marked(DSR_SERVICE);
    Some(flow.commit_as(CtCommit::new(ct_zone(family)), table.next()).done())
}

/// What ConntrackState let through as perhaps answered directly, and is not: no connection translates it.
pub fn invalid(layout: &Layout, family: IpFamily) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let state = CtState::new().set(CtState::INV | CtState::TRK);
    let flow = table.flow(HIGH, Category::Service).matching(Match::new().ip(family).ct_state(state));
    Some(flow.marked(DSR_SERVICE.unset()).done())
}

/// To an endpoint that nothing here takes packets to, though a client has been with it: a Service, which what was learned does
/// not say. Another one is chosen.
pub fn choose_again(layout: &Layout) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(LOW, Category::Service).marked(EndpointState::Selected.mark());
    Some(flow.load(EndpointState::ToSelect.mark()).resubmit(layout.id(&service_lb::TABLE)).done())
}
