//! A suite: something that runs, takes its time and has an outcome.

use std::fmt;
use std::fs;
use std::ops::AddAssign;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::artifacts::TestBinary;
use super::durations::Durations;
use super::libtest::{self, Skipped};
use crate::project;

/// How many tests of a suite ended how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

impl Outcome {
    /// A suite that did not run.
    pub(crate) const SKIPPED: Self = Self { passed: 0, failed: 0, skipped: 1 };
}

impl AddAssign for Outcome {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// A finished suite.
#[derive(Debug)]
pub(crate) struct Suite {
    name: &'static str,
    took: Duration,
    outcome: Outcome,
}

/// A suite of test binaries that has not run yet.
pub(crate) struct Planned<'a> {
    name: &'static str,
    binaries: Vec<&'a TestBinary>,
    threads: Option<usize>,
    environment: Vec<(&'static str, String)>,
    place: Place,
}

/// Where tests run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Here,
    /// Below a kernel of its own: `cargo xtask guest`.
    Guest,
}

impl Suite {
    /// The suite of those test binaries that `wanted` picks.
    pub(crate) fn of_binaries<'a>(
        name: &'static str,
        binaries: &'a [TestBinary],
        wanted: impl Fn(&TestBinary) -> bool,
    ) -> Planned<'a> {
        let binaries = binaries.iter().filter(|binary| wanted(binary)).collect();
        Planned { name, binaries, threads: None, environment: Vec::new(), place: Place::Here }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn seconds(&self) -> u64 {
        self.took.as_secs()
    }

    pub(crate) fn outcome(&self) -> Outcome {
        self.outcome
    }
}

impl Planned<'_> {
    /// Runs the tests of a binary one after the other: clusters would take each other's cores.
    pub(crate) fn one_at_a_time(mut self) -> Self {
        self.threads = Some(1);
        self
    }

    pub(crate) fn with_environment(mut self, environment: &[(&'static str, String)]) -> Self {
        self.environment = environment.to_vec();
        self
    }

    pub(crate) fn in_a_guest(mut self) -> Self {
        self.place = Place::Guest;
        self
    }

    /// Runs every binary; one that cannot be started or dies without a result counts as one failure.
    pub(crate) fn run(self) -> Suite {
        timed(self.name, || {
            let mut outcome = Outcome::default();
            for binary in &self.binaries {
                outcome += self.run_binary(binary).unwrap_or_else(|error| {
                    println!("{}: {error:#}", binary.package);
                    one(false)
                });
            }
            outcome
        })
    }

    fn run_binary(&self, binary: &TestBinary) -> Result<Outcome> {
        let mut command = self.place.command(&binary.executable)?;
        command.arg("--show-output").current_dir(&binary.folder);
        command.env("CARGO_MANIFEST_DIR", &binary.folder).env("INSTA_UPDATE", "no");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(threads) = self.threads {
            command.arg(format!("--test-threads={threads}"));
        }
        let started = Instant::now();
        let log = log_file(self.name, &binary.package)?;
        let file = fs::File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        command.stdout(file.try_clone()?).stderr(file);
        let (status, durations) = thread::scope(|scope| {
            let ((over, is_over), log) = (mpsc::channel(), log.as_path());
            let following = self.threads.map(|_| scope.spawn(move || Durations::follow(log, &is_over)));
            let status = command.status();
            drop(over);
            (status, following.map(ScopedJoinHandle::join))
        });
        let status = status.context("cannot start the test binary")?;
        let output = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
        let mut outcome = libtest::outcome(&output);
        if !status.success() && outcome.failed == 0 {
            outcome.failed = 1;
        }
        println!("{:<24} {:>4} s  {outcome}", binary.package, started.elapsed().as_secs());
        print_what_matters(&output, outcome);
        if let Some(Ok(durations)) = durations {
            durations.slowest().iter().for_each(|line| println!("{line}"));
        }
        Ok(outcome)
    }
}

impl Place {
    fn command(self, program: &Path) -> Result<Command> {
        match self {
            Self::Here => Ok(Command::new(program)),
            Self::Guest => {
                let mut xtask = Command::new(std::env::current_exe().context("cannot find this program")?);
                xtask.arg("guest").arg(program);
                Ok(xtask)
            }
        }
    }
}

/// Runs a suite and measures how long it takes.
pub(crate) fn timed(name: &'static str, run: impl FnOnce() -> Outcome) -> Suite {
    println!("--- {name}");
    let started = Instant::now();
    let outcome = run();
    Suite { name, took: started.elapsed(), outcome }
}

/// The outcome of a suite of one test.
pub(crate) fn one(passed: bool) -> Outcome {
    Outcome { passed: usize::from(passed), failed: usize::from(!passed), skipped: 0 }
}

/// Runs a cargo command as a suite of one test.
pub(crate) fn command(name: &'static str, arguments: &[&str]) -> Suite {
    timed(name, || {
        let status = Command::new(env!("CARGO")).args(arguments).current_dir(project::root()).status();
        one(status.is_ok_and(|status| status.success()))
    })
}

/// Runs checks that return what they found as a suite of one test.
pub(crate) fn checks(name: &'static str, problems: impl FnOnce() -> Result<Vec<String>>) -> Suite {
    timed(name, || {
        let problems = problems().unwrap_or_else(|error| vec![format!("{error:#}")]);
        problems.iter().for_each(|problem| println!("{problem}"));
        one(problems.is_empty())
    })
}

fn log_file(suite: &str, package: &str) -> Result<PathBuf> {
    let folder = project::target().join("test-logs");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder.join(format!("{}-{package}.log", suite.replace(' ', "-"))))
}

/// Skipped tests always; everything when a test failed.
fn print_what_matters(output: &str, outcome: Outcome) {
    if outcome.failed > 0 {
        println!("{output}");
        return;
    }
    for Skipped { test, reason } in libtest::skipped(output) {
        println!("SKIPPED {test}: {reason}");
    }
}
