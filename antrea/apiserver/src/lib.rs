//! The aggregated API of antrea-controller: a store of computed policies and groups that agents watch, each what its
//! Node needs, and the HTTP around it. It knows the values of antrea-policy, not who computes them.

mod cluster;
mod http;
mod shared_store;
pub mod store;
mod wire;

pub use cluster::{CannotEvaluate, CannotReport, Cluster};
pub use http::{Agents, Api, Body, LIMITS};
pub use shared_store::SharedStore;
