//! Compares IP sets with what `ipset save` prints.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::IpAddr;

use ipnet::IpNet;

use crate::IpSet;

/// The entries of each set in the output of `ipset save`, by name. Sets whose entries are not networks or addresses
/// come without those entries: Antrea's own are all networks.
pub fn parse_ip_set_save(text: &str) -> BTreeMap<String, BTreeSet<IpNet>> {
    let mut sets: BTreeMap<String, BTreeSet<IpNet>> = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some("create"), Some(name), _) => {
                sets.entry(name.to_owned()).or_default();
            }
            (Some("add"), Some(name), Some(entry)) => {
                sets.entry(name.to_owned()).or_default().extend(parse_entry(entry));
            }
            _ => {}
        }
    }
    sets
}

/// `ipset` prints a network of a single address as the address.
fn parse_entry(text: &str) -> Option<IpNet> {
    text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}

/// Text for `ipset restore -exist` that brings the sets to what is desired, or nothing if they are so already.
/// Other people's sets are left alone.
pub fn ip_set_changes(desired: &[IpSet], current: &BTreeMap<String, BTreeSet<IpNet>>) -> Option<String> {
    let none = BTreeSet::new();
    let mut text = String::new();
    for set in desired {
        let there = current.get(&set.name);
        if there.is_none() {
            let _ = writeln!(text, "{}", set.create_line(&set.name));
        }
        let there = there.unwrap_or(&none);
        for added in set.entries.difference(there) {
            let _ = writeln!(text, "add {} {added}", set.name);
        }
        for gone in there.difference(&set.entries) {
            let _ = writeln!(text, "del {} {gone}", set.name);
        }
    }
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use antrea_types::IpFamily;

    use super::*;

    fn check(entries: &[&str], save: &str, expected: &[&str]) {
        let nets: Vec<IpNet> = entries.iter().map(|text| text.parse().unwrap()).collect();
        let set = IpSet::of_nets("ANTREA-POD-IP", IpFamily::V4, &nets);
        let text = ip_set_changes(&[set], &parse_ip_set_save(save)).unwrap_or_default();
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_recorded_sets_need_nothing() {
        let save = include_str!("../tests/golden/ipset-save.txt");
        check(&["10.11.0.0/24", "10.11.1.0/24"], save, &[]);
    }

    #[test]
    fn a_missing_set_is_made() {
        check(
            &["10.11.0.0/24"],
            "create OTHER hash:ip family inet\nadd OTHER 10.0.0.1\n",
            &["create ANTREA-POD-IP hash:net family inet", "add ANTREA-POD-IP 10.11.0.0/24"],
        );
    }

    #[test]
    fn entries_that_came_and_went_are_changed_one_by_one() {
        check(
            &["10.11.0.0/24", "10.11.3.4/32"],
            "create ANTREA-POD-IP hash:net family inet\nadd ANTREA-POD-IP 10.11.2.0/24\nadd ANTREA-POD-IP 10.11.3.4\n",
            &["add ANTREA-POD-IP 10.11.0.0/24", "del ANTREA-POD-IP 10.11.2.0/24"],
        );
    }
}
