//! What the computed objects say of connections is what an independent reading of the API says, whatever the cluster
//! is and however it came about.
//!
//! `ANTREA_TEST_SEEDS=FIRST..END` runs other seeds than those of a usual run, and more of them.

mod answers;
mod computed;
mod faults;
mod report;
mod told;
mod trial;

use std::ops::Range;
use std::time::Instant;

use antrea_policy_reference::{BadObjects, Coverage, Families, Options};

use trial::{Tally, disagreement};

const SEEDS: Range<u64> = 0..200;

/// Compares both on the clusters of all seeds, and prints what was compared.
fn check(options: &Options) {
    let seeds = seeds();
    let (mut tally, start) = (Tally::default(), Instant::now());
    for seed in seeds.clone() {
        let found = disagreement(seed, options, faults::none, &mut tally);
        let report = found.map(|found| format!("seed {seed}, {options:?}\n{}", report::report(&found)));
        assert!(report.is_none(), "{}", report.unwrap_or_default());
    }
    let elapsed = start.elapsed().as_secs_f32();
    println!("seeds {seeds:?}, {options:?}\n{tally}no disagreement, {elapsed:.1} s");
    assert_balanced(&tally.coverage);
}

#[track_caller]
fn assert_balanced(coverage: &Coverage) {
    assert!((20..=80).contains(&coverage.percent_allowed()), "verdicts are one-sided:\n{coverage}");
}

fn seeds() -> Range<u64> {
    let Ok(text) = std::env::var("ANTREA_TEST_SEEDS") else { return SEEDS };
    let (first, end) = text.split_once("..").unwrap();
    first.parse().unwrap()..end.parse().unwrap()
}

#[test]
fn computed_objects_mean_what_the_policies_mean() {
    check(&Options::default());
}

#[test]
fn they_do_if_some_policies_are_such_as_an_api_server_refuses() {
    check(&Options { bad_objects: BadObjects::Some, ..Options::default() });
}

#[test]
fn they_do_in_a_crowd_with_one_family() {
    let options = Options { namespaces: 4, pods: 24, policies: 24, ..Options::default() };
    let mut tally = Tally::default();
    for (seed, families) in (0..8).zip([Families::V4, Families::V6].into_iter().cycle()) {
        let found = disagreement(seed, &Options { families, ..options }, faults::none, &mut tally);
        assert!(found.is_none(), "seed {seed}\n{}", found.as_ref().map(report::report).unwrap_or_default());
    }
    assert_balanced(&tally.coverage);
}
