//! Which connection gives way, as scripts: `a1` is the first connection from host a, `lo1` one of this machine.

use std::collections::BTreeMap;

use super::*;
use crate::auth::{Identity, User};

const SLOTS: Slots = Slots { handshakes: 4, anonymous: 4, admitted: 3, loopback: 2 };

/// One source may have six handshakes and six anonymous connections.
const MANY: Slots = Slots { handshakes: 12, anonymous: 12, ..SLOTS };

/// Runs steps and returns who gave way, in order. With TLS: `connect a1`, `hello a1` (the ClientHello), `finish a1` (the handshake).
/// Without TLS: `open a1`. Then `admit a1`, `begin a1` and `end a1` (a request), `close a1`.
fn run(slots: Slots, script: &str) -> Vec<String> {
    let mut table = Table::new(slots);
    let mut numbers = BTreeMap::new();
    let mut gone = Vec::new();
    for step in script.split([',', '\n']).map(str::trim).filter(|step| !step.is_empty()) {
        let (verb, name) = step.split_once(' ').unwrap();
        let source = source(name);
        let opened = |standing, table: &mut Table<String>| table.open(source, standing, name.to_owned());
        let number = |numbers: &BTreeMap<String, Number>| numbers[name];
        let gave_way = match verb {
            "open" | "connect" => {
                let standing = if verb == "open" { Standing::Anonymous } else { Standing::Handshake };
                let (number, gave_way) = opened(standing, &mut table);
                numbers.insert(name.to_owned(), number);
                gave_way
            }
            "hello" => (table.begin_handshake(number(&numbers)), None).1,
            "finish" => table.finish_handshake(number(&numbers)),
            "admit" => table.admit(number(&numbers), Some(&holder(name))),
            "begin" => (table.begin_request(number(&numbers)), None).1,
            "end" => (table.end_request(number(&numbers)), None).1,
            "close" => (table.close(number(&numbers)), None).1,
            _ => panic!("{step}"),
        };
        gone.extend(gave_way);
        let connections = table.kinds.iter().map(|kind| kind.connections.len()).sum::<usize>();
        assert_eq!(connections, table.places.len(), "after {step}");
        for kind in &table.kinds {
            assert!(kind.connections.len() <= kind.most, "after {step}");
            assert_eq!(kind.by_sharer.values().sum::<usize>(), kind.connections.len(), "after {step}");
        }
    }
    gone
}

/// All connections of one host have the same holder.
fn holder(name: &str) -> Arc<Holder> {
    let host = match source(name) {
        Source::Host(address) => Some(address),
        _ => None,
    };
    let user = Arc::new(User { name: "agent".to_owned(), ..User::default() });
    Arc::new(Holder::of(&Identity::User(user), host))
}

fn source(name: &str) -> Source {
    match name.as_bytes() {
        [b'l', b'o', ..] => Source::Loopback,
        [host, ..] => Source::of(Ipv4Addr::new(10, 0, 0, *host).into()),
        [] => panic!("no name"),
    }
}

#[track_caller]
fn check(script: &str, gave_way: &str) {
    check_among(SLOTS, script, gave_way);
}

#[track_caller]
fn check_among(slots: Slots, script: &str, gave_way: &str) {
    assert_eq!(run(slots, script).join(" "), gave_way, "{script}");
}

#[test]
fn nobody_gives_way_while_there_is_room() {
    check("open a1, open a2, open b1, open c1", "");
    check("open a1, open a2, close a1, open a3, close a2, open a4", "");
}

#[test]
fn a_source_with_its_share_gives_up_its_own() {
    check("open a1, open a2, open a3", "a1");
    check("connect a1, connect a2, connect a3, connect a4", "a1 a2");
}

#[test]
fn the_source_with_the_most_gives_way_to_others() {
    check("open b1, open a1, open a2, open c1, open d1", "a1");
    check("open a1, open b1, open c1, open d1, open e1", "a1");
}

#[test]
fn idle_connections_give_way_first_and_the_oldest_of_them() {
    check("open a1, open a2, begin a2, end a2, open a3", "a2");
    check("open a1, begin a1, end a1, open a2, begin a2, end a2, open a3", "a1");
    check("open a1, begin a1, end a1, begin a1, open a2, begin a2, end a2, open a3", "a2");
}

/// `verb a1,verb a2,…,`
fn each(numbers: std::ops::RangeInclusive<usize>, verb: &str) -> String {
    numbers.map(|number| format!("{verb} a{number},")).collect()
}

#[test]
fn a_silent_connection_gives_way_when_both_groups_are_equal() {
    check("open a1, open a2, begin a1, open a3", "a2");
    check("open a1, begin a1, open a2, open a3", "a2");
}

