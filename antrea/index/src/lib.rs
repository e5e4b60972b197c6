//! Kubernetes objects in, computed policies and groups out.
//!
//! Namespaces, Pods and NetworkPolicies go in by `apply_*` and `delete_*`, in any order. [`Index::settle`] then tells
//! what changed since the last time: for each policy and group at most one [`Update`](antrea_policy::Update), and none
//! for what is as it was. What is asked in between (`policy`, `address_group`, `endpoint`, …) is answered as of the last
//! `settle`.
//!
//! Work is proportional to what changes. Nothing connects a group with each of its members: Pods of a Namespace with
//! equal labels are one *class*, groups and classes are found by a label that they have in common, and the members
//! of a group are put together when somebody has to be told of them.

mod cluster;
mod compile;
mod intern;
mod parse;
mod problem;
mod query;
mod settle;
mod work;

pub use cluster::Kind;
pub use parse::pod::CONFIG_HASH;
pub use problem::Problem;
pub use query::{Endpoint, RuleRef};
pub use work::Work;

use cluster::groups::Groups;
use cluster::namespaces::Namespaces;
use cluster::pods::Pods;
use cluster::policies::Policies;
use intern::selectors::Selectors;
use intern::vocabulary::Vocabulary;
use work::Counter;

/// The policy-relevant state of a cluster.
#[derive(Debug, Default)]
pub struct Index {
    vocabulary: Vocabulary,
    selectors: Selectors,
    namespaces: Namespaces,
    pods: Pods,
    groups: Groups,
    policies: Policies,
    counter: Counter,
}
