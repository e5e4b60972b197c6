//! Output: sends the packet out of the port that was found. What has no port is dropped, and what a peer would take for a packet
//! of the tunnel.
//!
//! Stage Output, the last table. Matches Output, TargetOFPort, the mark Hairpin, the protocol and its destination port. Filled by
//! PodConnectivity, Services and Multicluster.

use antrea_openflow::{Flow, Match, Transport, protocol};
use antrea_types::{IpFamily, OfPort, TunnelTraffic};

use crate::cookie::Category;
use crate::fields::{HAIRPIN, OUTPUT_TO_OF_PORT, TARGET_OF_PORT};
use crate::flow::{HIGH, HIGHEST, NORMAL};
use crate::layout::Layout;
use crate::order::Table;

/// The table.
pub const TABLE: Table = Table::guard("Output");

/// Back to where it came from, which a switch does only when told in so many words.
pub fn back(layout: &Layout) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(HIGH, Category::Service).marked(OUTPUT_TO_OF_PORT).marked(HAIRPIN);
    Some(flow.output_to_in_port().done())
}

/// From one tunnel into another.
pub fn between_tunnels(layout: &Layout, tunnel: OfPort) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let matching = Match::new().bits(TARGET_OF_PORT, tunnel.0).in_port(tunnel);
    let flow = table.flow(HIGH, Category::Multicluster).matching(matching);
    Some(flow.output_to_in_port().done())
}

/// To the host, and from there to a tunnel endpoint. Peers would accept any Pod of this Node as the inner source.
///
/// Wherever the packet goes: Nodes have addresses that are not known here, above all new Nodes. Whoever sent it: what Pods send
/// comes from the tunnel, too, to this Node's gateway, and by the gateway, through a NodePort. The port is that which the packet
/// leaves with. Fragments, which have none, do not come here: the kernel's datapath has put them together, and the userspace one
/// has dropped them. What kube-proxy translates later the rules of the host drop.
pub fn forged_tunnel_packets(
    layout: &Layout,
    gateway: OfPort,
    traffic: TunnelTraffic,
    family: IpFamily,
) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let matching = match traffic {
        TunnelTraffic::Udp(port) => {
            Match::new().transport(family, Transport::Udp).port_dst(Transport::Udp, port.into())
        }
        TunnelTraffic::Gre => Match::new().ip_proto(family, protocol::GRE),
    };
    let matching = matching.bits(TARGET_OF_PORT, gateway.0);
    Some(table.flow(HIGHEST, Category::PodConnectivity).matching(matching).done())
}

/// To the port in the register.
pub fn to_port(layout: &Layout) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let flow = table.flow(NORMAL, Category::PodConnectivity).marked(OUTPUT_TO_OF_PORT);
    Some(flow.output_to(TARGET_OF_PORT).done())
}
