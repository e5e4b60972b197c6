//! ConntrackCommit: remembers a new connection, and where its first packet came from.
//!
//! Stage Conntrack. Matches ct_state and ConnSNAT (such connections are committed already); moves PktSource to
//! ConnSource; next table: the following one. Filled by PodConnectivity and Multicluster.

use std::net::{IpAddr, Ipv4Addr};

use antrea_openflow::{Action, CtCommit, CtState, Flow, Match, Move, Nat, PortMask, Transport};
use antrea_types::IpFamily;

use crate::cookie::Category;
use crate::fields::{CONN_SNAT, CONN_SOURCE, PktSource, SERVICE_CONNECTION, ct_zone};
use crate::flow::{HIGH, NORMAL, copy};
use crate::layout::Layout;
use crate::model::Datapath;
use crate::order::Table;

/// The table.
pub const TABLE: Table = Table::pass("ConntrackCommit");

/// What is remembered of the first packet.
pub(crate) const SOURCE: Move = copy(PktSource::FIELD, CONN_SOURCE);

/// New connections.
pub fn commit(layout: &Layout, family: IpFamily) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, Category::PodConnectivity).matching(new(family));
    let flow = flow.marked(CONN_SNAT.unset());
    Some(flow.commit(ct_zone(family), table.next(), SOURCE).done())
}

/// The ports of Gateways that Pods see. Gateways take lower ones themselves (see [`super::snat`]).
const GATEWAY_PORTS: (u16, u16) = (32768, 65535);

/// Those of Gateways, and all that are no ports of Gateways that Pods see.
const LOWER_HALF: PortMask = PortMask { value: 0, mask: 0x8000 };

/// From another cluster's Gateway to a Pod. The Gateway may have the same port for a Service of which the Pod is the endpoint;
/// the Pod sees another one. The userspace datapath keeps a port that it finds among those, which [`super::snat`] tells why
/// it must not, and knows none of SCTP.
pub fn from_other_cluster(
    layout: &Layout,
    datapath: Datapath,
    gateway: Ipv4Addr,
    transport: Transport,
) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let matching = new(IpFamily::V4).transport(IpFamily::V4, transport).ip_src(IpAddr::V4(gateway));
    let matching = match (datapath, transport) {
        (Datapath::Kernel, _) => matching,
        (Datapath::Userspace, Transport::Sctp) => return None,
        (Datapath::Userspace, _) => matching.port_src(transport, LOWER_HALF),
    };
    let flow = table.flow(HIGH, Category::Multicluster).matching(matching).marked(PktSource::Tunnel.mark());
    let flow = flow.marked(SERVICE_CONNECTION.unset()).marked(CONN_SNAT.unset());
    let commit = CtCommit::new(ct_zone(IpFamily::V4)).exec(Action::Move(SOURCE));
    let translation = Nat::source(gateway.into()).ports(GATEWAY_PORTS);
    Some(flow.commit_as(commit.nat(translation), table.next()).done())
}

fn new(family: IpFamily) -> Match {
    Match::new().ip(family).ct_state(CtState::new().set(CtState::NEW | CtState::TRK))
}
