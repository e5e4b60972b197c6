//! How much the leader does before others of the process have a turn.

use serde_json::Value;

use super::imports::web;
use super::world::World;

/// So many Services of a Namespace.
fn services(namespace: &str, number: usize) -> String {
    services_of("east", namespace, number)
}

/// The same of this cluster.
fn services_of(cluster: &str, namespace: &str, number: usize) -> String {
    let service = |number: usize| {
        web(cluster, 80, "10.100.0.1", 1)
            .replace("-shop-web-", &format!("-{namespace}-web-{number}-"))
            .replace("name: web, namespace: shop", &format!("name: web-{number}, namespace: {namespace}"))
    };
    (0..number).map(service).collect()
}

/// What the leader does until nothing is left to do, never too much of it at a time, and nothing before it has merged so
/// many resources.
fn in_turns(world: &mut World, merged_first: usize) -> String {
    let (mut text, mut merges) = (String::new(), 0);
    loop {
        let turn = world.turn();
        merges += turn.merges;
        assert!(turn.merges <= 256 && turn.tasks <= 256, "{} merges, {} tasks", turn.merges, turn.tasks);
        assert!(turn.tasks == 0 || merges >= merged_first, "{} tasks after {merges} merges", turn.tasks);
        text += &turn.text;
        if turn.is_last {
            return text;
        }
    }
}

#[test]
fn no_turn_merges_or_plans_more_than_256() {
    let mut world = World::of(&services("shop", 1000));
    let text = in_turns(&mut world, 2000);
    assert_eq!(text.matches("create ResourceImport ").count(), 2000);
    world.list_anew();
    assert_eq!(in_turns(&mut world, 0), "");
    world.restart();
    assert_eq!(in_turns(&mut world, 2000), "", "nothing is withdrawn while it is not merged yet");
}

#[test]
fn what_was_not_merged_yet_is_not_withdrawn() {
    // Of one Namespace the imports come first by name, of the other one the Services.
    let mut before = World::of(&(services("b", 200) + &services("b-0", 200)));
    in_turns(&mut before, 800);
    let mut world = World::of("");
    assert_eq!(world.actions(), "");
    for kind in ["ResourceExport", "ResourceImport"] {
        for object in before.all::<Value>(kind) {
            world.apply(&object.to_string());
        }
    }
    assert_eq!(in_turns(&mut world, 0), "");
    world.delete("ResourceExport", "east-b-web-7-service");
    world.delete("ResourceExport", "east-b-web-7-endpoints");
    assert_eq!(in_turns(&mut world, 0).matches("delete ResourceImport b-web-7-").count(), 2);
}

#[test]
fn the_endpoints_of_a_service_are_merged_in_its_turn() {
    let mut world = World::of(&services("shop", 300));
    in_turns(&mut world, 600);
    world.apply(&services("shop", 300).replace("port: 80", "port: 81"));
    let text = world.turn().text;
    for line in text.lines().filter(|line| line.starts_with("change ResourceImport ")) {
        let service =
            line.split(' ').nth(2).unwrap().trim_end_matches("-service").trim_end_matches("-endpoints");
        let both = ["service", "endpoints"].map(|kind| format!("change ResourceImport {service}-{kind} "));
        assert!(both.iter().all(|change| text.contains(change)), "{service} in\n{text}");
    }
}

/// The Services of two Namespaces, of which the one that comes first by the names of exports is merged last.
fn exported(cluster: &str, generation: u8, affinity: &str, since: &str) -> String {
    let services = services_of(cluster, "b", 150) + &services_of(cluster, "b-0", 150);
    let origin = format!("origin: {{creationTimestamp: '2026-11-21T{since}Z', type: ClusterSetIP}}");
    services
        .replace("generation: 1", &format!("generation: {generation}"))
        .replace("serviceSpec: {", &format!("{origin}, serviceSpec: {{sessionAffinity: {affinity}, "))
}

#[test]
fn an_exporter_is_not_answered_before_its_export_was_merged() {
    let mut world =
        World::of(&(exported("east", 1, "None", "08:00:00") + &exported("west", 1, "None", "09:00:00")));
    in_turns(&mut world, 600);
    let answers = |world: &mut World| {
        let text = in_turns(world, 0);
        let answers =
            text.lines().filter(|line| line.starts_with("tell west-") && line.contains("-service: "));
        let answers: Vec<String> = answers.map(str::to_owned).collect();
        for answer in &answers {
            assert!(answer.contains("Conflict=True "), "{answer}");
        }
        answers.len()
    };
    world.apply(&exported("west", 2, "ClientIP", "09:00:00"));
    assert_eq!(answers(&mut world), 300);
    world.apply(&exported("west", 3, "ClientIP", "10:00:00"));
    assert_eq!(answers(&mut world), 300, "that this changes nothing is an answer, too");
}
