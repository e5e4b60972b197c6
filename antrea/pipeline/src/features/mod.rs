//! What a Node can do, one module a feature: which tables it needs, and which flows it puts into them.

pub mod multicluster;
pub mod network_policy;
pub mod pod_connectivity;
pub mod root;
pub mod service;
pub mod service_without_proxy;
