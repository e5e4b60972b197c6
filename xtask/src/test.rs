//! `cargo xtask test`: formatting, lints, unit, wire, netns, kernel and lab tests, each suite timed, one line to close.
//!
//! Whatever fails, builds included, is a failed suite. The rest goes on, except for what needs it, which is skipped.

mod areas;
mod artifacts;
mod binaries;
mod cgroup_v2;
mod clusters;
mod conformance;
mod demo;
mod durations;
mod flaky;
mod lanes;
mod libtest;
mod part;
mod processors;
mod record;
mod suite;
mod suites;

use std::process::ExitCode;

use antrea_e2e::preflight::{self, Purpose};
use antrea_e2e::{cleanup, cnitool, packages, programs, scenario};
use anyhow::Result;
use clap::Args;

use artifacts::TestBinary;
use binaries::Planned;
use part::Part;
use record::{Begin, Record};
use suites::Suites;
use xtask::image::{self, Products};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Also everything long: all long lab tests, repeated faults, every demo, conformance suites, a lab in a guest.
    #[arg(long)]
    all: bool,
    /// Which third of the long lab tests runs [default: the number of commits modulo 3, plus 1].
    #[arg(long, value_name = "N", conflicts_with = "all", value_parser = clap::value_parser!(u8).range(1..=3))]
    part: Option<u8>,
    /// Only suites whose names begin with this, and what they need.
    #[arg(long, value_name = "SUITE")]
    only: Vec<String>,
    /// Go on with a run of this commit: suites that have passed do not run again.
    #[arg(long)]
    resume: bool,
}

/// How much is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// What `.ci/run` runs: everything short, and a third of the long lab tests.
    Standard(Part),
    /// That, and everything long: conformance suites, repeated faults, every demo.
    All,
}

impl Extent {
    fn of(arguments: &Arguments) -> Self {
        if arguments.all { Self::All } else { Self::Standard(Part::choose(arguments.part)) }
    }

    /// Whether a test runs that needs two versions of the Multi-cluster controller.
    fn has_two_versions(self) -> bool {
        match self {
            Self::Standard(part) => part.number() == scenario::PART_OF_TWO_VERSIONS,
            Self::All => true,
        }
    }

    /// The value of `ANTREA_E2E` for the lab tests.
    fn variable(self) -> String {
        match self {
            Self::Standard(part) => format!("part-{}", part.number()),
            Self::All => "all".to_owned(),
        }
    }
}

const NEEDS_FAILED: &str = "what it needs has failed";

/// Runs every suite to its end, whatever fails, and prints what each took.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let extent = Extent::of(arguments);
    let record =
        Record::open(if arguments.resume { Begin::Resume } else { Begin::Anew }, &extent.variable())?;
    if let Extent::Standard(part) = extent {
        println!(
            "Of the long lab tests this runs part {0} of 3 (again with --part {0}; --all runs all)",
            part.number()
        );
    }
    let mut suites = Suites::start(&arguments.only, record);
    let machine = suites.step("machine", || Ok(preflight::check(Purpose::Tests)?));
    suites.step("packages", prepare);
    suites.run("formatting", || suite::command("formatting", &["fmt", "--all", "--check"]));
    let lints = ["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
    suites.run("lints", || suite::command("lints", &lints));
    let binaries = suites.step("build of the tests", artifacts::build);
    // Before the tests of crates: those of the chart run helm, and those of the CNI plugin cnitool.
    let programs = machine.and_then(|()| suites.step("Kubernetes programs", programs::ensure_built));
    suites.step("cnitool", cnitool::ensure_built);
    crates(&mut suites, binaries.as_deref());
    let images = programs.and_then(|_| suites.step("images", || image::build(Products::Both)));
    clusters::run(&mut suites, binaries.as_deref(), images.as_deref(), extent);
    Ok(suites.finish())
}

fn prepare() -> Result<()> {
    packages::ensure_installed()?;
    let removed = cleanup::remove_leftovers()?;
    if removed > 0 {
        println!("Removed {removed} things that killed runs had left");
    }
    Ok(())
}

/// Tests of one crate each.
fn crates(suites: &mut Suites, binaries: Option<&[TestBinary]>) {
    let mut run = |name, kind: fn(&TestBinary) -> bool| match binaries {
        Some(binaries) => suites.run(name, || Planned::of(name, binaries, kind).run()),
        None => suites.skip(name, NEEDS_FAILED),
    };
    run("unit", TestBinary::is_unit);
    run("wire and netns", TestBinary::is_integration);
}
