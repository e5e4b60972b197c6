//! ARPSpoofGuard: lets ARP pass only from the address and MAC that belong to the port it came from.
//!
//! Stage Validation of the ARP pipeline. Matches in_port, dl_src, arp_spa, arp_sha; next table ARPResponder; the rest is
//! dropped, ARP from the tunnel included. Filled by PodConnectivity (gateway, Pods), IPv4 only.

use std::net::Ipv4Addr;

use antrea_openflow::{Flow, Match};
use antrea_types::{MacAddr, OfPort};

use crate::cookie::Category;
use crate::flow::NORMAL;
use crate::layout::Layout;
use crate::order::Table;

/// The table.
pub const TABLE: Table = Table::guard("ARPSpoofGuard");

/// ARP of the one who has this address behind this port. The frame's own source counts, too: the learning switch that comes
/// next believes it, and would look for somebody else here.
pub fn of_owner(layout: &Layout, port: OfPort, address: Ipv4Addr, mac: MacAddr) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let matching = Match::new().in_port(port).eth_src(mac).arp_spa(address).arp_sha(mac);
    Some(table.flow(NORMAL, Category::PodConnectivity).matching(matching).goto(table.next()))
}
