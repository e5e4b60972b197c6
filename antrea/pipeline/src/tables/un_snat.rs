//! UnSNAT: gives answers to translated sources their real destination back, before their connection is looked up.
//!
//! Stage ConntrackState. Matches the destination: the addresses that [`super::snat`] makes sources; next table
//! ConntrackZone. Filled by Services and Multicluster.

use std::net::{IpAddr, Ipv4Addr};

use antrea_openflow::{Flow, Match};
use antrea_types::IpFamily;

use crate::cookie::Category;
use crate::fields::snat_ct_zone;
use crate::flow::NORMAL;
use crate::layout::Layout;
use crate::order::Table;

/// The table.
pub const TABLE: Table = Table::pass("UnSNAT");

/// To an address that the sources of connections to Services are translated to.
pub fn answers(layout: &Layout, address: IpAddr) -> Option<Flow> {
    translated(layout, Category::Service, address)
}

/// From another cluster to this Gateway.
pub fn from_other_clusters(layout: &Layout, gateway: Ipv4Addr) -> Option<Flow> {
    translated(layout, Category::Multicluster, gateway.into())
}

fn translated(layout: &Layout, category: Category, address: IpAddr) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, category).matching(Match::new().ip_dst(address));
    Some(flow.track(snat_ct_zone(IpFamily::of(&address)), table.next()).done())
}
