//! Talks to Open vSwitch: its configuration database (OVSDB, RFC 7047) and the OpenFlow switch of a bridge.
//!
//! [`ovsdb::OvsDb`] keeps a typed copy of the database and changes it in transactions, [`openflow::Connection`] speaks
//! OpenFlow 1.5 over the management socket of a bridge, and [`Switch`] owns all flows, groups and meters of a bridge:
//! what is asked of it is installed in bundles, and put right whenever the switch has lost or changed it.

mod backoff;
mod datapath;
mod flow_store;
mod modification;
pub mod openflow;
mod outbox;
pub mod ovsdb;
mod round;
mod store;
mod switch;
#[cfg(feature = "testing")]
pub mod testing;
pub mod unixctl;

pub use datapath::Datapath;
pub use flow_store::{FlowChanges, FlowEdit, FlowSet, FlowStore};
pub use modification::Modification;
pub use round::Round;
pub use store::{Change, SetKey};
pub use switch::{Asked, Switch};
