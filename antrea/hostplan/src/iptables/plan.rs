//! The `iptables-restore --noflush` text between what is there and what is desired.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::ruleset::{Jump, JumpPlace, Ruleset, Table, TableRules};
use super::saved::{SavedRuleset, SavedTable};

/// Text for `iptables-restore --noflush` that brings Antrea's part of the family to `desired`, or nothing if it is so
/// already. A table that differs is changed in one transaction: Antrea's chains are flushed and refilled, jumps are
/// made to be there exactly once, chains and jumps that are no longer wanted go: all of them with an empty ruleset.
pub fn restore_text(desired: &Ruleset, saved: &SavedRuleset) -> Option<String> {
    let mut text = String::new();
    let (no_rules, nothing_saved) = (TableRules::default(), SavedTable::default());
    for table in Table::ALL {
        let wanted = desired.tables.get(&table).unwrap_or(&no_rules);
        let there = saved.tables.get(&table).unwrap_or(&nothing_saved);
        let lines = table_lines(wanted, there);
        if !lines.is_empty() {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "*{table}\n{}\nCOMMIT", lines.join("\n"));
        }
    }
    (!text.is_empty()).then_some(text)
}

fn table_lines(wanted: &TableRules, there: &SavedTable) -> Vec<String> {
    let wanted_chains: BTreeSet<&str> = wanted.chains.iter().map(|chain| chain.name.as_str()).collect();
    let stale_chains = there.chains.keys().filter(|name| !wanted_chains.contains(name.as_str()));
    let stale_chains: Vec<&String> = stale_chains.collect();
    let refill = !stale_chains.is_empty() || !chains_match(wanted, there);

    let mut lines = Vec::new();
    if refill {
        // A declared chain that exists is flushed.
        lines.extend(wanted_chains.iter().map(|name| format!(":{name} - [0:0]")));
        lines.extend(stale_chains.iter().map(|name| format!(":{name} - [0:0]")));
    }
    lines.extend(jump_lines(wanted, there));
    lines.extend(stale_chains.iter().map(|name| format!("-X {name}")));
    if refill {
        for chain in &wanted.chains {
            lines.extend(chain.rules.iter().map(|rule| format!("-A {} {rule}", chain.name)));
        }
    }
    lines
}

fn chains_match(wanted: &TableRules, there: &SavedTable) -> bool {
    wanted.chains.iter().all(|chain| {
        let rules = chain.rules.iter().map(ToString::to_string);
        there.chains.get(&chain.name).is_some_and(|saved| rules.eq(saved.iter().cloned()))
    })
}

fn jump_lines(wanted: &TableRules, there: &SavedTable) -> Vec<String> {
    let (kept, missing): (Vec<&Jump>, Vec<&Jump>) = wanted.jumps.iter().partition(|jump| stands(jump, there));
    let kept: Vec<String> = kept.into_iter().map(ToString::to_string).collect();
    let mut seen = BTreeSet::new();
    let surplus = there.jumps.iter().filter(|jump| !kept.contains(*jump) || !seen.insert(*jump));
    // `-D` takes the first rule that is equal, so of two equal jumps the later one stays.
    let mut lines: Vec<String> = surplus.map(|jump| format!("-D {jump}")).collect();
    lines.extend(missing.into_iter().map(|jump| match jump.place {
        JumpPlace::Last => format!("-A {jump}"),
        JumpPlace::BeforeKubeProxy => format!("-I {jump}"),
    }));
    lines
}

