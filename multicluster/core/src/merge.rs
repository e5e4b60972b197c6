//! From exports to imports: one file for each rule.

mod endpoints;
mod service;
mod whole;

pub use endpoints::{MergedEndpoints, endpoints};
pub use service::{MergedService, service};
pub use whole::{MergedWhole, WholeExport, whole};
