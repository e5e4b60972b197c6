//! `cargo xtask test`: formatting, lints, unit, wire, netns, kernel and lab tests, with `--all` the fuzzer, each suite timed,
//! one line to close.
//!
//! Whatever fails, builds included, is a failed suite. The rest goes on, except for what needs it, which is skipped.

mod artifacts;
mod binaries;
mod clusters;
mod commit;
mod durations;
mod extent;
mod flaky;
mod lanes;
mod libtest;
mod long;
mod processors;
mod record;
mod suite;
mod suites;

use std::fs::File;
use std::process::ExitCode;

use antrea_e2e::preflight::{self, Purpose};
use antrea_e2e::scenario::Part;
use antrea_e2e::{cleanup, cnitool, packages, programs};
use anyhow::{Context, Result};
use clap::Args;

use artifacts::{Kind, TestBinary};
use binaries::Planned;
use extent::Extent;
use flaky::LastRun;
use record::{Begin, Record};
use suite::{Outcome, Suite};
use suites::Suites;
use xtask::image::{self, Products};
use xtask::project;

use crate::fuzz;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Also everything long: the fuzzer, all long lab tests, repeated faults, every demo, conformance suites, a lab in a guest.
    #[arg(long)]
    all: bool,
    /// Which third of the long lab tests runs, 1 to 3 [default: the number of commits picks one].
    #[arg(long, value_name = "N", conflicts_with = "all")]
    part: Option<Part>,
    /// Only suites whose names begin with this, and what they need; may be given again.
    #[arg(long, value_name = "SUITE")]
    only: Vec<String>,
    /// Go on with a run of this commit: suites that have passed do not run again.
    #[arg(long)]
    resume: bool,
}

const FORMATTING: &str = "formatting";
const LINTS: &str = "lints";
const UNIT: &str = "unit";
const WIRE: &str = "wire and netns";
/// With `--all` alone.
const FUZZ: &str = "fuzz";

const NEEDS_FAILED: &str = "what it needs has failed";

/// Runs every suite to its end, whatever fails, and prints what each took.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let extent = if arguments.all { Extent::All } else { Extent::standard(arguments.part)? };
    let long = if extent == Extent::All { vec![FUZZ] } else { Vec::new() };
    let built = [vec![UNIT, WIRE], long, clusters::names(extent)].concat();
    let wanted = suites::pick(&[vec![FORMATTING, LINTS], built.clone()].concat(), &arguments.only)?;
    let _lock = one_run_at_a_time()?;
    let begin = if arguments.resume { Begin::Resume } else { Begin::Anew };
    let record = Record::open(begin, &extent.variable())?;
    let mut suites = Suites::start(wanted, record, LastRun::read());
    if let Extent::Standard(part) = extent {
        let number = part.number();
        println!(
            "Runs part {number} of 3 of the long lab tests (again with --part {number}; --all runs all)"
        );
    }
    suites.run(FORMATTING, || suite::command(FORMATTING, &["fmt", "--all", "--check"]));
    // The fuzzer is no part of other builds.
    let features = ["--features", "xtask-fuzz/fuzzer"];
    let lints = [
        ["clippy", "--workspace", "--all-targets", "--locked"].as_slice(),
        &features,
        &["--", "-D", "warnings"],
    ];
    suites.run(LINTS, || suite::command(LINTS, &lints.concat()));
    if suites.wants_any(&built) {
        tests(&mut suites, extent);
    }
    Ok(suites.finish())
}

/// Two runs would write the same logs.
fn one_run_at_a_time() -> Result<File> {
    let path = project::test_logs()?.join(".lock");
    let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    if file.try_lock().is_err() {
        println!("Waiting for another run of the tests to end");
        file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    }
    Ok(file)
}

/// Everything that is built first.
fn tests(suites: &mut Suites, extent: Extent) {
    let purpose = if extent == Extent::All { Purpose::AllTests } else { Purpose::Tests };
    let machine = suites.step("machine", || Ok(preflight::check(purpose)?));
    suites.step("packages", prepare);
    let binaries = suites.step("build of the tests", artifacts::build);
    // Before the tests of crates: those of the chart run helm, and those of the CNI plugin cnitool.
    let programs = machine.and_then(|()| suites.step("Kubernetes programs", programs::ensure_built));
    suites.step("cnitool", cnitool::ensure_built);
    crates(suites, binaries.as_deref());
    suites.run(FUZZ, every_target);
    if suites.wants_any(&clusters::names(extent)) {
        let images = programs.and_then(|_| suites.step("images", || image::build(Products::Both)));
        clusters::run(suites, binaries.as_deref(), images.as_deref(), extent);
    }
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
    let mut run = |name, kind| match binaries {
        Some(binaries) => suites.run(name, || Planned::of(name, binaries, kind).run()),
        None => suites.skip(name, NEEDS_FAILED),
    };
    run(UNIT, Kind::Unit);
    run(WIRE, Kind::Integration);
}

/// Each target of the fuzzer is a test.
fn every_target() -> Suite {
    suite::timed(FUZZ, || match fuzz::run_all() {
        Ok((targets, passed)) => Outcome { passed, failed: targets - passed, skipped: 0 },
        Err(error) => {
            println!("{FUZZ}: {error:#}");
            suite::one(false)
        }
    })
}
