//! NodePortMark: marks packets to the addresses that NodePorts are served on.
//!
//! Stage PreRouting; packets come by resubmit and go back. Matches the destination; loads ToNodePortAddress.
//! Filled by Services, with proxyAll only.

use std::net::IpAddr;

use antrea_openflow::{Flow, Match};

use crate::cookie::Category;
use crate::fields::TO_NODE_PORT_ADDRESS;
use crate::flow::NORMAL;
use crate::layout::Layout;
use crate::order::Table;

/// The table.
pub const TABLE: Table = Table::pass("NodePortMark");

/// To an address of this Node, or to the virtual one that the host translates those to.
pub fn to_node(layout: &Layout, address: IpAddr) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, Category::Service).matching(Match::new().ip_dst(address));
    Some(flow.load(TO_NODE_PORT_ADDRESS).done())
}
