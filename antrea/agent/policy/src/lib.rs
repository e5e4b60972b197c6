//! Policies on a Node, as decisions: from what the controller sends to rules that know their members. Pure: no client, no
//! switch, no file, no clock.
//!
//! [`RuleCache`] takes the events of three watches (NetworkPolicies, AddressGroups, AppliedToGroups), which are independent
//! of each other, and says which rules have changed; a [`CompletedRule`] is a rule with the members of its groups. What
//! has to be stored, so that an agent that starts while the controller is away knows it, are [`FileChange`]s.

mod cache;
mod completed;
mod event;
mod groups;
mod initial;
mod rule;
mod stored;

pub use cache::RuleCache;
pub use completed::CompletedRule;
pub use event::{PolicyEvent, Refused, Watch};
pub use rule::{Rule, RuleId};
pub use stored::{FileChange, FileName, StoredObject};
