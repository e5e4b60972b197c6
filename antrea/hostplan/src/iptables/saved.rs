//! Reads what `iptables-save` prints, as far as Antrea owns it.

use std::collections::{BTreeMap, BTreeSet};

use super::{CHAIN_PREFIX, Table};

/// What kube-proxy's rules of the built-in chains jump to first.
const KUBE_PROXY_JUMP: &str = "-j KUBE-SERVICES";

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
    /// Those of them that stand behind kube-proxy's jump.
    pub(super) behind_kube_proxy: BTreeSet<String>,
    /// The chains of which kube-proxy's jump was read.
    kube_proxy_chains: BTreeSet<String>,
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
        saved.tables.retain(|_, table| !table.jumps.is_empty() || !table.chains.is_empty());
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
                let jump = format!("{chain} {rule}");
                if self.kube_proxy_chains.contains(chain) {
                    self.behind_kube_proxy.insert(jump.clone());
                }
                self.jumps.push(jump);
            } else if rule.ends_with(KUBE_PROXY_JUMP) {
                self.kube_proxy_chains.insert(chain.to_owned());
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
