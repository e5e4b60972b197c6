//! PreRoutingClassifier: sends first packets through the tables that find the endpoint of a Service, one after another.
//!
//! Stage PreRouting. Resubmits to NodePortMark, SessionAffinity and ServiceLB; the flow of the last one takes the packet
//! on. Filled by Services.

use antrea_openflow::{Flow, Match};
use antrea_types::IpFamily;

use crate::cookie::Category;
use crate::flow::NORMAL;
use crate::layout::Layout;
use crate::order::Table;
use crate::tables::{node_port_mark, service_lb, session_affinity};

/// The table.
pub const TABLE: Table = Table::pass("PreRoutingClassifier");

/// All packets of a family.
pub fn find_endpoint(layout: &Layout, family: IpFamily) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, Category::Service).matching(Match::new().ip(family));
    let flow = flow.resubmit(layout.id(&node_port_mark::TABLE));
    let flow = flow.resubmit(layout.id(&session_affinity::TABLE));
    Some(flow.resubmit(layout.id(&service_lb::TABLE)).done())
}
