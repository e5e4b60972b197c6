//! Webhooks of Antrea Multi-cluster: what may be written, and who may write it. Pure but for the handler of requests:
//! no client, no clock.
//!
//! ```text
//! watches ─► Surroundings ─────────────┐
//! AdmissionReview ─► Hook, Caller ─────┴─► kinds ─► allowed, denied, or a patch
//! ConversionReview ─► convert ─► ClusterSets of the other version
//! ```
//! Whoever has these webhooks fills a [`Known`] from watches and mounts [`router`] on an HTTPS server. What is not known
//! yet is not let through.

mod area;
mod caller;
mod change;
mod convert;
mod denied;
mod hook;
mod kinds;
mod mutate;
mod question;
mod read_turns;
mod review;
mod router;
mod surroundings;
#[cfg(test)]
mod tests;

pub use area::{Event, Exported};
pub use convert::convert;
pub use denied::Denied;
pub use hook::{Hook, review};
pub use question::Question;
pub use review::{Operation, Request, Verdict};
pub use router::router;
pub use surroundings::{Installation, Known, Surroundings};
