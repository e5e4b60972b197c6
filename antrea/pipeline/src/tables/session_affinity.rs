//! SessionAffinity: knows the endpoint that a client has already; everybody else gets one chosen.
//!
//! Stage PreRouting; packets come by resubmit and go back. The switch learns these flows itself: for clients that stay
//! with their endpoint from the flows of ServiceLB, for connections with direct answers from those of DSRServiceMark.
//! They load EndpointIP, EndpointPort and ServiceEPState; those of clients ServiceGroupID, too, so that ServiceLB knows
//! whether the Service still has the endpoint. Their cookies have the Service's group and no round, because
//! they outlive the agent. Filled by Services.

use antrea_openflow::{Field, Flow, FlowPriority, Learn, LearnFlags, LearnSpec, TableId, ethertype};
use antrea_types::{IpFamily, Protocol};

use crate::cookie::Category;
use crate::fields::{
    DSR_SERVICE, ENDPOINT_PORT, EndpointState, Mark, REMOTE_ENDPOINT, REWRITE_MAC, SERVICE_GROUP,
    TO_EXTERNAL_ADDRESS, endpoint_ip,
};
use crate::flow::{HIGH, NORMAL};
use crate::layout::Layout;
use crate::order::Table;
use crate::service::{Frontend, Origin, transport};

/// The table.
pub const TABLE: Table = Table::by_feature("SessionAffinity");

/// After so many seconds without packets a connection with direct answers is forgotten.
const DIRECT_IDLE_TIMEOUT: u16 = 160;
/// And after so many when one side has ended it.
const DIRECT_FIN_IDLE_TIMEOUT: u16 = 5;

/// So many clients of a Service stay with their endpoint at a time. Who comes from outside may have any number of addresses,
/// each of which is a flow for as long as the affinity lasts. To one more, each connection is a first one.
const CLIENTS: u32 = 16_384;

/// Clients that are not known.
pub fn others(layout: &Layout) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    Some(table.miss_flow(Category::Service).load(EndpointState::ToSelect.mark()).done())
}

/// The client stays with its endpoint from now on.
pub fn client(layout: &Layout, frontend: &Frontend, timeout_seconds: u16) -> Option<Learn> {
    let mut specs = addressed(frontend);
    specs.extend([LearnSpec::keep(ENDPOINT_PORT), LearnSpec::keep(REMOTE_ENDPOINT.range)]);
    specs.push(LearnSpec::keep(endpoint_ip(frontend.destination.family())));
    specs.push(LearnSpec::keep(SERVICE_GROUP));
    specs.extend([load(EndpointState::Remembered.mark()), load(REWRITE_MAC)]);
    if matches!(frontend.origin, Origin::External { .. }) {
        specs.push(load(TO_EXTERNAL_ADDRESS));
    }
    let learn = learn(layout.id(&TABLE)?, NORMAL, frontend);
    Some(Learn { hard_timeout: timeout_seconds, limit: CLIENTS, specs, ..learn })
}

/// The connection stays with its endpoint: connection tracking sees one direction of it only.
pub fn connection(layout: &Layout, frontend: &Frontend) -> Option<Learn> {
    let mut specs = addressed(frontend);
    specs.insert(2, LearnSpec::same(transport(frontend.protocol).source()));
    specs.push(LearnSpec::keep(ENDPOINT_PORT));
    specs.push(LearnSpec::keep(endpoint_ip(frontend.destination.family())));
    specs.extend([load(EndpointState::Selected.mark()), load(DSR_SERVICE)]);
    let learn = learn(layout.id(&TABLE)?, HIGH, frontend);
    Some(Learn {
        idle_timeout: DIRECT_IDLE_TIMEOUT,
        // Only TCP says when it ends.
        fin_idle_timeout: if frontend.protocol == Protocol::Tcp { DIRECT_FIN_IDLE_TIMEOUT } else { 0 },
        specs,
        ..learn
    })
}

fn learn(table: TableId, priority: FlowPriority, frontend: &Frontend) -> Learn {
    let cookie = Category::Service.cookie_of(frontend.group.0);
    Learn { table, priority, cookie, flags: LearnFlags::DELETE_LEARNED, ..Learn::default() }
}

/// Matches family, protocol, destination and client of the packet.
fn addressed(frontend: &Frontend) -> Vec<LearnSpec> {
    let (ethertype, destination, source) = match frontend.destination.family() {
        IpFamily::V4 => (ethertype::IPV4, Field::Ipv4Dst, Field::Ipv4Src),
        IpFamily::V6 => (ethertype::IPV6, Field::Ipv6Dst, Field::Ipv6Src),
    };
    vec![
        LearnSpec::matching(Field::EthType, ethertype),
        LearnSpec::matching(Field::IpProto, frontend.protocol.number()),
        LearnSpec::same(transport(frontend.protocol).destination()),
        LearnSpec::same(destination),
        LearnSpec::same(source),
    ]
}

fn load(mark: Mark) -> LearnSpec {
    LearnSpec::LoadValue(mark.range, mark.value.into())
}
