//! Suites of test binaries: how they are run, and what of their output is shown.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::mpsc;
use std::thread::{self, ScopedJoinHandle};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::artifacts::{Kind, TestBinary};
use super::durations::Durations;
use super::flaky::{self, Flaky};
use super::lanes::{self, Job};
use super::libtest::{self, Skipped};
use super::suite::{self, Outcome, Suite};
use xtask::project;

/// How many binaries of a suite run at the same time: many tests of crates wait for a while.
const BINARIES_AT_ONCE: usize = 3;

/// A suite of test binaries that has not run yet.
#[derive(Debug, Clone)]
pub(crate) struct Planned<'a> {
    name: &'static str,
    binaries: Vec<&'a TestBinary>,
    order: Order,
    environment: Vec<(&'static str, String)>,
    place: Place,
}

/// How many tests of a binary run at once, and which.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Order {
    /// All of them, as many at once as there are processors.
    AtOnce,
    /// These, one after the other: clusters would take each other's processors. Those that fail are repeated.
    OneByOne(Vec<String>),
}

/// Where tests run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Here,
    /// Under a kernel of its own: `cargo xtask guest`.
    Guest,
}

/// One run of a binary.
struct Run {
    status: ExitStatus,
    output: String,
    log: PathBuf,
    durations: Option<Durations>,
}

impl<'a> Planned<'a> {
    /// The suite of the test binaries of a kind.
    pub(crate) fn of(name: &'static str, binaries: &'a [TestBinary], kind: Kind) -> Self {
        let binaries = binaries.iter().filter(|binary| binary.kind == kind).collect();
        Self { name, binaries, order: Order::AtOnce, environment: Vec::new(), place: Place::Here }
    }

