//! DSRServiceMark: marks connections whose endpoint on another Node answers the client directly.
//!
//! Stage PreRouting. Matches the frontend, FromExternal, RemoteEndpoint; loads DSRService and has SessionAffinity learn
//! the connection, since its later packets look as if they belonged to none; next table EndpointDNAT. Filled by
//! Services, with Direct Server Return only.

use antrea_openflow::{CtState, Flow, Match};
use antrea_types::IpFamily;

use crate::cookie::Category;
use crate::fields::{DSR_SERVICE, FROM_EXTERNAL, REMOTE_ENDPOINT};
use crate::flow::{LOW, NORMAL};
use crate::layout::Layout;
use crate::order::Table;
use crate::service::{Frontend, LoadBalancerMode};
use crate::tables::session_affinity;

/// The table.
pub const TABLE: Table = Table::pass("DSRServiceMark");

/// The first packet of such a connection.
pub fn mark(layout: &Layout, frontend: &Frontend) -> Option<Flow> {
    let LoadBalancerMode::Dsr { .. } = frontend.mode else { return None };
    let table = layout.open(&TABLE)?;
    let learn = session_affinity::connection(layout, frontend)?;
    let flow =
        table.flow_of(NORMAL, Category::Service.cookie_of(frontend.group.0)).matching(frontend.matching());
    let flow = flow.marked(FROM_EXTERNAL).marked(REMOTE_ENDPOINT).marked(DSR_SERVICE.unset());
    Some(flow.learn(learn).load(DSR_SERVICE).goto(table.next()))
}

/// What ConntrackState let through as perhaps being of such a connection, and is not.
pub fn invalid(layout: &Layout, family: IpFamily) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let state = CtState::new().set(CtState::INV | CtState::TRK);
    let flow = table.flow(LOW, Category::Service).matching(Match::new().ip(family).ct_state(state));
    Some(flow.marked(DSR_SERVICE.unset()).done())
}
