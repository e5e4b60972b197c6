//! The Kubernetes API of Antrea, typed: what the programs of both products and their users exchange.
//!
//! Kinds are in modules by group and version, one file each. The JSON is upstream's: field names, what is left out
//! when it is empty, and which objects have neither spec nor status. Objects recorded from upstream are in
//! `tests/golden/`, and must come through unchanged.
//!
//! Custom resources are in [`crd`], [`multicluster`] and [`mcs`]. What antrea-controller serves itself, as JSON and as
//! Kubernetes' protobuf, is in [`controlplane`], [`stats`] and [`system`], with [`meta`], [`protobuf`] and [`watch`] below.

pub mod addresses;
pub mod api;
pub mod controlplane;
pub mod crd;
pub mod definitions;
pub mod labels;
pub mod mcs;
pub mod meta;
pub mod multicluster;
mod object;
pub mod openapi;
pub mod protobuf;
mod schema;
pub mod stats;
pub mod system;
pub mod validation;
pub mod watch;
pub mod well_known;
mod word;