    /// Runs these tests alone, one after the other.
    pub(crate) fn one_by_one(mut self, tests: Vec<String>) -> Self {
        self.order = Order::OneByOne(tests);
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

    /// The names of all tests of its binaries.
    pub(crate) fn tests(&self) -> Result<Vec<String>> {
        let lists = self.binaries.iter().map(|binary| list(binary)).collect::<Result<Vec<_>>>()?;
        Ok(lists.concat())
    }

    /// Runs every binary; one that cannot be started or dies without a result counts as one failure.
    pub(crate) fn run(&self) -> Suite {
        suite::timed_with_flaky(self.name, || {
            let job = |binary: &'a TestBinary| -> Job<'_, _> { Box::new(|| self.outcome_of(binary)) };
            let jobs = self.binaries.iter().map(|binary| job(binary)).collect();
            let (mut outcome, mut flaky) = (Outcome::default(), Vec::new());
            for (of_binary, flaky_of_binary) in lanes::run(BINARIES_AT_ONCE, jobs) {
                outcome += of_binary;
                flaky.extend(flaky_of_binary);
            }
            (outcome, flaky)
        })
    }

    fn outcome_of(&self, binary: &TestBinary) -> (Outcome, Vec<Flaky>) {
        self.run_binary(binary).unwrap_or_else(|error| {
            println!("{}: {error:#}", binary.package);
            (suite::one(false), Vec::new())
        })
    }

    fn run_binary(&self, binary: &TestBinary) -> Result<(Outcome, Vec<Flaky>)> {
        let started = Instant::now();
        let tests = match &self.order {
            Order::AtOnce => None,
            Order::OneByOne(tests) => Some(tests.as_slice()),
        };
        let log = log_file(self.name, binary, "")?;
        let run = self.start(binary, tests, &log)?;
        let mut outcome = run.outcome(tests);
        let seconds = started.elapsed().as_secs();
        println!("{:<24} {seconds:>4} s  {outcome}", self.label(binary));
        print_what_matters(&run.output, outcome);
        if let Some(durations) = &run.durations {
            durations.slowest().iter().for_each(|line| println!("{line}"));
        }
        let flaky = tests.map_or_else(Vec::new, |tests| self.repeat(binary, tests, &run));
        outcome.failed = outcome.failed.saturating_sub(flaky.len());
        outcome.passed += flaky.len();
        Ok((outcome, flaky))
    }

    /// A suite of one binary is labelled with the suite's name.
    fn label(&self, binary: &'a TestBinary) -> &'a str {
        if self.binaries.len() == 1 { self.name } else { &binary.package }
    }

    /// Repeats the tests that have failed; those that pass now are flaky.
    fn repeat(&self, binary: &TestBinary, tests: &[String], run: &Run) -> Vec<Flaky> {
        // A process that died otherwise than by failed tests is no flaky test.
        if run.status.code() != Some(libtest::FAILED_TESTS) {
            return Vec::new();
        }
        let failed = libtest::not_passed(tests, &run.output);
        let passes = |test: &str, number| match self.repeat_one(binary, test, number) {
            Ok(passes) => passes,
            Err(error) => {
                println!("{test} cannot be repeated: {error:#}");
                false
            }
        };
        let flaky = flaky::repeat(&failed, passes).into_iter().map(|test| Flaky {
            test: test.to_owned(),
            failure: libtest::output_of(&run.output, test).to_owned(),
            log: run.log.clone(),
        });
        flaky.inspect(|flaky| println!("{flaky}")).collect()
    }

    fn repeat_one(&self, binary: &TestBinary, test: &str, number: usize) -> Result<bool> {
        let log = log_file(self.name, binary, &format!("-{}-repeat-{number}", test.replace("::", "-")))?;
        let tests = [test.to_owned()];
        let run = self.start(binary, Some(&tests), &log)?;
        let passed = run.outcome(Some(&tests)) == suite::one(true);
        if !passed {
            println!("{}", run.output);
        }
        Ok(passed)
    }

    fn start(&self, binary: &TestBinary, tests: Option<&[String]>, log: &Path) -> Result<Run> {
        let mut command = self.place.command(&binary.executable, log)?;
        command.arg("--show-output").current_dir(&binary.folder);
        command.env("CARGO_MANIFEST_DIR", &binary.folder).env("INSTA_UPDATE", "no");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(tests) = tests {
            command.args(["--test-threads=1", "--exact"]).args(tests);
        }
        let file = fs::File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        command.stdout(file.try_clone()?).stderr(file);
        let (status, durations) = thread::scope(|scope| {
            let (over, is_over) = mpsc::channel();
            let following = tests.map(|_| scope.spawn(move || Durations::follow(log, &is_over)));
            let status = command.status();
            drop(over);
            (status, following.map(ScopedJoinHandle::join))
        });
        let status = status.context("cannot start the test binary")?;
        let output = String::from_utf8_lossy(&fs::read(log)?).into_owned();
        Ok(Run { status, output, log: log.to_owned(), durations: durations.and_then(Result::ok) })
    }
}

impl Run {
    /// Of tests that are known by name each has an outcome, also when the process died before the harness counted.
    fn outcome(&self, tests: Option<&[String]>) -> Outcome {
        let mut outcome = libtest::outcome(&self.output);
        if let Some(tests) = tests {
            // The harness counts, too: whatever the list says, a failure that it saw is one.
            outcome.failed = outcome.failed.max(libtest::not_passed(tests, &self.output).len());
            outcome.passed = tests.len().saturating_sub(outcome.failed + outcome.skipped);
        }
        if outcome.failed == 0 && !(self.status.success() && libtest::is_whole(&self.output)) {
            outcome.failed = 1;
        }
        outcome
    }
}

impl Place {
    fn command(self, program: &Path, log: &Path) -> Result<Command> {
        match self {
            Self::Here => Ok(ending_with_us(program)),
            Self::Guest => {
                let mut xtask = ending_with_us(&std::env::current_exe().context("cannot find this program")?);
                xtask.arg("guest").arg("--console").arg(log.with_extension("console.log")).arg(program);
                Ok(xtask)
            }
        }
    }
}

/// A program that is killed when the thread that has started it ends, as when this process is killed: tests that nobody waits
/// for would go on beside those of the next run.
fn ending_with_us(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]).arg(program);
    command
}

/// The names of the tests in a binary.
fn list(binary: &TestBinary) -> Result<Vec<String>> {
    let mut command = Command::new(&binary.executable);
    let output = command.args(["--list", "--format", "terse"]).output();
    let output = output.with_context(|| format!("cannot run {}", binary.executable.display()))?;
    ensure!(output.status.success(), "{} does not list its tests", binary.executable.display());
    Ok(libtest::listed(&String::from_utf8_lossy(&output.stdout)))
}

/// A package may have several test binaries: their files have names of their own.
fn log_file(suite: &str, binary: &TestBinary, end: &str) -> Result<PathBuf> {
    let folder = project::test_logs()?;
    let program = binary.executable.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(folder.join(format!("{}-{}-{program}{end}.log", suite.replace(' ', "-"), binary.package)))
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    #[test]
    fn tests_end_with_whoever_has_started_them() {
        let started = thread::spawn(|| {
            let mut sleep = Place::Here.command(Path::new("sleep"), Path::new("")).unwrap();
            let sleep = sleep.arg("60").spawn().unwrap();
            let is_running =
                || fs::read_to_string(format!("/proc/{}/comm", sleep.id())).unwrap() == "sleep\n";
            while !is_running() {
                thread::yield_now();
            }
            sleep
        });
        let status = started.join().unwrap().wait().unwrap();
        assert_eq!(status.signal(), Some(9));
    }
}
