//! The Kubernetes API of Antrea, typed: what the programs of both products and their users exchange.
//!
//! Kinds are in modules by group and version, one file each. The JSON is upstream's: field names, what is left out
//! when it is empty, and which objects have neither spec nor status. Objects recorded from upstream are in
//! `tests/golden/`, and must come through unchanged.

pub mod crd;
pub mod definitions;
pub mod labels;
pub mod mcs;
pub mod multicluster;
mod object;
mod schema;
pub mod validation;
pub mod well_known;
mod word;
