//! The suites of `--all` alone: a lab with cgroup v2 alone, the demos, and Kubernetes' own specs.

use std::path::Path;
use std::process::{Command, Stdio};

use antrea_e2e::guest::{Guest, Preparation};
use antrea_e2e::install::Product;
use antrea_e2e::names::LabName;
use antrea_e2e::{image_store, programs, state};
use anyhow::{Context, Result, ensure};

use xtask::image::Archive;
use xtask::{product, project};

use super::artifacts::{Kind, TestBinary};
use super::libtest;
use super::suite::{self, Outcome, Suite};
use super::suites::Suites;
use crate::conformance::{self, Report};

const CGROUP_V2: &str = "cgroup v2";
const DEMO: &str = "demo";
const CONFORMANCE: &str = "conformance";

const MEBIBYTES: &str = "6144";
const MINUTES: &str = "20";

/// What the guest runs: `lab up` as a user would, then a test on that lab. An emulated processor takes ten to twenty times
/// as long for what Kubernetes does.
const SCRIPT: &str = "set -eu
export ANTREA_LAB_PATIENCE=15
\"$XTASK\" lab up --name v2 --nodes 1 --install antrea || { \"$XTASK\" lab logs --name v2; exit 1; }
ANTREA_E2E_LAB=v2 \"$TESTS\" --exact cgroup_v2::pods_talk_on_a_lab_with_cgroup_v2_alone --nocapture
\"$XTASK\" lab down --name v2";

/// Arguments of each demo.
const DEMOS: [&[&str]; 2] = [&[], &["--multicluster"]];

/// Their names.
pub(super) const NAMES: [&str; 3] = [CGROUP_V2, DEMO, CONFORMANCE];

pub(super) fn run(suites: &mut Suites, binaries: &[TestBinary], images: &[Archive]) {
    suites.run(CGROUP_V2, || lab_with_cgroup_v2(binaries, images));
    suites.run(DEMO, demos);
    suites.run(CONFORMANCE, specs);
}

/// A lab on a machine of today: in a guest, whatever this machine has.
fn lab_with_cgroup_v2(binaries: &[TestBinary], images: &[Archive]) -> Suite {
    suite::timed(CGROUP_V2, || match Guest::prepare() {
        Ok(Preparation::Ready(_)) => {
            let result = prepare(images).and_then(|()| in_a_guest(binaries));
            if let Err(error) = &result {
                println!("{CGROUP_V2}: {error:#}");
            }
            suite::one(result.is_ok())
        }
        Ok(Preparation::Unavailable(reason)) => {
            println!("SKIPPED {CGROUP_V2}: {reason}");
            Outcome::SKIPPED
        }
        Err(error) => {
            println!("{CGROUP_V2}: {error:#}");
            suite::one(false)
        }
    })
}

/// Unpacks the images that the lab begins with here, where it takes a tenth of the time.
fn prepare(images: &[Archive]) -> Result<()> {
    let archives = images.iter().map(|archive| archive.path.clone()).collect();
    let product = Product::of(&product::charts(), archives, project::programs());
    image_store::ensure_prepared(&programs::ensure_built()?, &product.images).map(drop)
}

fn in_a_guest(binaries: &[TestBinary]) -> Result<()> {
    let xtask = std::env::current_exe().context("cannot find this program")?;
    let tests =
        binaries.iter().find(|binary| binary.kind == Kind::Lab).context("the lab tests are not built")?;
    let output = guest(&xtask, &tests.executable).output().context("cannot run this program")?;
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}{}", String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "the guest ended with {}", output.status);
    ensure!(libtest::outcome(&said) == suite::one(true), "the test did not run");
    Ok(())
}

fn guest(xtask: &Path, tests: &Path) -> Command {
    let mut guest = Command::new(xtask);
    guest.args(["guest", "--memory", MEBIBYTES, "--minutes", MINUTES, "sh", "-c", SCRIPT]);
    guest.env("XTASK", xtask).env("TESTS", tests);
    guest
}

/// What users run, under a name that no other lab has: each with `--exit`, then with `--down` whatever came before.
fn demos() -> Suite {
    suite::timed(DEMO, || {
        let mut outcome = Outcome::default();
        let name = format!("d{}", std::process::id());
        for options in DEMOS {
            for end in ["--exit", "--down"] {
                let result = name.parse().and_then(|name| demo(&name, options, end));
                if let Err(error) = &result {
                    println!("demo {} {end} failed: {error:#}", options.join(" "));
                }
                outcome += suite::one(result.is_ok());
            }
        }
        outcome
    })
}

fn demo(name: &LabName, options: &[&str], end: &str) -> Result<()> {
    let xtask = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(xtask);
    command.arg("demo").args(options).args([end, "--name", name.as_str()]).stdin(Stdio::null());
    let status = command.status().context("cannot run this program")?;
    ensure!(status.success(), "it ended with {status}");
    let is_there = state::names()?.contains(name);
    ensure!(is_there == (end == "--exit"), "lab {name} is {}there", if is_there { "" } else { "not " });
    Ok(())
}

/// Each spec of the conformance suites is a test. Runs every suite to its end; one that breaks counts as a failure.
fn specs() -> Suite {
    suite::timed(CONFORMANCE, || {
        let mut outcome = Outcome::default();
        for name in conformance::names() {
            outcome += match conformance::all_of(name) {
                Ok(report) => outcome_of(&report),
                Err(error) => {
                    println!("conformance {name}: {error:#}");
                    suite::one(false)
                }
            };
        }
        outcome
    })
}

fn outcome_of(report: &Report) -> Outcome {
    Outcome { passed: report.passed(), failed: report.failed(), skipped: report.not_run() }
}
