//! What comes out of the tunnel: which source its sender may give a packet inside.
//!
//! Who sends is known by the address that the packet has outside. Inside, a Node's packets are from its Pods and its gateway,
//! which are in its Pod CIDRs. Everything else is somebody else's: answers of connections, to which that means nothing; clients
//! of Services that are answered directly, and other clusters, by a Gateway. [`crate::tables::conntrack_state`] tells them apart.

use antrea_openflow::Match;
use antrea_types::IpFamily;
use ipnet::IpNet;

use crate::cookie::Category;
use crate::fields::{BY_OWN_GATEWAY, FOREIGN_SOURCE};
use crate::flow::{FlowBuilder, LOW, NORMAL, UNCLAIMED};
use crate::layout::OpenTable;

/// The source of a packet inside the tunnel, as its sender is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InnerSource {
    /// In a network of the sender's.
    Own(IpNet),
    /// Any other.
    Foreign,
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
            Self::Foreign => table.flow(LOW, category).matching(matching.ip(family)).load(FOREIGN_SOURCE),
        }
    }
}
