//! The leader of ClusterSets: everything in a Common Area that is not the members' own.
//!
//! ```text
//! ServiceAccount ────────┐ ┌─► approvals: who may have which networks
//! MemberClusterAnnounce ─┤ ├─► members ─► standings, claims ──┐
//! ResourceExport ────────┼─┼─► exports ───────────────────────┴─► merge ─► ResourceImports, answers to exporters
//! ClusterSet ────────────┘ └─► cluster_sets: its status
//!                       feed
//! ResourceImport ────────────► imports: what is really there
//! ```
//! [`antrea_mc_core`] decides. Here `area` holds what is known and says, object by object, which request would bring it
//! in line; `queue` says when to look at which object, and `leader` does so. Nothing is decided before all kinds were
//! listed once, so that a leader which has just begun takes nothing away that it has not heard of yet.

mod action;
mod answers;
mod approvals;
mod area;
mod census;
mod change;
mod cluster_sets;
mod condition;
mod event;
mod export;
mod exports;
mod feed;
mod imports;
mod labels;
mod leader;
mod members;
mod objects;
mod offline;
mod queue;
mod record;
mod requests;
#[cfg(test)]
mod tests;

pub use antrea_mc_core::limits::Limits;
pub use antrea_mc_core::membership::LeaseTimes;
pub use approvals::KnownAccount;
pub use census::{Census, Censuses};
pub use export::Export;
pub use feed::{AreaFeeds, Feed, Feeds};
pub use leader::{LeaderConfig, run};
pub use objects::Record;
pub use offline::{Given, Merged, merge};
