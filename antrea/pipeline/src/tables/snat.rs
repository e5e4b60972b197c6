//! SNAT: translates sources, in a conntrack zone beside that of all connections.
//!
//! Stage PostRouting. Matches ct_state and the marks ConnSNAT and Hairpin that SNATMark has committed, PktSource; next
//! table: that of stage Switching. Answers are translated back by [`super::un_snat`]. Filled by Services and
//! Multicluster.
//!
//! No address must be translated to what it is already: ovs-vswitchd 3.1 ends by an assertion of its userspace datapath
//! (`conn->conn_type == CT_CONN_TYPE_DEFAULT`) when such a connection has run out and is opened again before it is swept.
//! There, connections that have the source already, and might keep their port, are only committed, so that no other gets it.

use std::net::{IpAddr, Ipv4Addr};

use antrea_openflow::{CtCommit, CtState, Flow, FlowPriority, Match, Nat, PortMask, Transport, protocol};
use antrea_types::IpFamily;
use ipnet::Ipv4Net;

use crate::cookie::Category;
use crate::fields::{CONN_SNAT, HAIRPIN, Mark, PktSource, SERVICE_CONNECTION, snat_ct_zone};
use crate::flow::{HIGH, LOW, NORMAL, UNCLAIMED, commit_marked};
use crate::layout::Layout;
use crate::order::Table;

/// The table.
pub const TABLE: Table = Table::pass("SNAT");

/// The ports of translated sources. The host's programs use the same addresses with ports that Linux gives them, from 32768
/// on (`net.ipv4.ip_local_port_range`): to an endpoint, no two connections come from one port.
const PORTS: (u16, u16) = (1024, 32767);

/// Where those are.
const LOWER_HALF: PortMask = PortMask { value: 0, mask: 0x8000 };

/// In by the gateway and out by it again: from an address that the host has a route to the gateway for.
pub fn through_gateway(layout: &Layout, service: IpAddr) -> Option<Flow> {
    translated(layout, (NORMAL, HAIRPIN), PktSource::Gateway, service)
}

/// The same from that address.
pub fn own_through_gateway(layout: &Layout, service: IpAddr) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let family = IpFamily::of(&service);
    let flow = table.flow(HIGH, Category::Service).matching(new(family).ip_src(service));
    let flow = flow.marked(HAIRPIN).marked(PktSource::Gateway.mark());
    Some(flow.commit_as(commit(family, HAIRPIN), table.next()).done())
}

/// From a Pod to itself: from the gateway.
pub fn to_oneself(layout: &Layout, gateway: IpAddr) -> Option<Flow> {
    translated(layout, (NORMAL, HAIRPIN), PktSource::Pod, gateway)
}

/// In by the gateway and on to another Node: from the gateway.
pub fn from_gateway(layout: &Layout, gateway: IpAddr) -> Option<Flow> {
    translated(layout, (LOW, CONN_SNAT), PktSource::Gateway, gateway)
}

/// The same from the gateway itself.
pub fn own_from_gateway(layout: &Layout, gateway: IpAddr) -> Vec<Flow> {
    let Some(table) = layout.open(&TABLE) else { return Vec::new() };
    let flow = |matching| {
        let flow = table.flow(UNCLAIMED, Category::Service).matching(matching);
        let flow = flow.marked(CONN_SNAT).marked(PktSource::Gateway.mark());
        flow.commit_as(commit(IpFamily::of(&gateway), CONN_SNAT), table.next()).done()
    };
    perhaps_unchanged(gateway).map(flow).to_vec()
}

/// Later packets of all these.
pub fn known(layout: &Layout, family: IpFamily) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let state = CtState::new().set(CtState::TRK).unset(CtState::NEW | CtState::RPL);
    let flow = table.flow(NORMAL, Category::Service).matching(Match::new().ip(family).ct_state(state));
    Some(flow.marked(CONN_SNAT).track(snat_ct_zone(family), table.next()).done())
}

