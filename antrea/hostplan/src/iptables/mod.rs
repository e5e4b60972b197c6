//! iptables rules as values that print as `iptables-save` prints them, and the `iptables-restore --noflush` text that
//! brings what is there to what is desired.
//!
//! Antrea owns the chains whose names begin with `ANTREA-` and the rules of built-in chains that jump to them. Nothing
//! else is ever touched.

mod plan;
mod rule;
mod ruleset;
mod saved;

pub use plan::restore_text;
pub use rule::{InterfaceIs, Layer4, Match, Port, Rule, SetDirection, SourcePorts, Target};
pub use ruleset::{BuiltinChain, Chain, Jump, JumpPlace, Ruleset, Table, TableRules};
pub use saved::SavedRuleset;

/// What the names of Antrea's chains begin with.
pub const CHAIN_PREFIX: &str = "ANTREA-";
