//! Decisions of Antrea Multi-cluster: what the exports of several clusters become, who is a member and alive, what a
//! member may export and what it exports. Pure: no client, no clock, no task.
//!
//! [`wire`] reads ResourceExports and writes what ResourceImports carry, [`merge`] has the rules in between, and
//! [`common_area`] puts them together: all exports of a ClusterSet in, imports and conflicts out. [`membership`] says
//! whose lease is over, [`addresses`] who may export what, [`label_identity`] numbers labels; [`service_export`] is the
//! member's side: what becomes of a ServiceExport.

pub mod addresses;
pub mod bindings;
pub mod claims;
pub mod cluster_set;
pub mod common_area;
pub mod conflict;
pub mod endpoints;
pub mod export;
pub mod ids;
pub mod label_identity;
pub mod limits;
mod looks;
pub mod membership;
pub mod merge;
pub mod names;
mod ports;
pub mod service;
pub mod service_export;
pub mod wire;
