//! Who sends through the tunnel, and which inner source addresses they may use.
//!
//! The outer source address identifies the peer. A Node may open connections from its own Pod CIDRs, which hold its Pods and
//! its gateway. Any other inner source is foreign: a reply, a client of a Service in DSR mode, or another cluster behind a
//! Gateway. [`crate::tables::conntrack_state`] tells these apart.

use std::net::IpAddr;

use antrea_openflow::Match;
use antrea_types::{IpFamily, OfPort};
use ipnet::IpNet;

use crate::cookie::Category;
use crate::fields::{BY_OWN_GATEWAY, FOREIGN_SOURCE};
use crate::flow::{FlowBuilder, LOW, NORMAL, UNCLAIMED};
use crate::layout::OpenTable;

/// The other end of the tunnel, as packets that come from it show it.
#[derive(Clone, Copy, Debug)]
pub struct FarEnd {
    /// This Node's port of the tunnel.
    pub tunnel: OfPort,
    /// The outer source address.
    pub address: IpAddr,
}

impl FarEnd {
    /// What comes from there.
    pub(crate) fn matching(self) -> Match {
        Match::new().in_port(self.tunnel).tun_src(self.address)
    }
}

/// Where the inner source of a packet lies, relative to its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InnerSource {
    /// In a network of the sender's.
    Own(IpNet),
    /// Any other.
    Foreign,
    /// In a network behind the sender, which is the Gateway of another cluster.
    Behind(IpNet),
    /// Any other, and the sender is a Gateway of this cluster.
    ForeignByGateway,
}

impl InnerSource {
    /// A flow for such packets of a family, among those that `matching` describes.
    pub(crate) fn flow(
        self,
        table: &OpenTable<'_>,
        category: Category,
        family: IpFamily,
        matching: Match,
    ) -> FlowBuilder {
        match self {
            Self::Own(network) => table.flow(NORMAL, category).matching(matching.ip_src(network)),
            Self::ForeignByGateway => {
                let flow = table.flow(UNCLAIMED, category).matching(matching.ip(family));
                flow.load(FOREIGN_SOURCE).load(BY_OWN_GATEWAY)
            }
            Self::Behind(network) => {
                table.flow(LOW, category).matching(matching.ip_src(network)).load(FOREIGN_SOURCE)
            }
            Self::Foreign => table.flow(LOW, category).matching(matching.ip(family)).load(FOREIGN_SOURCE),
        }
    }
}
