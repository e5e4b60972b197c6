//! Whatever happens in whatever order: what was told bit by bit is what an index says that sees only the end.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::world::World;

const NAMESPACES: [&str; 3] = ["x", "y", "z"];
const TEAMS: [&str; 4] = ["", "team=a", "team=b", "team=a env=dev"];
const LABELS: [&str; 6] = ["", "app=a", "app=b", "app=a tier=1", "app=c tier=2", "tier=1"];
const PLACES: [&str; 5] = [
    "",
    "node=n1",
    "node=n2 ip=10.0.0.2",
    "node=n3 ip=10.0.0.1 port=http:80",
    "node=n1 ip=10.0.0.1 ip=fd00::1",
];
const STATES: [&str; 5] = ["", "", "", "phase=Succeeded", "hostNetwork"];
const PODS: [&str; 5] = [
    "",
    "{}",
    "{matchLabels: {app: a}}",
    "{matchExpressions: [{key: app, operator: In, values: [a, b]}]}",
    "{matchExpressions: [{key: app, operator: NotIn, values: [a]}, {key: tier, operator: Exists}]}",
];
const SCOPES: [&str; 5] = [
    "",
    "{}",
    "{matchLabels: {team: a}}",
    "{matchExpressions: [{key: team, operator: DoesNotExist}]}",
    "{matchExpressions: [{key: team, operator: In, values: [a, b]}], matchLabels: {env: dev}}",
];

/// Five numbers are an event: its kind, and what it is about.
type Numbers = (usize, usize, usize, usize, usize);

fn pick<'a>(all: &[&'a str], number: usize) -> &'a str {
    all[number % all.len()]
}

/// An object's key, and the event that makes it what it is.
fn event((kind, who, a, b, c): Numbers) -> (String, String) {
    let namespace = pick(&NAMESPACES, who);
    match kind % 8 {
        0 => (format!("namespace {namespace}"), format!(" {}", pick(&TEAMS, a))),
        1 => (format!("namespace {namespace}"), "gone".into()),
        2 => (format!("pod {namespace}/p{}", a % 4), "gone".into()),
        3..=5 => {
            let words = [pick(&LABELS, b), pick(&PLACES, c), pick(&STATES, b * 7 + c)];
            (format!("pod {namespace}/p{}", a % 4), format!(" {}", words.join(" ").trim()))
        }
        6 => (format!("policy {namespace}/q{}", a % 3), "gone".into()),
        _ => (format!("policy {namespace}/q{}", a % 3), format!(" {}", policy(a, b, c))),
    }
}

fn policy(a: usize, b: usize, c: usize) -> String {
    let field = |name: &str, selector: &str| {
        if selector.is_empty() { String::new() } else { format!("{name}: {selector}, ") }
    };
    let peer = |number: usize| {
        let fields = [
            field("namespaceSelector", pick(&SCOPES, number)),
            field("podSelector", pick(&PODS, number / 5)),
        ];
        format!("{{{}}}", fields.concat())
    };
    let pods = field("podSelector", pick(&PODS, a + 1));
    let ports = if c.is_multiple_of(3) { "ports: [{port: http}]" } else { "" };
    format!("{{{pods} ingress: [{{from: [{}, {}]}}], egress: [{{{ports}}}]}}", peer(b), peer(c))
}

fn line(key: &str, value: &str) -> String {
    if value == "gone" { format!("- {key}") } else { format!("{key}{value}") }
}

/// The end alone: each object that is there, once, in another order.
fn from_scratch(events: &[Numbers]) -> World {
    let mut last: BTreeMap<String, String> = BTreeMap::new();
    last.extend(events.iter().map(|numbers| event(*numbers)));
    let mut world = World::default();
    for (key, value) in last.iter().rev().filter(|(_, value)| *value != "gone") {
        world.event(&line(key, value));
    }
    world.settle();
    world
}

fn numbers() -> impl Strategy<Value = Numbers> {
    (0..8usize, 0..60usize, 0..60usize, 0..60usize, 0..60usize)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn updates_add_up_to_what_is_there(
        events in prop::collection::vec((numbers(), prop::bool::weighted(0.3)), 1..80)
    ) {
        let mut world = World::default();
        for (numbers, settles) in &events {
            let (key, value) = event(*numbers);
            world.event(&line(&key, &value));
            if *settles {
                world.settle();
                prop_assert_eq!(world.told(), world.asked());
            }
        }
        world.settle();
        prop_assert_eq!(world.told(), world.asked());
        prop_assert_eq!(world.settle(), "");
        let events: Vec<Numbers> = events.into_iter().map(|(numbers, _)| numbers).collect();
        let scratch = from_scratch(&events);
        prop_assert_eq!(world.told(), scratch.told());
        prop_assert_eq!(world.pods, scratch.pods);
    }

    #[test]
    fn nothing_is_left_when_everything_is_gone(events in prop::collection::vec(numbers(), 1..60)) {
        let mut world = World::default();
        let keys: Vec<String> = events.iter().map(|numbers| event(*numbers).0).collect();
        for (at, numbers) in events.iter().enumerate() {
            let (key, value) = event(*numbers);
            world.event(&line(&key, &value));
            if at.is_multiple_of(5) {
                world.settle();
            }
        }
        keys.iter().for_each(|key| world.event(&line(key, "gone")));
        world.settle();
        prop_assert_eq!(world.told(), "");
        prop_assert_eq!(world.index.size(), 0);
    }
}
