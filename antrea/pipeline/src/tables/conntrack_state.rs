//! ConntrackState: separates packets of known connections from first ones. Only the latter may need a Service's endpoint.
//!
//! Stage ConntrackState. Matches ct_state and ct_mark; next tables: stage EgressSecurity for known connections, stage
//! PreRouting for new ones; packets that belong to no possible connection are dropped. Filled by PodConnectivity and
//! Services.

use antrea_openflow::{CtState, Flow, Match};
use antrea_types::IpFamily;

use crate::cookie::Category;
use crate::fields::{FROM_EXTERNAL, REWRITE_MAC, SERVICE_CONNECTION};
use crate::flow::{HIGH, LOW, NORMAL};
use crate::layout::Layout;
use crate::order::{Stage, Table};

/// The table.
pub const TABLE: Table = Table::by_feature("ConntrackState");

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

/// First packets.
pub fn new(layout: &Layout) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    Some(table.miss_flow(Category::PodConnectivity).goto(layout.first_of(Stage::PreRouting)))
}
