//! Reads what `iptables-save` prints, as far as Antrea owns it.

use std::collections::BTreeMap;

use super::{CHAIN_PREFIX, Table};

/// Antrea's part of the output of `iptables-save`. The default is a family in which Antrea has nothing yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedRuleset {
    pub(super) tables: BTreeMap<Table, SavedTable>,
}

/// Antrea's part of one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SavedTable {
    /// Rules of other chains that jump to one of Antrea's, as `CHAIN RULE`, in order.
    pub(super) jumps: Vec<String>,
    /// Antrea's chains with their rules in order.
    pub(super) chains: BTreeMap<String, Vec<String>>,
}

impl SavedRuleset {
    /// Reads the output of `iptables-save`. What is not Antrea's, and what cannot be read, is left out: it is not
    /// Antrea's to change.
    pub fn parse(text: &str) -> Self {
        let mut saved = Self::default();
        let mut table = None;
        for line in text.lines() {
            if let Some(name) = line.strip_prefix('*') {
                table = Table::named(name);
            } else if let Some(table) = table {
                saved.tables.entry(table).or_default().read_line(line);
            }
        }
        saved.tables.retain(|_, table| *table != SavedTable::default());
        saved
    }
}

impl SavedTable {
    fn read_line(&mut self, line: &str) {
        if let Some(declaration) = line.strip_prefix(':') {
            let name = declaration.split(' ').next().unwrap_or_default();
            if name.starts_with(CHAIN_PREFIX) {
                self.chains.entry(name.to_owned()).or_default();
            }
        } else if let Some((chain, rule)) = line.strip_prefix("-A ").and_then(|rest| rest.split_once(' ')) {
            if chain.starts_with(CHAIN_PREFIX) {
                self.chains.entry(chain.to_owned()).or_default().push(normalize(rule));
            } else if jumps_to_antrea(rule) {
                self.jumps.push(format!("{chain} {rule}"));
            }
        }
    }
}

/// Newer versions print NOTRACK as the target that took its place.
fn normalize(rule: &str) -> String {
    rule.replace("-j CT --notrack", "-j NOTRACK")
}

fn jumps_to_antrea(rule: &str) -> bool {
    let target = rule.strip_prefix("-j ").or_else(|| rule.rsplit_once(" -j ").map(|(_, target)| target));
    target.is_some_and(|target| target.starts_with(CHAIN_PREFIX))
}
