//! PreRoutingClassifier: sends first packets through the tables that find the endpoint of a Service, one after another, but
//! for those to addresses of load balancers from where those must not be reached.
//!
//! Stage PreRouting. Matches protocol, port, destination and source, PktSource, FromLocal; resubmits to NodePortMark,
//! SessionAffinity and ServiceLB; the flow of the last one takes the packet on. Filled by Services.

use antrea_openflow::{Flow, Match};
use antrea_types::IpFamily;

use crate::cookie::Category;
use crate::fields::{FROM_LOCAL, PktSource};
use crate::flow::{FlowBuilder, HIGH, HIGHEST, NORMAL};
use crate::layout::Layout;
use crate::order::Table;
use crate::service::{AdmittedSources, NodeAccess};
use crate::tables::{node_port_mark, service_lb, session_affinity};

/// The table.
pub const TABLE: Table = Table::pass("PreRoutingClassifier");

/// All packets of a family.
pub fn find_endpoint(layout: &Layout, family: IpFamily) -> Option<Flow> {
    Some(search(
        layout,
        layout.open(&TABLE)?.flow(NORMAL, Category::Service).matching(Match::new().ip(family)),
    ))
}

/// Packets to an address of a load balancer from where it may be reached. They have flows before the one of all others, so
/// that a client that has an endpoint already is refused as well.
pub fn admitted(layout: &Layout, sources: &AdmittedSources) -> Vec<Flow> {
    let Some(table) = layout.open(&TABLE) else { return Vec::new() };
    let flow = |matching| table.flow(HIGHEST, Category::Service).matching(matching);
    let ranges = sources.ranges.iter().map(|range| flow(sources.matching().ip_src(*range)));
    let node = match sources.node {
        NodeAccess::ByAddress => None,
        NodeAccess::Admitted => {
            Some(flow(sources.matching()).marked(PktSource::Gateway.mark()).marked(FROM_LOCAL))
        }
    };
    ranges.chain(node).map(|flow| search(layout, flow)).collect()
}

/// Packets to it from elsewhere.
pub fn denied(layout: &Layout, sources: &AdmittedSources) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    Some(table.flow(HIGH, Category::Service).matching(sources.matching()).done())
}

fn search(layout: &Layout, flow: FlowBuilder) -> Flow {
    let flow = flow.resubmit(layout.id(&node_port_mark::TABLE));
    let flow = flow.resubmit(layout.id(&session_affinity::TABLE));
    flow.resubmit(layout.id(&service_lb::TABLE)).done()
}