/// To another cluster: from this Gateway, whoever has sent it, so that no two connections have one port.
///
/// The mark says that the connection is committed: it must not be once more, with the Gateway as the source.
pub fn to_cluster(layout: &Layout, network: Ipv4Net, gateway: Ipv4Addr) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, Category::Multicluster).matching(new(IpFamily::V4).ip_dst(network));
    let commit = commit_marked(snat_ct_zone(IpFamily::V4), &[CONN_SNAT]);
    Some(flow.commit_as(commit.nat(translation(gateway.into())), table.next()).done())
}

/// The same from the Gateway itself.
pub fn own_to_cluster(layout: &Layout, network: Ipv4Net, gateway: Ipv4Addr) -> Vec<Flow> {
    let Some(table) = layout.open(&TABLE) else { return Vec::new() };
    let flow = |matching: Match| {
        let flow = table.flow(HIGH, Category::Multicluster).matching(matching.ip_dst(network));
        flow.commit_as(commit_marked(snat_ct_zone(IpFamily::V4), &[CONN_SNAT]), table.next()).done()
    };
    perhaps_unchanged(gateway.into()).map(flow).to_vec()
}

/// From another cluster to an endpoint on a host: from an address that the host has a route to the gateway for.
pub fn from_other_clusters_to_host(layout: &Layout, service: IpAddr) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(LOW, Category::Multicluster).matching(new(IpFamily::V4)).marked(CONN_SNAT);
    let flow = flow.marked(PktSource::Tunnel.mark());
    let commit = commit_marked(snat_ct_zone(IpFamily::V4), &[SERVICE_CONNECTION, CONN_SNAT]);
    Some(flow.commit_as(commit.nat(translation(service)), table.next()).done())
}

/// The same from that address.
pub fn own_from_other_clusters_to_host(layout: &Layout, service: IpAddr) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(UNCLAIMED, Category::Multicluster).matching(new(IpFamily::V4).ip_src(service));
    let flow = flow.marked(CONN_SNAT).marked(PktSource::Tunnel.mark());
    let commit = commit_marked(snat_ct_zone(IpFamily::V4), &[SERVICE_CONNECTION, CONN_SNAT]);
    Some(flow.commit_as(commit, table.next()).done())
}

fn translation(address: IpAddr) -> Nat {
    Nat::source(address).ports(PORTS)
}

fn new(family: IpFamily) -> Match {
    Match::new().ip(family).ct_state(CtState::new().set(CtState::NEW | CtState::TRK))
}

fn translated(
    layout: &Layout,
    (priority, mark): (FlowPriority, Mark),
    source: PktSource,
    address: IpAddr,
) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let family = IpFamily::of(&address);
    let flow = table.flow(priority, Category::Service).matching(new(family));
    let commit = commit(family, mark).nat(translation(address));
    Some(flow.marked(mark).marked(source.mark()).commit_as(commit, table.next()).done())
}

/// What has this source, and might have it and its port once it is translated: by chance, or because it has none that the
/// userspace datapath knows.
fn perhaps_unchanged(source: IpAddr) -> [Match; 4] {
    let family = IpFamily::of(&source);
    let of_protocol = |protocol| new(family).ip_proto(family, protocol).ip_src(source);
    let icmp = match family {
        IpFamily::V4 => protocol::ICMP,
        IpFamily::V6 => protocol::ICMPV6,
    };
    [
        of_protocol(protocol::TCP).port_src(Transport::Tcp, LOWER_HALF),
        of_protocol(protocol::UDP).port_src(Transport::Udp, LOWER_HALF),
        of_protocol(protocol::SCTP),
        of_protocol(icmp),
    ]
}

fn commit(family: IpFamily, mark: Mark) -> CtCommit {
    let marks: &[Mark] = match mark {
        HAIRPIN => &[SERVICE_CONNECTION, CONN_SNAT, HAIRPIN],
        _ => &[SERVICE_CONNECTION, CONN_SNAT],
    };
    commit_marked(snat_ct_zone(family), marks)
}
