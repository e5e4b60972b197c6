//! While something changes: what was denied before and is denied afterwards passes at no time.

use std::collections::BTreeMap;
use std::ops::Range;

use antrea_policy_reference::{BadObjects, Event, Options, mixed};

use crate::arrival::{Step, in_random_order};
use crate::fault;
use crate::lab::Lab;
use crate::outcome::Outcome;
use crate::packets::Packet;
use crate::property::seeds;
use crate::trial::Trial;

/// Clusters, each reached from the one before.
const SEEDS: Range<u64> = 0..12;

/// One in so many changes is looked at with so many questions.
const LOOKS: u64 = 2;
const QUESTIONS: u64 = 12;

/// One change, and somebody looks whenever a watch of an agent has been followed. Returns how often packets were sent, and
/// a description of each that passed.
fn change(trial: &mut Trial<'_>, seed: u64, event: &Event) -> (usize, Vec<String>) {
    let questions =
        if seed.is_multiple_of(LOOKS) { trial.some_questions(seed, QUESTIONS) } else { Vec::new() };
    let denied = |trial: &Trial<'_>| {
        let packets = trial.answers(&questions).into_iter().flat_map(|answer| trial.packets(&answer));
        let denied = packets.filter(|packet| is_denied(&packet.expected));
        denied.map(|packet| (packet.text.clone(), packet)).collect::<BTreeMap<String, Packet>>()
    };
    let before = denied(trial);
    trial.step(&Step::Event(Box::new(event.clone())));
    let mut both = denied(trial);
    both.retain(|text, packet| before.get(text).is_some_and(|before| before.expected == packet.expected));
    let (mut sent, mut passed) = (0, Vec::new());
    trial.settle_slowly(|trial| {
        for packet in both.values() {
            let traced = trial.traced(packet.clone());
            sent += 1;
            if !is_denied(&traced.outcome) {
                passed.push(format!("{}: {}\n{}", packet.text, traced.outcome, traced.trace));
            }
        }
    });
    (sent, passed)
}

const fn is_denied(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::DeniedAtEgress | Outcome::DeniedAtIngress)
}

fn described(event: &Event) -> String {
    match event {
        Event::Apply(object) => format!("apply {}", object.name()),
        Event::Delete(object) => format!("delete {}", object.name()),
    }
}

/// Goes through clusters, which have to be such that there is much to look at.
fn check(options: &Options) {
    let Some(lab) = Lab::start(options) else { return };
    let mut trial = Trial::new(&lab, fault::NONE);
    let (mut changes, mut looks) = (0, 0);
    for seed in seeds(SEEDS) {
        for (event, place) in in_random_order(trial.cluster(), seed, options).into_iter().zip(0..) {
            let (sent, passed) = change(&mut trial, mixed(seed, place), &event);
            assert!(passed.is_empty(), "seed {seed}: {}\n{}", described(&event), passed.join("\n"));
            changes += 1;
            looks += sent;
        }
    }
    println!("{changes} changes, {looks} traces on the way");
    assert!(looks > 1_000, "{looks} traces");
}

#[test]
fn what_stays_denied_passes_at_no_time() {
    check(&Options::default());
}

#[test]
fn nor_does_it_if_some_policies_are_such_as_an_api_server_refuses() {
    check(&Options { bad_objects: BadObjects::Some, ..Options::default() });
}
