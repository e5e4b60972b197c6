//! `cargo xtask test`: formatting, lints, tidy, unit, wire, netns and lab tests, each suite timed, one line to close.

mod artifacts;
mod libtest;
mod suite;

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;

use crate::{image, tidy};
use artifacts::TestBinary;
use suite::{Outcome, Suite};

/// How much is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// What `.ci/run` runs.
    Standard,
    /// That, and everything long: conformance suites, repeated faults, every demo.
    All,
}

/// Runs every suite to its end, whatever fails, and prints what each took.
pub(crate) fn run(extent: Extent) -> Result<ExitCode> {
    let started = Instant::now();
    antrea_e2e::packages::ensure_installed()?;
    let removed = antrea_e2e::cleanup::remove_leftovers()?;
    if removed > 0 {
        println!("Removed {removed} things that killed runs had left");
    }
    let mut suites = vec![
        suite::command("formatting", &["fmt", "--all", "--check"]),
        suite::command(
            "lints",
            &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"],
        ),
        suite::checks("tidy", tidy::problems),
    ];
    let binaries = suite::timed("build of the tests", artifacts::build)?;
    suites.push(Suite::of_binaries("unit", &binaries, TestBinary::is_unit).run());
    suites.push(Suite::of_binaries("wire and netns", &binaries, TestBinary::is_integration).run());
    suites.push(lab(&binaries, extent)?);
    Ok(report(&suites, started))
}

/// The lab suite runs what users install: the images are built and the Kubernetes programs are there before it starts.
fn lab(binaries: &[TestBinary], extent: Extent) -> Result<Suite> {
    suite::timed("Kubernetes programs", antrea_e2e::programs::ensure_built)?;
    let archives = suite::timed("images", image::build)?;
    let paths: Vec<String> = archives.iter().map(|archive| archive.path.display().to_string()).collect();
    let environment = [
        ("ANTREA_E2E", if extent == Extent::All { "all" } else { "standard" }.to_owned()),
        ("ANTREA_E2E_IMAGES", paths.join(":")),
        ("ANTREA_E2E_CHARTS", crate::project::root().join("charts").display().to_string()),
    ];
    Ok(Suite::of_binaries("lab", binaries, TestBinary::is_lab)
        .one_at_a_time()
        .with_environment(&environment)
        .run())
}

fn report(suites: &[Suite], started: Instant) -> ExitCode {
    let mut total = Outcome::default();
    for suite in suites {
        let outcome = suite.outcome();
        println!("{:>16}  {:>4} s  {outcome}", suite.name(), suite.seconds());
        total += outcome;
    }
    println!("{:>16}  {:>4} s", "all", started.elapsed().as_secs());
    println!("{total}");
    if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
