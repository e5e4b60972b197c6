//! Policies on a Node, as decisions: from what the controller sends to what the switch admits. Pure: no client, no switch, no
//! file, no clock.
//!
//! [`RuleCache`] takes the events of three watches (NetworkPolicies, AddressGroups, AppliedToGroups), which are independent
//! of each other, and says which rules have changed; a [`CompletedRule`] is a rule with the members of its groups. What
//! has to be stored, so that an agent that starts while the controller is away knows it, are [`FileChange`]s.
//!
//! [`Reconciler`] makes of these rules and of the Pods of this Node what the pipeline's `PolicyFlows` has to change, each rule
//! with a number of [`ConjunctionIds`]. It knows whose rule a number is, and how far each policy is. [`Statistics`] is what
//! those numbers have let through, by policy.

mod cache;
mod completed;
mod conjunction_ids;
mod event;
mod groups;
mod numbers;
mod plan;
mod problem;
mod reconciler;
mod rule;
mod services;
mod shape;
mod statistics;
mod status;
mod stored;
mod stream;
mod unknown;

pub use cache::RuleCache;
pub use completed::CompletedRule;
pub use conjunction_ids::{Confirmed, ConjunctionIds};
pub use event::{PolicyEvent, Refused, Watch};
pub use problem::Problem;
pub use reconciler::{Batch, Reconciler, RuleName};
pub use rule::{Rule, RuleId};
pub use statistics::{Counted, Statistics, Traffic};
pub use status::{PolicyStatus, Realization};
pub use stored::{FileChange, FileName, StoredObject};
