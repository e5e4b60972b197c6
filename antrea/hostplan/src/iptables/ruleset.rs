//! The rules of one IP family: tables, Antrea's chains in them, and the jumps into those from built-in chains.

use std::collections::BTreeMap;
use std::fmt;

use super::rule::{Rule, Target};

/// A table, in the order in which a packet meets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    /// Before connection tracking.
    Raw,
    /// Changes to packets and their marks.
    Mangle,
    /// Address translation.
    Nat,
    /// Admission.
    Filter,
}

impl Table {
    /// All of them, in order.
    pub const ALL: [Self; 4] = [Self::Raw, Self::Mangle, Self::Nat, Self::Filter];

    /// The name, as in `iptables -t NAME`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Mangle => "mangle",
            Self::Nat => "nat",
            Self::Filter => "filter",
        }
    }

    /// The table called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.name() == name)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A chain that a hook of the kernel enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BuiltinChain {
    /// All that arrives.
    Prerouting,
    /// What arrives for the Node.
    Input,
    /// What passes through.
    Forward,
    /// What the Node sends.
    Output,
    /// All that leaves.
    Postrouting,
}

impl fmt::Display for BuiltinChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Prerouting => "PREROUTING",
            Self::Input => "INPUT",
            Self::Forward => "FORWARD",
            Self::Output => "OUTPUT",
            Self::Postrouting => "POSTROUTING",
        })
    }
}

/// Where in a built-in chain a jump stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JumpPlace {
    /// At the end when it is made, and anywhere later.
    Last,
    /// At the beginning when it is made, and never behind the jump to kube-proxy's `KUBE-SERVICES`.
    BeforeKubeProxy,
}

/// A rule of a built-in chain that jumps to one of Antrea's, printed as `CHAIN RULE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jump {
    /// The chain that holds the rule.
    pub from: BuiltinChain,
    /// Where it stands there.
    pub place: JumpPlace,
    /// The rule itself.
    pub rule: Rule,
}

impl Jump {
    /// A jump to the chain `ANTREA-FROM`.
    pub fn new(from: BuiltinChain, place: JumpPlace) -> Self {
        // The words that upstream's comments use for the chains.
        let name = match from {
            BuiltinChain::Prerouting => "prerouting",
            BuiltinChain::Input => "input",
            BuiltinChain::Forward => "forwarding",
            BuiltinChain::Output => "output",
            BuiltinChain::Postrouting => "postrouting",
        };
        let target = Target::Jump(Chain::name_for(from));
        Self { from, place, rule: Rule::new(&format!("jump to Antrea {name} rules"), target) }
    }
}

impl fmt::Display for Jump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.from, self.rule)
    }
}

/// One of Antrea's chains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The name, which begins with `ANTREA-`.
    pub name: String,
    /// The rules in order.
    pub rules: Vec<Rule>,
}

impl Chain {
    /// The chain that a built-in chain jumps to.
    pub fn of(from: BuiltinChain, rules: Vec<Rule>) -> Self {
        Self { name: Self::name_for(from), rules }
    }

    fn name_for(from: BuiltinChain) -> String {
        format!("{}{from}", super::CHAIN_PREFIX)
    }
}

/// What Antrea has in one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableRules {
    /// The jumps from built-in chains.
    pub jumps: Vec<Jump>,
    /// Antrea's chains.
    pub chains: Vec<Chain>,
}

impl TableRules {
    /// The table with a chain for a built-in one, and the jump to it.
    pub fn with(self, from: BuiltinChain, rules: Vec<Rule>) -> Self {
        self.with_jump(Jump::new(from, JumpPlace::Last), rules)
    }

    /// The same with the jump before kube-proxy's.
    pub fn with_first(self, from: BuiltinChain, rules: Vec<Rule>) -> Self {
        self.with_jump(Jump::new(from, JumpPlace::BeforeKubeProxy), rules)
    }

    fn with_jump(mut self, jump: Jump, rules: Vec<Rule>) -> Self {
        self.chains.push(Chain::of(jump.from, rules));
        self.jumps.push(jump);
        self
    }
}

/// Everything Antrea has in iptables for one IP family, printed in the syntax of `iptables-save`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ruleset {
    /// By table.
    pub tables: BTreeMap<Table, TableRules>,
}

impl fmt::Display for Ruleset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (table, rules) in &self.tables {
            writeln!(f, "*{table}")?;
            for chain in &rules.chains {
                writeln!(f, ":{} - [0:0]", chain.name)?;
            }
            for jump in &rules.jumps {
                writeln!(f, "-A {jump}")?;
            }
            for chain in &rules.chains {
                for rule in &chain.rules {
                    writeln!(f, "-A {} {rule}", chain.name)?;
                }
            }
            writeln!(f, "COMMIT")?;
        }
        Ok(())
    }
}
