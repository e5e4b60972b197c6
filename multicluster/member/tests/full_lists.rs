//! More is exported than a Gateway lists: what is listed, and what waits for room.

use std::time::Duration;

use antrea_mc_member::area::Area;
use antrea_mc_member::kind::Kind;

use crate::exported::{Life, exported, ready, slice, with_pods};
use crate::exports::{EXPORT, GATEWAY};

/// A Service with so many Pods, of which each is in a network of its own.
fn with_many_pods(name: &str, count: usize, day: u8) -> String {
    let pod = |pod: usize| format!("{{addresses: [10.10.{}.{}]}}", 100 + pod / 100, pod % 100 * 2);
    let endpoints = (0..count).map(pod).collect::<Vec<_>>().join(", ");
    let export = EXPORT.replace("web", name).replace("2026-11-21", &format!("2026-11-{day}"));
    export
        .replace("{addresses: [10.10.1.5]}, {addresses: [10.10.1.6], conditions: {ready: false}}", &endpoints)
}

#[test]
fn more_addresses_than_a_gateway_lists_open_nothing_that_is_not_exported() {
    let check = |day: u8, expected: [bool; 2]| {
        let all = format!("{EXPORT}---\n{}", with_many_pods("big", 5000, day));
        let mut life = Life::of(with_pods(), &all, GATEWAY);
        let networks = life.listed(0);
        let networks: Vec<&str> = networks.split(' ').collect();
        assert_eq!(networks.len(), 4096);
        assert!(networks.iter().all(|network| network.ends_with("/32")), "{networks:?}");
        assert_eq!(networks.contains(&"10.10.1.5/32"), expected[0], "the older one goes first");
        for (name, is_open) in ["web", "big"].into_iter().zip(expected) {
            let ready = ready(&mut life, 0, name);
            assert_eq!(!ready.contains("more than 4096 addresses are exported"), is_open, "{name} {ready}");
            assert_eq!(ready.starts_with("Exported: "), is_open, "{name} {ready}");
        }
    };
    check(22, [true, false]);
    check(20, [false, false]);
}

#[test]
fn an_older_export_that_grows_closes_nothing() {
    let all = format!("{EXPORT}---\n{}", with_many_pods("old", 10, 20));
    let mut life = Life::of(with_pods(), &all, GATEWAY);
    life.listed(0);
    let grown = life.apply(10_000, &with_many_pods("old", 5000, 20));
    assert_eq!(grown.split(' ').count(), 4096);
    assert!(grown.starts_with("10.10.1.5/32 10.10.1.6/32 "), "{grown}");
    let ready_web = ready(&mut life, 10_000, "web");
    assert!(ready_web.starts_with("Exported: "), "{ready_web}");
    let mut restarted = Life { cluster: life.cluster, exporter: with_pods() };
    assert_eq!(restarted.listed(0), grown);
}

/// A full list, in which Service web is, and for which another one waits that was exported on that day of the month.
fn full(day: u8) -> Life {
    let all = format!("{EXPORT}---\n{}---\n{}", slice(8), with_many_pods("big", 10, day));
    let mut life = Life::of(with_pods(), &all, GATEWAY);
    life.listed(0);
    let full = life.apply(5_000, &with_many_pods("big", 5000, day));
    assert!(full.starts_with("10.10.1.5/32 10.10.1.6/32 10.10.1.8/32 "), "{full}");
    life
}

/// Whether these Pods of web are let in.
fn are_open(life: &mut Life, at: u64) -> [bool; 2] {
    let listed = life.listed(at);
    assert_eq!(listed.split(' ').count(), 4096);
    ["10.10.1.8/32", "10.10.1.12/32"].map(|pod| listed.split(' ').any(|network| network == pod))
}

#[test]
fn in_a_full_list_a_pod_has_the_room_of_the_one_that_it_replaces() {
    for day in [20, 22] {
        let mut life = full(day);
        life.apply(10_000, &slice(12));
        assert_eq!(are_open(&mut life, 11_000), [true, false], "there is no room");
        life.delete(11_500, Kind::EndpointSlice, "web-of-8");
        assert_eq!(are_open(&mut life, 12_500), [false, true], "day {day}");
    }
}

