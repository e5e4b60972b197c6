//! The member of a ClusterSet: exports what its users want exported, imports what the leader merged, elects the
//! Gateway, and keeps the connection to the leader.
//!
//! Decisions are pure: [`import`], [`export`] and [`gateway`] take the [`objects`] that are known and give the
//! [`action`]s that are missing. The engine around them watches, sends, and waits after failures; [`leader`] knows the
//! way to the leader. [`add_to`] makes components of a process of them.

pub mod action;
pub mod area;
pub mod condition;
mod engine;
mod event;
pub mod export;
pub mod gateway;
pub mod import;
mod kept;
pub mod kind;
pub mod leader;
pub mod objects;
mod parts;
mod send;
mod watches;
pub mod withdrawals;

pub use export::LabelIdentities;
pub use parts::{Settings, add_to};
