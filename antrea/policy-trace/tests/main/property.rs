//! Whatever the cluster is and however it came about: all three agree.

use std::ops::Range;
use std::time::Instant;

use antrea_policy_reference::{BadObjects, Families, Feature, Options};

use crate::fault;
use crate::lab::Lab;
use crate::report::report;
use crate::trial::Trial;

/// Clusters of a usual run.
const SEEDS: Range<u64> = 0..200;

/// What is in at least one of ten policies of random clusters.
const FEATURES: [Feature; 8] = [
    Feature::Except,
    Feature::NamedPort,
    Feature::EndPort,
    Feature::MatchExpressions,
    Feature::EmptySelector,
    Feature::EmptyPeers,
    Feature::EmptyPeer,
    Feature::BothFamilies,
];

pub(crate) fn seeds(usual: Range<u64>) -> Range<u64> {
    let Ok(text) = std::env::var("ANTREA_TEST_SEEDS") else { return usual };
    let (first, end) = text.split_once("..").unwrap();
    first.parse().unwrap()..end.parse().unwrap()
}

/// All three agree on the clusters of these seeds; prints what was compared.
fn check(options: &Options, usual: Range<u64>, features: &[Feature]) {
    let Some(lab) = Lab::start(options) else { return };
    let (start, seeds) = (Instant::now(), seeds(usual));
    let mut trial = Trial::new(&lab, fault::NONE);
    let found = trial.run(seeds.clone(), options, |finding| !finding.agrees());
    assert!(found.is_none(), "{}", found.as_ref().map(|found| report(&lab, found)).unwrap_or_default());
    let (tally, elapsed) = (trial.tally(), start.elapsed().as_secs_f32());
    println!("seeds {seeds:?}, {options:?}\n{tally}no disagreement, {elapsed:.1} s");
    for feature in features {
        assert!(tally.coverage.percent_with(*feature) >= 10, "{feature:?} is rare:\n{tally}");
    }
    let denied = [100 - tally.coverage.percent_allowed(), tally.packets().1];
    assert!(denied.iter().all(|percent| (20..=80).contains(percent)), "verdicts are one-sided:\n{tally}");
}

#[test]
fn packets_pass_as_policies_say_even_if_some_are_such_as_an_api_server_refuses() {
    check(&Options { bad_objects: BadObjects::Some, ..Options::default() }, SEEDS, &FEATURES);
}

#[test]
fn packets_pass_as_valid_policies_say() {
    check(&Options::default(), 0..60, &FEATURES[..6]);
}

#[test]
fn packets_pass_as_policies_say_in_a_crowd_with_one_family() {
    for (families, seeds) in [(Families::V4, 0..9), (Families::V6, 9..18)] {
        let options = Options { namespaces: 4, pods: 24, policies: 24, families, ..Options::default() };
        check(&options, seeds, &[]);
    }
}