#[test]
fn in_a_full_list_the_room_of_a_pod_stays_for_the_one_that_replaces_it_later() {
    for day in [20, 22] {
        let mut life = full(day);
        life.delete(10_000, Kind::EndpointSlice, "web-of-8");
        life.apply(11_000, &with_many_pods("big", 5001, day));
        assert_eq!(are_open(&mut life, 12_000), [true, false], "day {day}");
        life.apply(13_000, &slice(12));
        assert_eq!(are_open(&mut life, 14_000), [false, true], "day {day}");
    }
}

#[test]
fn in_a_full_list_an_endpoint_in_the_place_of_all_others_waits_for_room() {
    let mut life = full(20);
    life.apply(10_000, &with_many_pods("big", 5001, 20));
    life.delete(10_010, Kind::EndpointSlice, "web-of-8");
    let (_, pods) = EXPORT.rsplit_once("---\n").unwrap();
    let two = "{addresses: [10.10.1.5]}, {addresses: [10.10.1.6], conditions: {ready: false}}";
    life.apply(10_020, &pods.replace(two, "{addresses: [10.10.1.12]}"));
    assert!(!exported(&life).contains("10.10.1.12"), "other clusters are not let in to it yet");
    assert_eq!(are_open(&mut life, 11_000), [true, true], "it has the room of another one that went");
    assert!(exported(&life).contains("10.10.1.12"));
}

#[test]
fn exports_that_come_back_in_a_full_list_are_let_in_all_the_time() {
    let mut life = full(20);
    life.delete(10_000, Kind::ServiceExport, "web");
    life.apply(11_000, &with_many_pods("big", 5001, 20));
    assert_eq!(are_open(&mut life, 12_000), [true, false]);
    let (export, _) = EXPORT.split_once("---\n").unwrap();
    life.apply(13_000, export);
    assert_eq!(are_open(&mut life, 14_000), [true, false]);
    life.delete(20_000, Kind::ServiceExport, "web");
    assert_eq!(are_open(&mut life, 36_000), [false, false], "after 15 s the other has its room");
}

#[test]
fn addresses_that_make_up_a_network_are_listed_as_it() {
    let pods: Vec<String> =
        (0..5000).map(|pod| format!("{{addresses: [10.10.{}.{}]}}", pod >> 8, pod & 255)).collect();
    let many = EXPORT.replace("{addresses: [10.10.1.5]}", &pods.join(", "));
    let mut life = Life::of(with_pods(), &many, GATEWAY);
    let joined = "10.10.0.0/20 10.10.16.0/23 10.10.18.0/24 10.10.19.0/25 10.10.19.128/29";
    assert_eq!(life.listed(0), joined);
    // What is new, and does not fit, closes nothing.
    let lots = with_many_pods("lots", 5000, 22);
    life.apply(10_000, &lots);
    let listed = life.listed(11_000);
    assert!(listed.starts_with(joined), "{listed}");
    assert_eq!(listed.split(' ').count(), 4096);
    let exported = exported(&life);
    assert!(exported.contains("10.10.100.0") && !exported.contains("10.10.149.198"), "{}", exported.len());
}

#[test]
fn what_has_no_room_is_let_in_once_there_is_some() {
    let all = format!("{EXPORT}---\n{}", with_many_pods("big", 5000, 20));
    let mut life = Life::of(with_pods(), &all, GATEWAY);
    assert!(!life.listed(0).contains("10.10.1.5/32"));
    life.delete(1_000, Kind::ServiceExport, "big");
    let changed = life.exporter.tick(&life.cluster.objects, Duration::from_secs(20)).changed;
    let changed: Vec<String> = changed.iter().map(ToString::to_string).collect();
    assert!(changed.contains(&"Service shop/web".to_owned()), "{changed:?}");
    assert_eq!(life.listed(20_000), "10.10.1.5/32 10.10.1.6/32");
}
