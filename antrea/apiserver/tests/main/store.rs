//! What watchers are told, as a conversation: lines with `>` are said to the store, the others are what it tells whom.

use std::collections::BTreeMap;
use std::fmt::Write;

use antrea_apiserver::store::{Encoding, Event, Selector, Store, Watch};
use antrea_shared_api::controlplane::v1beta2::GroupMember;
use serde_json::Value;

use crate::objects::{kind, letter, update};

/// An event in short: `MODIFIED g +x/a 10.0.0.1 -x/b`.
pub(crate) fn short(line: &[u8]) -> String {
    let event: Value = serde_json::from_slice(line).unwrap();
    let object = &event["object"];
    let mut text = format!("{} {}", event["type"].as_str().unwrap(), name(object));
    for (field, sign) in [("groupMembers", ""), ("addedGroupMembers", "+"), ("removedGroupMembers", "-")] {
        for member in object[field].as_array().into_iter().flatten() {
            let GroupMember { pod, ips, .. } = serde_json::from_value(member.clone()).unwrap();
            let pod = pod.unwrap();
            let ips: String = ips.iter().map(|ip| format!(" {ip}")).collect();
            write!(text, " {sign}{}/{}{ips}", pod.namespace, pod.name).unwrap();
        }
    }
    text
}

fn name(object: &Value) -> String {
    let metadata = &object["metadata"];
    let name = letter(metadata["name"].as_str().unwrap_or_default());
    match metadata["generation"].as_i64() {
        Some(generation) if generation > 1 => format!("{name} generation {generation}"),
        _ => name,
    }
}

fn told(event: &Event) -> String {
    short(&event.encoded(Encoding::Json).unwrap())
}

#[derive(Default)]
struct Conversation {
    store: Store,
    watches: BTreeMap<String, Watch>,
    text: String,
}

impl Conversation {
    fn say(&mut self, line: &str) {
        writeln!(self.text, "> {line}").unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["watch", name, of, ref selector @ ..] => self.watch(name, of, selector),
            ["unwatch", name] => drop(self.watches.remove(name)),
            _ => self.store.apply(update(line)),
        }
        for (name, watch) in &mut self.watches {
            while let Ok(event) = watch.events.try_recv() {
                writeln!(self.text, "{name}: {}", told(&event)).unwrap();
            }
        }
    }

    fn watch(&mut self, name: &str, of: &str, selector: &[&str]) {
        let mut selected = Selector::default();
        for word in selector {
            match word.split_once('=').unwrap() {
                ("node", node) => selected.node = Some(node.into()),
                (_, name) => {
                    let group = crate::objects::group_name(name).to_string();
                    selected.name = Some(if of == "policy" { name.to_owned() } else { group });
                }
            }
        }
        let mut watch = self.store.watch(kind(of), selected);
        for event in std::mem::take(&mut watch.snapshot) {
            writeln!(self.text, "{name}: {}", told(&event)).unwrap();
        }
        writeln!(self.text, "{name}: BOOKMARK {}", watch.version).unwrap();
        self.watches.insert(name.to_owned(), watch);
    }
}

#[track_caller]
fn check(conversation: &str) {
    let lines = conversation.lines().map(str::trim).filter(|line| !line.is_empty());
    let expected: String = lines.clone().map(|line| format!("{line}\n")).collect();
    let mut held = Conversation::default();
    lines.filter_map(|line| line.strip_prefix("> ")).for_each(|line| held.say(line));
    assert_eq!(held.text, expected, "\n{}", held.text);
}

#[test]
fn a_watcher_gets_what_is_there_a_bookmark_and_changes() {
    check(
        "> watch early policy
         early: BOOKMARK 0
         > policy + b: n1
         early: ADDED b
         > policy + a: n1 n2
         early: ADDED a
         > watch late policy
         late: ADDED a
         late: ADDED b
         late: BOOKMARK 2
         > policy ! a: n1 n2
         early: MODIFIED a generation 2
         late: MODIFIED a generation 2
         > policy - b
         early: DELETED b
         late: DELETED b",
    );
}

#[test]
fn a_node_sees_objects_come_and_go_with_their_span() {
    check(
        "> policy + a: n1
         > watch w1 policy node=n1
         w1: ADDED a
         w1: BOOKMARK 1
         > watch w2 policy node=n2
         w2: BOOKMARK 1
         > watch all policy
         all: ADDED a
         all: BOOKMARK 1
         > policy ~ a: n1 n2
         w2: ADDED a
         > policy ! a: n1 n2
         all: MODIFIED a generation 2
         w1: MODIFIED a generation 2
         w2: MODIFIED a generation 2
         > policy ! a: n2
         all: MODIFIED a generation 2
         w1: DELETED a generation 2
         w2: MODIFIED a generation 2
         > policy ~ a:
         w2: DELETED a
         > policy - a
         all: DELETED a",
    );
}