#[test]
fn the_larger_of_the_silent_and_busy_groups_loses_its_oldest() {
    check("open a1, open a2, begin a1, begin a2, open a3", "a1");
    let busy = each(1..=6, "open") + &each(1..=6, "begin");
    check_among(MANY, &format!("{busy} {}", each(7..=11, "open")), "a1 a2 a3 a7 a8");
    check_among(MANY, &format!("{busy} {} begin a9, open a10", each(7..=9, "open")), "a1 a2 a3 a4");
}

#[test]
fn a_client_that_has_just_come_stays_among_busy_ones_and_a_request_among_silent_ones() {
    let busy = each(1..=6, "open") + &each(1..=6, "begin");
    check_among(MANY, &format!("{busy} open a7, open a8, open a9, begin a7"), "a1 a2 a3");
    let silent = each(2..=9, "open");
    check_among(MANY, &format!("open a1, begin a1, {silent}"), "a2 a3 a4");
}

#[test]
fn a_handshake_under_way_does_not_give_way_to_silent_connections() {
    let silent = each(2..=10, "connect");
    check_among(MANY, &format!("connect a1, hello a1, {silent}"), "a2 a3 a4 a5");
}

#[test]
fn the_wait_for_a_first_request_begins_when_the_handshake_ends() {
    let late = "connect a1, open a2, open a3, open a4, open a5, open a6, finish a1, open a7, open a8";
    check_among(MANY, late, "a2 a3");
}

#[test]
fn a_connection_is_silent_between_its_handshake_and_its_first_request() {
    let known =
        "connect a1, hello a1, finish a1, open a2, begin a2, open a3, begin a3, open a4, open a5, open a6";
    check_among(MANY, &format!("{known}, open a7"), "a1");
}

#[test]
fn a_connection_does_not_become_younger_by_asking_again() {
    let busy = each(1..=6, "open") + &each(1..=6, "begin");
    let again = each(1..=5, "end") + &each(1..=5, "begin");
    check_among(MANY, &format!("{busy} {again} open a7"), "a1");
}

#[test]
fn handshakes_take_no_slot_of_those_who_ended_theirs() {
    check("connect a1, finish a1, connect a2, finish a2, connect a3, connect a4, connect a5", "a3");
}

#[test]
fn an_admitted_client_never_gives_way_to_others_than_admitted_ones() {
    let crowd = (1..=9).map(|number| format!("open a{number}")).collect::<Vec<_>>().join(",");
    check(&format!("open a0, admit a0, {crowd}"), "a1 a2 a3 a4 a5 a6 a7");
    check("open a0, admit a0, open a1, open a2, open b1, open b2, open c1, open d1, open e1", "a1 b1 a2");
}

#[test]
fn a_source_may_have_all_slots_of_admitted_clients_until_others_come() {
    check("open a1, admit a1, open a2, admit a2, open a3, admit a3", "");
    check("open a1, admit a1, open a2, admit a2, open a3, admit a3, begin a1, open b1, admit b1", "a2");
}

#[test]
fn a_holder_with_its_share_of_admitted_connections_gives_up_its_own() {
    let mut table = Table::new(Slots { admitted: 8192, ..SLOTS });
    let mut admit = |name: &'static str| {
        let (number, _) = table.open(source(name), Standing::Anonymous, name);
        table.admit(number, (name != "server").then(|| holder(name)).as_ref())
    };
    assert_eq!([admit("b1"), admit("a1")], [None; 2]);
    for _ in 1..ADMITTED_OF_ONE_HOLDER {
        assert_eq!(admit("a2"), None);
    }
    assert_eq!([admit("a3"), admit("b2")], [Some("a1"), None]);
    for _ in 0..100 {
        assert_eq!(admit("server"), None, "it brings requests of many");
    }
}

#[test]
fn a_client_behind_the_address_of_a_crowd_is_let_in_and_stays() {
    check("open a1, open a2, open a3, begin a3, admit a3, open a4, open a5, open a6", "a1 a2 a4");
}

#[test]
fn clients_of_this_machine_have_slots_of_their_own() {
    check("open a1, open a2, open b1, open b2, connect lo1, finish lo1, begin lo1, open lo2", "");
    check("connect lo1, finish lo1, begin lo1, open lo2, open lo3", "lo2");
}

#[test]
fn what_is_gone_is_neither_promoted_nor_marked() {
    check("open a1, open a2, open a3, admit a1, begin a1, end a1, close a1, open a4", "a1 a2");
}

#[test]
fn a_host_is_an_ipv4_address_or_a_prefix_of_64_bits() {
    let source = |text: &str| Source::of(text.parse::<IpAddr>().unwrap());
    assert_eq!(source("::ffff:10.0.0.1"), source("10.0.0.1"));
    assert_ne!(source("10.0.0.1"), source("10.0.0.2"));
    assert_eq!(source("fd00:1::1"), source("fd00:1::ffff:2"));
    assert_ne!(source("fd00:1::1"), source("fd00:1:0:1::1"));
    assert_eq!([source("127.0.0.1"), source("::1"), source("::ffff:127.0.0.1")], [Source::Loopback; 3]);
}
