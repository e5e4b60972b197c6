//! Networks that cover many addresses.

use std::collections::BTreeSet;

use antrea_mc_core::covering::covering;
use ipnet::Ipv4Net;
use proptest::prelude::*;

fn networks(texts: &[&str]) -> Vec<Ipv4Net> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

#[track_caller]
fn check(all: &[&str], most: usize, within: &[&str], expected: &[&str]) {
    let all: BTreeSet<Ipv4Net> = networks(all).into_iter().collect();
    assert_eq!(covering(&all, most, &networks(within)), networks(expected));
}

#[test]
fn few_addresses_stay_as_they_are() {
    check(&[], 1, &[], &[]);
    check(&["10.10.0.0/32", "10.10.0.1/32"], 2, &["10.10.0.0/16"], &["10.10.0.0/32", "10.10.0.1/32"]);
}

#[test]
fn too_many_addresses_become_networks_that_cover_them() {
    check(&["10.10.0.0/32", "10.10.0.1/32", "10.10.9.9/32"], 2, &[], &["10.10.0.0/31", "10.10.9.9/32"]);
    check(&["10.10.0.0/32", "10.10.0.2/32", "10.10.9.9/32"], 2, &[], &["10.10.0.0/30", "10.10.9.8/31"]);
    check(&["10.96.0.1/32", "10.10.0.0/16", "10.10.1.1/32"], 2, &[], &["10.10.0.0/16", "10.96.0.1/32"]);
}

#[test]
fn none_of_them_grows_beyond_the_network_that_it_is_in() {
    let within = ["10.10.0.0/30", "10.96.0.0/16"];
    check(&["10.10.0.1/32", "10.96.0.1/32"], 1, &within, &["10.10.0.0/30", "10.96.0.0/16"]);
}

proptest! {
    #[test]
    fn every_address_is_covered_and_they_are_few(
        addresses in prop::collection::btree_set(any::<u32>(), 0..200),
        most in 1usize..20,
    ) {
        let all: BTreeSet<Ipv4Net> =
            addresses.iter().map(|bits| Ipv4Net::from(std::net::Ipv4Addr::from(*bits))).collect();
        let few = covering(&all, most, &[]);
        prop_assert!(few.len() <= most);
        prop_assert!(all.iter().all(|address| few.iter().any(|network| network.contains(address))));
    }
}
