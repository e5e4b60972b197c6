//! ConntrackCommit: remembers a new connection, and where its first packet came from.
//!
//! Stage Conntrack. Matches ct_state and ConnSNAT (such connections are committed already); moves PktSource to
//! ConnSource; next table: the following one. Filled by PodConnectivity.

use antrea_openflow::{CtState, Flow, Match, Move};
use antrea_types::IpFamily;

use crate::cookie::Category;
use crate::fields::{CONN_SNAT, CONN_SOURCE, PktSource, ct_zone};
use crate::flow::{NORMAL, copy};
use crate::layout::Layout;
use crate::order::Table;

/// The table.
pub const TABLE: Table = Table::pass("ConntrackCommit");

/// What is remembered of the first packet.
pub(crate) const SOURCE: Move = copy(PktSource::FIELD, CONN_SOURCE);

/// New connections.
pub fn commit(layout: &Layout, family: IpFamily) -> Option<Flow> {
    let table = layout.open(&TABLE)?;
    let state = CtState::new().set(CtState::NEW | CtState::TRK);
    let flow =
        table.flow(NORMAL, Category::PodConnectivity).matching(Match::new().ip(family).ct_state(state));
    let flow = flow.marked(CONN_SNAT.unset());
    Some(flow.commit(ct_zone(family), table.next(), SOURCE).done())
}
