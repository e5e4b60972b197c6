//! `cargo xtask fuzz`: hands each target of `xtask/fuzz` what libFuzzer makes up for a while, and says how many edges of our
//! code that has passed. The stable toolchain is enough.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde::Deserialize;
use xtask::project;

/// How long each target has in the tests.
pub(crate) const SECONDS: u64 = 20;

/// The edges that each target has to pass in that time.
const EDGES: &str = "xtask/fuzz/edges.yaml";

/// What an input may take at most, in seconds, MB and bytes.
const LIMITS: [&str; 3] = ["-timeout=5", "-rss_limit_mb=512", "-max_len=4096"];

/// How much of what libFuzzer said is shown when it has found something.
const LINES: usize = 60;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// One target [default: all of them].
    target: Option<String>,
    /// For how long, each; edges are recorded for the default.
    #[arg(long, value_name = "N", default_value_t = SECONDS, value_parser = clap::value_parser!(u64).range(SECONDS..))]
    seconds: u64,
}

/// A target, and how many edges it has to pass.
type Recorded = BTreeMap<String, u64>;

/// How far a run came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reached {
    edges: u64,
    inputs: u64,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let targets = pick(recorded()?, arguments.target.as_deref())?;
    let fuzzer = build()?;
    let passed = passed(&fuzzer, &targets, arguments.seconds);
    Ok(if passed == targets.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs all targets as the tests do; how many there are, and how many of them have passed.
pub(crate) fn run_all() -> Result<(usize, usize)> {
    let targets = recorded()?;
    Ok((targets.len(), passed(&build()?, &targets, SECONDS)))
}

fn recorded() -> Result<Recorded> {
    let text =
        fs::read_to_string(project::root().join(EDGES)).with_context(|| format!("cannot read {EDGES}"))?;
    serde_saphyr::from_str(&text).with_context(|| format!("cannot read {EDGES}"))
}

fn pick(mut all: Recorded, asked: Option<&str>) -> Result<Recorded> {
    let Some(asked) = asked else { return Ok(all) };
    match all.remove_entry(asked) {
        Some(target) => Ok(BTreeMap::from([target])),
        None => {
            let known: Vec<String> = all.into_keys().collect();
            bail!("there is no target {asked}; targets are: {}", known.join(", "))
        }
    }
}

/// Builds the fuzzer, with our own crates instrumented and those of others as tests have them.
fn build() -> Result<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--locked", "--package", "xtask-fuzz", "--features", "libfuzzer", "--bin", "fuzz"]);
    cargo.arg("--message-format=json-render-diagnostics");
    cargo.env("RUSTC_WORKSPACE_WRAPPER", project::root().join("xtask/fuzz/instrument"));
    // It would make many units of each crate.
    cargo.env("CARGO_INCREMENTAL", "0").current_dir(project::root()).stderr(Stdio::inherit());
    let output = cargo.output().context("cannot run cargo")?;
    ensure!(output.status.success(), "cargo could not build the fuzzer; see its output above");
    executable(&String::from_utf8_lossy(&output.stdout)).context("cargo does not say where the fuzzer is")
}

/// What cargo has built, by what `--message-format=json` prints.
fn executable(messages: &str) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct Artifact {
        executable: PathBuf,
    }
    messages.lines().rev().find_map(|line| Some(serde_json::from_str::<Artifact>(line).ok()?.executable))
}

/// Runs one target after the other and says what came of each; how many of them have passed.
fn passed(fuzzer: &Path, targets: &Recorded, seconds: u64) -> usize {
    let has_passed = |(target, recorded): &(&String, &u64)| {
        let judged = fuzz(fuzzer, target, seconds).and_then(|reached| judge(reached, **recorded));
        match &judged {
            Ok(summary) => println!("{target}: {summary}"),
            Err(error) => println!("FAILED {target}: {error:#}"),
        }
        judged.is_ok()
    };
    targets.iter().filter(has_passed).count()
}

fn judge(Reached { edges, inputs }: Reached, recorded: u64) -> Result<String> {
    ensure!(
        edges >= recorded,
        "{edges} edges were passed with {inputs} inputs, and {recorded} are recorded in {EDGES}: add inputs to the corpus \
         that come further, or record less where there is less code"
    );
    Ok(format!("{edges} edges ({recorded} recorded), {inputs} inputs"))
}

/// Begins with the corpus and nothing else, and makes up the same each time: what a run finds the next one finds again.
fn fuzz(fuzzer: &Path, target: &str, seconds: u64) -> Result<Reached> {
    let folder = project::target().join("fuzz").join(target);
    let found = folder.join("found");
    let _ = fs::remove_dir_all(&found);
    fs::create_dir_all(&found).with_context(|| format!("cannot create {}", found.display()))?;
    let mut command = Command::new(fuzzer);
    command.env("FUZZ_TARGET", target).args(LIMITS).arg("-seed=1").arg(format!("-max_total_time={seconds}"));
    // An input that does harm goes there.
    command.arg(format!("-artifact_prefix={}/", folder.display()));
    command.arg(&found).arg(project::root().join("xtask/fuzz/corpus").join(target));
    let output = command.output().context("cannot run the fuzzer")?;
    outcome(&output, &project::test_logs()?.join(format!("fuzz-{target}")))
}

