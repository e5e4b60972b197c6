//! Leader election by a Lease (coordination.k8s.io), as client-go does it: of several processes that are alike, one
//! works.

mod election;
mod elector;

pub use election::{Leadership, Terms};
pub use elector::Elector;