#[test]
fn address_groups_are_patched_alike_for_all_who_know_them() {
    check(
        "> address + g: n1 n2: +x/a 10.0.0.1, +x/b 10.0.0.2
         > watch w1 address node=n1
         w1: ADDED g x/a 10.0.0.1 x/b 10.0.0.2
         w1: BOOKMARK 1
         > watch w3 address node=n3
         w3: BOOKMARK 1
         > address ~ g: n1 n2: +x/c 10.0.0.3, -x/b 10.0.0.2
         w1: MODIFIED g +x/c 10.0.0.3 -x/b 10.0.0.2
         > address ~ g: n1 n3:
         w3: ADDED g x/a 10.0.0.1 x/c 10.0.0.3
         > address ~ g: n1 n3: +x/a 10.0.0.9, -x/a 10.0.0.1
         w1: MODIFIED g +x/a 10.0.0.9 -x/a 10.0.0.1
         w3: MODIFIED g +x/a 10.0.0.9 -x/a 10.0.0.1
         > watch all address
         all: ADDED g x/a 10.0.0.9 x/c 10.0.0.3
         all: BOOKMARK 4
         > address - g
         all: DELETED g
         w1: DELETED g
         w3: DELETED g",
    );
}

#[test]
fn applied_to_groups_show_each_node_its_own_members() {
    check(
        "> applied + g: n1 n2: +x/a on n1, +x/b on n2, +x/c on n2
         > watch w1 applied node=n1
         w1: ADDED g x/a
         w1: BOOKMARK 1
         > watch w2 applied node=n2
         w2: ADDED g x/b x/c
         w2: BOOKMARK 1
         > watch w3 applied node=n3
         w3: BOOKMARK 1
         > watch all applied
         all: ADDED g x/a x/b x/c
         all: BOOKMARK 1
         > applied ~ g: n1 n2: +x/d on n1
         all: MODIFIED g +x/d
         w1: MODIFIED g +x/d
         > applied ~ g: n1 n2 n3: +x/b on n3, -x/b on n2
         all: MODIFIED g +x/b -x/b
         w2: MODIFIED g -x/b
         w3: ADDED g x/b
         > applied ~ g: n1 n3: -x/c on n2
         all: MODIFIED g -x/c
         w2: DELETED g
         > applied - g
         all: DELETED g
         w1: DELETED g
         w3: DELETED g",
    );
}

#[test]
fn one_object_can_be_watched_by_its_name() {
    check(
        "> policy + a: n1
         > policy + b: n1
         > watch one policy name=b
         one: ADDED b
         one: BOOKMARK 2
         > watch here policy name=b node=n2
         here: BOOKMARK 2
         > watch none policy name=c node=n1
         none: BOOKMARK 2
         > policy ! a: n1 n2
         > policy ! b: n1 n2
         here: ADDED b generation 2
         one: MODIFIED b generation 2
         > policy ~ b: n1
         here: DELETED b
         > policy - b
         one: DELETED b
         > address + g: n1: +x/a 10.0.0.1
         > watch group address name=g
         group: ADDED g x/a 10.0.0.1
         group: BOOKMARK 1
         > address - g
         group: DELETED g",
    );
}

#[test]
fn updates_that_say_nothing_new_are_told_nobody() {
    check(
        "> address + g: n1: +x/a 10.0.0.1
         > applied + h: n1: +x/a on n1
         > watch address address
         address: ADDED g x/a 10.0.0.1
         address: BOOKMARK 1
         > watch applied applied node=n1
         applied: ADDED h x/a
         applied: BOOKMARK 1
         > address ~ g: n1:
         > applied ~ h: n1:
         > policy ! unknown: n1
         > address - i",
    );
}

#[test]
fn an_object_that_takes_the_place_of_another_is_not_the_other() {
    check(
        "> address + g: n1: +x/a 10.0.0.1
         > watch w address node=n1
         w: ADDED g x/a 10.0.0.1
         w: BOOKMARK 1
         > address + g: n1: +x/b 10.0.0.2
         w: DELETED g
         w: ADDED g x/b 10.0.0.2",
    );
}

#[test]
fn many_nodes_are_no_different_from_few() {
    let nodes: String = (0..40).map(|node| format!(" m{node:02}")).collect();
    check(
        &format!(
            "> policy + a:{nodes}
         > policy + b: m07
         > watch w policy node=m07
         w: ADDED a
         w: ADDED b
         w: BOOKMARK 2
         > policy ! a: m07
         w: MODIFIED a generation 2
         > watch v policy node=m08
         v: BOOKMARK 3
         > policy ~ a:{nodes}
         v: ADDED a generation 1
         > watch u policy node=m08
         u: ADDED a
         u: BOOKMARK 4"
        )
        .replace(" generation 1", ""),
    );
}

#[test]
fn whoever_ends_a_watch_is_told_nothing_more() {
    check(
        "> watch a policy
         a: BOOKMARK 0
         > watch b policy node=n1
         b: BOOKMARK 0
         > unwatch a
         > policy + p: n1
         b: ADDED p
         > unwatch b
         > policy - p",
    );
}
