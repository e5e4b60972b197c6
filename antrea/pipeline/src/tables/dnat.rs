//! DNAT: sends Service traffic to the host, where kube-proxy translates it. Not realized when Antrea proxies Services.
//!
//! Stage PreRouting. Matches nw_dst or ipv6_dst; next table: stage Conntrack, past routing and switching, because the
//! port is known. What the host sends back arrives from the gateway with the endpoint as destination; the answer of an
//! endpoint of this Node must take the same way back, which L3Forwarding sees to.
//! Filled by Services without AntreaProxy, where their networks are known; elsewhere unknown destinations go to the
//! gateway in any case.

use antrea_openflow::{Flow, Match};
use antrea_types::OfPort;
use ipnet::IpNet;

use crate::cookie::Category;
use crate::fields::{OUTPUT_TO_OF_PORT, TARGET_OF_PORT};
use crate::flow::NORMAL;
use crate::layout::Layout;
use crate::order::{Stage, Table};

/// The table.
pub const TABLE: Table = Table::pass("DNAT");

/// New connections to a network of Service addresses.
pub fn to_services(layout: &Layout, services: IpNet, gateway: OfPort) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, Category::Service).matching(Match::new().ip_dst(services));
    let flow = flow.load_bits(TARGET_OF_PORT, gateway.0).load(OUTPUT_TO_OF_PORT);
    Some(flow.goto(layout.first_of(Stage::Conntrack)))
}
