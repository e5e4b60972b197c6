//! What watchers are told, as a conversation: lines with `>` are said to the store, the others are what it tells whom.

use std::collections::BTreeMap;
use std::fmt::Write;

use antrea_apiserver::store::{Encoding, Event, Rounds, Selector, Store, Watch};
use antrea_shared_api::controlplane::Round;
use antrea_shared_api::controlplane::v1beta2::GroupMember;
use serde_json::Value;

use crate::objects::{kind, letter, update};

/// An event in short: `MODIFIED g +x/a 10.0.0.1 -x/b`.
pub(crate) fn short(line: &[u8]) -> String {
    let event: Value = serde_json::from_slice(line).unwrap();
    let object = &event["object"];
    if event["type"] == "BOOKMARK" {
        let metadata = serde_json::from_value(object["metadata"].clone()).unwrap();
        return format!("BOOKMARK{}", round(Round::of(&metadata)));
    }
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

/// ` round 3 pods a b`
fn round(round: Option<Round>) -> String {
    let Some(Round { number, pods }) = round else { return String::new() };
    let pods = pods.map(|pods| [vec![" pods".to_owned()], pods].concat().join(" ")).unwrap_or_default();
    format!(" round {number}{pods}")
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
            ["end"] => self.store.end_round(),
            _ => self.store.apply(update(line)),
        }
        for (name, watch) in &mut self.watches {
            while let Some(event) = watch.events.next_waiting() {
                writeln!(self.text, "{name}: {}", told(&event)).unwrap();
            }
        }
    }

    fn watch(&mut self, name: &str, of: &str, selector: &[&str]) {
        let (mut selected, mut rounds) = (Selector::default(), Rounds::Untold);
        for word in selector {
            match word.split_once('=').unwrap() {
                ("rounds", _) => rounds = Rounds::Told,
                ("node", node) => selected.node = Some(node.into()),
                (_, name) => {
                    let group = crate::objects::group_name(name).to_string();
                    selected.name = Some(if of == "policy" { name.to_owned() } else { group });
                }
            }
        }
        let mut watch = self.store.watch(kind(of), selected, rounds);
        for event in std::mem::take(&mut watch.snapshot) {
            writeln!(self.text, "{name}: {}", told(&event)).unwrap();
        }
        writeln!(self.text, "{name}: BOOKMARK {}{}", watch.version, round(watch.round.take())).unwrap();
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

#[test]
fn a_node_is_told_in_all_its_watches_where_a_round_ends_that_concerns_it() {
    check(
        "> watch p1 policy node=n1 rounds=told
         p1: BOOKMARK 0 round 0
         > watch a1 address node=n1 rounds=told
         a1: BOOKMARK 0 round 0
         p1: BOOKMARK round 0
         > watch t1 applied node=n1 rounds=told
         t1: BOOKMARK 0 round 0 pods
         a1: BOOKMARK round 0
         p1: BOOKMARK round 0
         > watch p2 policy node=n2 rounds=told
         p2: BOOKMARK 0 round 0
         > watch q1 policy node=n1
         q1: BOOKMARK 0
         > watch all policy rounds=told
         all: BOOKMARK 0
         > policy + a: n1
         all: ADDED a
         p1: ADDED a
         q1: ADDED a
         > address + g: n1: +x/a 10.0.0.1
         a1: ADDED g x/a 10.0.0.1
         > end
         a1: BOOKMARK round 1
         p1: BOOKMARK round 1
         t1: BOOKMARK round 1
         > end
         > policy ~ a: n1 n2
         p2: ADDED a
         > end
         p2: BOOKMARK round 3",
    );
}

#[test]
fn a_node_is_told_which_pods_of_its_are_known() {
    check(
        "> pods + n1: u1 u2
         > end
         > watch t1 applied node=n1 rounds=told
         t1: BOOKMARK 0 round 1 pods u1 u2
         > pods - n1: u1
         > pods + n2: u4
         > end
         > pods + n1: u3
         > end
         t1: BOOKMARK round 3 pods u2 u3",
    );
}
