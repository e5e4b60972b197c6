//! `antctl check`: tests of a cluster or of an installation, by Pods that it makes and removes.
//!
//! What to ask (`questions`, `manifests`) and what answers mean (`judge`) are functions on values; clients and sockets
//! are in `test_namespace`, `test_pods`, `probe/ask` and `probe/serve`. No test runs a command in a Pod: what a Pod has
//! to do stands in its manifest, and it says what came out in its log.

mod cluster;
mod installation;
mod pod_spec;
mod probe;
mod test_namespace;
mod test_pods;
mod verdict;

pub(crate) use cluster::{check as cluster, print_node_facts};
pub(crate) use installation::check as installation;
pub(crate) use probe::ask::ask;
pub(crate) use probe::serve::serve;