/// What libFuzzer says, which goes to `log` as well.
fn outcome(output: &Output, log: &Path) -> Result<Reached> {
    let said = String::from_utf8_lossy(&output.stderr);
    fs::write(log, said.as_bytes()).with_context(|| format!("cannot write {}", log.display()))?;
    if !output.status.success() {
        let lines: Vec<&str> = said.lines().collect();
        let end = lines.get(lines.len().saturating_sub(LINES)..).unwrap_or_default();
        bail!(
            "{}\nfix it and add the input to the corpus of the target, which the tests replay",
            end.join("\n")
        );
    }
    reached(&said).with_context(|| format!("the fuzzer does not say how far it came: see {}", log.display()))
}

/// Its last word: `#200000 DONE cov: 1748 ft: 3660 corp: 612/160Kb lim: 2028 exec/s: 66666 rss: 29Mb`.
fn reached(said: &str) -> Option<Reached> {
    let line = said.lines().rev().find(|line| line.contains("\tDONE "))?;
    let mut words = line.split_whitespace();
    let inputs = words.next()?.strip_prefix('#')?.parse().ok()?;
    let edges = words.skip_while(|word| *word != "cov:").nth(1)?.parse().ok()?;
    Some(Reached { edges, inputs })
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::ExitStatus;

    use super::*;

    const SAID: &str = "INFO: seed corpus: files: 32 min: 16b max: 1408b total: 5434b rss: 27Mb\n\
        #33\tINITED cov: 1142 ft: 1700 corp: 30/5290b exec/s: 0 rss: 28Mb\n\
        #35\tNEW    cov: 1143 ft: 1702 corp: 31/6047b lim: 1408 exec/s: 0 rss: 28Mb L: 757/1408 MS: 1 CrossOver-\n\
        #200000\tDONE   cov: 1748 ft: 3660 corp: 612/160Kb lim: 2028 exec/s: 66666 rss: 29Mb\n\
        Done 200000 runs in 3 second(s)\n";

    /// What comes of a fuzzer that says this and ends with `code`.
    fn ended(code: i32, said: &str) -> Result<Reached> {
        let folder = tempfile::tempdir().unwrap();
        let status = ExitStatus::from_raw(code << 8);
        outcome(&Output { status, stdout: Vec::new(), stderr: said.into() }, &folder.path().join("log"))
    }

    #[test]
    fn how_far_a_run_came_is_in_the_last_line_of_libfuzzer() {
        assert_eq!(ended(0, SAID).unwrap(), Reached { edges: 1748, inputs: 200_000 });
        assert!(ended(0, "INFO: Seed: 1\n").unwrap_err().to_string().contains("does not say"));
    }

    #[test]
    fn what_was_found_fails_with_the_end_of_what_was_said() {
        let error = ended(77, "thread panicked\nTest unit written to crash-1\n").unwrap_err().to_string();
        assert!(
            error.starts_with("thread panicked\nTest unit written to crash-1\nfix it and add"),
            "{error}"
        );
    }

    #[test]
    fn fewer_edges_than_are_recorded_fail() {
        let reached = |edges| judge(Reached { edges, inputs: 7 }, 100).map_err(|error| error.to_string());
        assert_eq!(reached(100).unwrap(), "100 edges (100 recorded), 7 inputs");
        assert!(
            reached(99).unwrap_err().starts_with("99 edges were passed with 7 inputs, and 100 are recorded")
        );
    }

    #[test]
    fn a_target_that_is_asked_for_runs_alone() {
        let all = || Recorded::from([("cni".to_owned(), 1), ("yaml".to_owned(), 2)]);
        assert_eq!(pick(all(), None).unwrap(), all());
        assert_eq!(pick(all(), Some("yaml")).unwrap().into_keys().collect::<Vec<_>>(), ["yaml"]);
        let error = pick(all(), Some("json")).unwrap_err().to_string();
        assert_eq!(error, "there is no target json; targets are: cni, yaml");
    }

    #[test]
    fn the_fuzzer_is_where_cargo_says() {
        let messages = "{\"reason\":\"compiler-artifact\",\"executable\":null}\n\
            {\"reason\":\"compiler-artifact\",\"executable\":\"/t/debug/fuzz\"}\n{\"reason\":\"build-finished\"}\n";
        assert_eq!(executable(messages).unwrap(), Path::new("/t/debug/fuzz"));
    }
}
