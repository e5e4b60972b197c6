//! Kubernetes objects → small values with what the index needs of them. A field that cannot be used is a
//! [`Problem`](crate::Problem), never a failure, and never opens anything.

pub(crate) mod namespace;
pub(crate) mod network_policy;
pub(crate) mod peer;
pub(crate) mod pod;
mod port;
pub(crate) mod selector;
