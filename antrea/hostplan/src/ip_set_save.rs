//! Compares IP sets with what `ipset save` prints.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::IpAddr;

use antrea_types::Protocol;

use crate::{IpSet, IpSetContent, IpSetEntry, IpSetKind};

/// The entries of each set in the output of `ipset save`, by name. Sets of kinds that Antrea has none of come without
/// entries.
pub fn parse_ip_set_save(text: &str) -> BTreeMap<String, BTreeSet<IpSetEntry>> {
    let mut sets: BTreeMap<String, BTreeSet<IpSetEntry>> = BTreeMap::new();
    let mut kinds = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some("create"), Some(name), Some(kind)) => {
                sets.entry(name.to_owned()).or_default();
                kinds.insert(name, IpSetKind::named(kind));
            }
            (Some("add"), Some(name), Some(entry)) => {
                let entry = kinds.get(name).copied().flatten().and_then(|kind| parse_entry(kind, entry));
                sets.entry(name.to_owned()).or_default().extend(entry);
            }
            _ => {}
        }
    }
    sets
}

fn parse_entry(kind: IpSetKind, text: &str) -> Option<IpSetEntry> {
    match kind {
        // `ipset` prints a network of a single address as the address.
        IpSetKind::HashNet => {
            let net = text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(Into::into));
            net.map(IpSetEntry::Net)
        }
        IpSetKind::HashIp => text.parse().ok().map(IpSetEntry::Ip),
        IpSetKind::HashIpPort => {
            let (ip, rest) = text.split_once(',')?;
            let (protocol, port) = rest.split_once(':')?;
            let protocol: Protocol = protocol.to_ascii_uppercase().parse().ok()?;
            Some(IpSetEntry::IpPort(ip.parse().ok()?, protocol, port.parse().ok()?))
        }
    }
}

/// Text for `ipset restore -exist` that brings the sets to what is desired, or nothing if they are so already.
/// Other people's sets are left alone.
pub fn ip_set_changes(desired: &[IpSet], current: &BTreeMap<String, BTreeSet<IpSetEntry>>) -> Option<String> {
    let none = BTreeSet::new();
    let mut text = String::new();
    for set in desired {
        let there = current.get(&set.name);
        if there.is_none() {
            let _ = writeln!(text, "{}", set.create_line(&set.name));
        }
        if let IpSetContent::Exactly(entries) = &set.content {
            change_entries(&set.name, entries, there.unwrap_or(&none), &mut text);
        }
    }
    (!text.is_empty()).then_some(text)
}

/// Text for `ipset restore -exist` that takes sets from what was desired `before`, and was reached, to what is desired
/// now; nothing if that is the same. It is as long as the difference.
pub fn ip_set_updates(before: &[IpSet], desired: &[IpSet]) -> Option<String> {
    let mut text = String::new();
    for set in desired {
        let there = before.iter().find(|there| there.name == set.name).map(|there| &there.content);
        match (there, &set.content) {
            (Some(IpSetContent::Exactly(there)), IpSetContent::Exactly(entries)) => {
                change_entries(&set.name, entries, there, &mut text);
            }
            (Some(IpSetContent::AsItIs) | None, IpSetContent::Exactly(entries)) => {
                set.replace(entries, &mut text);
            }
            (Some(_), IpSetContent::AsItIs) => {}
            (None, IpSetContent::AsItIs) => {
                let _ = writeln!(text, "{}", set.create_line(&set.name));
            }
        }
    }
    (!text.is_empty()).then_some(text)
}

fn change_entries(
    name: &str,
    desired: &BTreeSet<IpSetEntry>,
    there: &BTreeSet<IpSetEntry>,
    text: &mut String,
) {
    for added in desired.difference(there) {
        let _ = writeln!(text, "add {name} {added}");
    }
    for gone in there.difference(desired) {
        let _ = writeln!(text, "del {name} {gone}");
    }
}

#[cfg(test)]
mod tests {
    use antrea_types::IpFamily;
    use ipnet::IpNet;

    use super::*;

    fn set(entries: &[&str]) -> IpSet {
        let nets: Vec<IpNet> = entries.iter().map(|text| text.parse().unwrap()).collect();
        IpSet::of_nets("ANTREA-POD-IP", IpFamily::V4, &nets)
    }

    #[track_caller]
    fn check(entries: &[&str], save: &str, expected: &[&str]) {
        let text = ip_set_changes(&[set(entries)], &parse_ip_set_save(save)).unwrap_or_default();
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
            "create OTHER hash:mac\nadd OTHER 02:00:00:00:00:01\n",
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

    #[test]
    fn an_update_says_what_came_and_what_went_and_makes_what_was_unknown_anew() {
        let check = |before: &[IpSet], desired: &[IpSet], expected: &str| {
            assert_eq!(ip_set_updates(before, desired).unwrap_or_default(), expected);
        };
        let as_it_is = IpSet { content: IpSetContent::AsItIs, ..set(&[]) };
        check(
            &[set(&["10.1.0.0/16", "10.2.0.0/16"])],
            &[set(&["10.2.0.0/16", "10.3.0.0/16"])],
            "add ANTREA-POD-IP 10.3.0.0/16\ndel ANTREA-POD-IP 10.1.0.0/16\n",
        );
        check(&[set(&["10.1.0.0/16"])], &[set(&["10.1.0.0/16"])], "");
        check(&[set(&["10.1.0.0/16"])], std::slice::from_ref(&as_it_is), "");
        check(&[], std::slice::from_ref(&as_it_is), "create ANTREA-POD-IP hash:net family inet\n");
        let anew = [set(&["10.1.0.0/16"])];
        check(&[as_it_is], &anew, &crate::replace_ip_sets(&anew));
    }

    #[test]
    fn entries_are_read_as_they_are_written() {
        for (kind, entry) in [
            ("hash:ip", "192.0.2.80"),
            ("hash:ip", "fd00::80"),
            ("hash:ip,port", "127.0.0.1,tcp:30080"),
            ("hash:ip,port", "fd00::1,sctp:30080"),
            ("hash:ip,port", "172.18.2.11,udp:30081"),
            ("hash:net", "10.11.0.0/24"),
        ] {
            let sets = parse_ip_set_save(&format!("create S {kind} family inet\nadd S {entry}\n"));
            let entries: Vec<_> = sets.values().flatten().map(ToString::to_string).collect();
            assert_eq!(entries, [entry], "{kind}");
        }
    }
}
