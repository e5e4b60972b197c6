//! `cargo xtask test`: formatting, lints, tidy, unit, wire, netns, kernel and lab tests, each suite timed, one line to
//! close.
//!
//! Whatever fails, builds included, is a failed suite. The rest goes on, except for what needs it, which is skipped.

mod artifacts;
mod conformance;
mod demo;
mod durations;
mod libtest;
mod suite;
mod suites;

use std::process::ExitCode;

use antrea_e2e::guest::{Guest, Preparation};
use antrea_e2e::{cleanup, cnitool, guest, packages, preflight, programs};
use anyhow::Result;

use crate::image::{self, Archive};
use crate::product::{self, FirstBuild};
use crate::{project, tidy};
use artifacts::TestBinary;
use suite::Suite;
use suites::Suites;

/// How much is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// What `.ci/run` runs.
    Standard,
    /// That, and everything long: conformance suites, repeated faults, every demo.
    All,
}

const NEEDS_FAILED: &str = "what it needs has failed";

/// Runs every suite to its end, whatever fails, and prints what each took.
pub(crate) fn run(extent: Extent) -> ExitCode {
    let mut suites = Suites::start();
    let mut needs = product::needs(FirstBuild::Tests);
    needs.extend(guest::needs());
    let machine = suites.step("machine", || preflight::check(&needs));
    suites.step("packages", prepare);
    suites.add(suite::command("formatting", &["fmt", "--all", "--check"]));
    let lints = ["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
    suites.add(suite::command("lints", &lints));
    suites.add(suite::checks("tidy", tidy::problems));
    let binaries = suites.step("build of the tests", artifacts::build);
    // Before the tests of crates: those of the chart run helm, and those of the CNI plugin cnitool.
    let programs = machine.and_then(|()| suites.step("Kubernetes programs", programs::ensure_built));
    suites.step("cnitool", cnitool::ensure_built);
    crates(&mut suites, binaries.as_deref());
    let images = programs.and_then(|_| suites.step("images", image::build));
    kernel(&mut suites, binaries.as_deref(), images.as_deref());
    clusters(&mut suites, binaries.as_deref(), images.as_deref(), extent);
    suites.finish()
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
        Some(binaries) => suites.add(Suite::of_binaries(name, binaries, kind).run()),
        None => suites.skip(name, NEEDS_FAILED),
    };
    run("unit", TestBinary::is_unit);
    run("wire and netns", TestBinary::is_integration);
}

/// Tests on the kernel's datapath, of the programs in the images.
fn kernel(suites: &mut Suites, binaries: Option<&[TestBinary]>, images: Option<&[Archive]>) {
    let (Some(binaries), Some(_)) = (binaries, images) else { return suites.skip("kernel", NEEDS_FAILED) };
    match suites.step("guest", Guest::prepare) {
        Some(Preparation::Ready(_)) => {
            let programs = project::programs().display().to_string();
            let planned = Suite::of_binaries("kernel", binaries, TestBinary::is_kernel).in_a_guest();
            let environment = [("ANTREA_E2E_PROGRAMS", programs)];
            suites.add(planned.one_at_a_time().with_environment(&environment).run());
        }
        Some(Preparation::Unavailable(reason)) => suites.skip("kernel", &reason),
        None => suites.skip("kernel", NEEDS_FAILED),
    }
}

/// Tests on whole clusters, of what users install.
fn clusters(
    suites: &mut Suites,
    binaries: Option<&[TestBinary]>,
    images: Option<&[Archive]>,
    extent: Extent,
) {
    match (images, binaries) {
        (Some(images), Some(binaries)) => {
            let next = (extent == Extent::All)
                .then(|| suites.step("image of the next version", image::build_next))
                .flatten();
            suites.add(lab(binaries, images, next.as_ref(), extent));
            // The cluster that tests share ends with their process, and is still there.
            suites.step("cleaning up", cleanup::remove_leftovers);
        }
        _ => suites.skip("lab", NEEDS_FAILED),
    }
    match (extent, images) {
        (Extent::Standard, _) => suites.skip("conformance", "it is long; --all runs it"),
        (Extent::All, Some(_)) => {
            suites.add(demo::run());
            suites.add(conformance::run());
        }
        (Extent::All, None) => {
            suites.skip("demo", NEEDS_FAILED);
            suites.skip("conformance", NEEDS_FAILED);
        }
    }
}

fn lab(binaries: &[TestBinary], images: &[Archive], next: Option<&Archive>, extent: Extent) -> Suite {
    let paths: Vec<String> = images.iter().map(|archive| archive.path.display().to_string()).collect();
    let environment = [
        ("ANTREA_E2E", if extent == Extent::All { "all" } else { "standard" }.to_owned()),
        ("ANTREA_E2E_IMAGES", paths.join(":")),
        ("ANTREA_E2E_CHARTS", product::charts().display().to_string()),
        ("ANTREA_E2E_PROGRAMS", project::programs().display().to_string()),
        ("ANTREA_E2E_NEXT", next.map(|archive| archive.path.display().to_string()).unwrap_or_default()),
    ];
    Suite::of_binaries("lab", binaries, TestBinary::is_lab)
        .one_at_a_time()
        .with_environment(&environment)
        .run()
}