/// Whether a jump is there, and where it has to be.
fn stands(jump: &Jump, there: &SavedTable) -> bool {
    let text = jump.to_string();
    there.jumps.contains(&text)
        && match jump.place {
            JumpPlace::Last => true,
            JumpPlace::BeforeKubeProxy => !there.behind_kube_proxy.contains(&text),
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iptables::{BuiltinChain, Rule, Target};

    fn desired() -> Ruleset {
        let accept = Rule::new("accept all", Target::Accept);
        let filter = TableRules::default().with(BuiltinChain::Input, vec![accept]);
        Ruleset { tables: [(Table::Filter, filter)].into() }
    }

    fn plan(saved: &str) -> String {
        restore_text(&desired(), &SavedRuleset::parse(saved)).unwrap_or_default()
    }

    #[test]
    fn everything_is_made_where_nothing_is() {
        insta::assert_snapshot!(plan(""), @r#"
        *filter
        :ANTREA-INPUT - [0:0]
        -A INPUT -m comment --comment "Antrea: jump to Antrea input rules" -j ANTREA-INPUT
        -A ANTREA-INPUT -m comment --comment "Antrea: accept all" -j ACCEPT
        COMMIT
        "#);
    }

    #[test]
    fn nothing_is_done_where_all_is_as_desired() {
        assert_eq!(plan(&desired().to_string()), "");
    }

    #[test]
    fn a_jump_that_is_there_twice_goes_once() {
        let jump = "-A INPUT -m comment --comment \"Antrea: jump to Antrea input rules\" -j ANTREA-INPUT\n";
        let twice = desired().to_string().replace(jump, &jump.repeat(2));
        insta::assert_snapshot!(plan(&twice), @r#"
        *filter
        -D INPUT -m comment --comment "Antrea: jump to Antrea input rules" -j ANTREA-INPUT
        COMMIT
        "#);
    }

    #[test]
    fn a_changed_chain_is_refilled_and_its_jump_kept() {
        let changed = desired().to_string().replace("ACCEPT", "DROP");
        insta::assert_snapshot!(plan(&changed), @r#"
        *filter
        :ANTREA-INPUT - [0:0]
        -A ANTREA-INPUT -m comment --comment "Antrea: accept all" -j ACCEPT
        COMMIT
        "#);
    }

    #[test]
    fn a_jump_that_must_be_first_is_inserted_and_moved_before_kube_proxys() {
        let nat = TableRules::default().with_first(BuiltinChain::Output, Vec::new());
        let desired = Ruleset { tables: [(Table::Nat, nat)].into() };
        let plan = |saved: &str| restore_text(&desired, &SavedRuleset::parse(saved)).unwrap_or_default();
        let jump = "OUTPUT -m comment --comment \"Antrea: jump to Antrea output rules\" -j ANTREA-OUTPUT\n";
        let kube = "-A OUTPUT -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\n";
        let chain = "*nat\n:ANTREA-OUTPUT - [0:0]\n";
        assert_eq!(plan(&format!("*nat\n{kube}COMMIT\n")), format!("{chain}-I {jump}COMMIT\n"));
        assert_eq!(plan(&format!("{chain}-A {jump}{kube}COMMIT\n")), "");
        let moved = format!("*nat\n-D {jump}-I {jump}COMMIT\n");
        assert_eq!(plan(&format!("{chain}{kube}-A {jump}COMMIT\n")), moved);
        // In which of its two places it is deleted first does not matter: both go.
        let twice = format!("*nat\n-D {jump}-D {jump}-I {jump}COMMIT\n");
        assert_eq!(plan(&format!("{chain}-A {jump}{kube}-A {jump}COMMIT\n")), twice);
    }

    #[test]
    fn stale_chains_and_jumps_go_and_other_rules_stay() {
        let mut saved = desired().to_string();
        saved.push_str("*nat\n:KUBE-SERVICES - [0:0]\n:ANTREA-OUTPUT - [0:0]\n");
        saved.push_str(
            "-A OUTPUT -j KUBE-SERVICES\n-A OUTPUT -j ANTREA-OUTPUT\n-A ANTREA-OUTPUT -j RETURN\nCOMMIT\n",
        );
        insta::assert_snapshot!(plan(&saved), @r"
        *nat
        :ANTREA-OUTPUT - [0:0]
        -D OUTPUT -j ANTREA-OUTPUT
        -X ANTREA-OUTPUT
        COMMIT
        ");
    }

    #[test]
    fn removal_leaves_nothing_of_antrea() {
        let saved = SavedRuleset::parse(&desired().to_string());
        let text = restore_text(&Ruleset::default(), &saved).unwrap();
        insta::assert_snapshot!(text, @r#"
        *filter
        :ANTREA-INPUT - [0:0]
        -D INPUT -m comment --comment "Antrea: jump to Antrea input rules" -j ANTREA-INPUT
        -X ANTREA-INPUT
        COMMIT
        "#);
    }
}
