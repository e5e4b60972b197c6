//! Running a suite: ginkgo as a process of the lab, followed while it works.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use antrea_e2e::command::KilledOnDrop;
use antrea_e2e::conformance::Suite as Programs;
use antrea_e2e::lab::Lab;
use antrea_e2e::processes::MARK;
use antrea_e2e::{dump, state, wait};
use anyhow::{Context, Result, ensure};

use super::report::Report;
use super::suite::Suite;
use xtask::project;

/// How many specs run at once. Most of what they do is to wait.
const PROCESSES: usize = 4;

/// A suite that is not over by then hangs; ginkgo ends it a little earlier, and says where.
const LIMIT: Duration = Duration::from_secs(65 * 60);
const LIMIT_OF_GINKGO: &str = "--timeout=1h";

/// Where a run leaves what it has to say.
struct Files {
    /// What the suite prints for people.
    log: PathBuf,
    /// Its line of JSON for each spec.
    results: PathBuf,
    /// junit, and what the suite gathers about the cluster.
    reports: PathBuf,
}

/// Runs the specs of a suite on the first cluster of a lab, and prints a line for each. At the first that fails, it prints the
/// state of the lab, in which the Namespaces of such specs stay.
pub(super) fn to_the_end(
    suite: &Suite,
    focus: Option<&str>,
    programs: &Programs,
    lab: &Lab,
) -> Result<Report> {
    let files = Files::of(suite)?;
    println!("{} on lab {}; what specs say is in {}", suite.name, lab.plan().name, files.log.display());
    let mut child = start(suite, focus, programs, lab, &files)?;
    let mut followed = Followed::default();
    let status = wait::eventually(LIMIT, "the suite to end", || {
        // In this order: what was written before the end is read after it was seen.
        let status = child.try_wait().context("cannot wait for ginkgo")?;
        followed.read(&files.results)?;
        if followed.take_first_failure() {
            dump::print(lab);
        }
        Ok(status)
    })?;
    let report = followed.report;
    check(suite, focus, status, &report)?;
    println!("junit: {}", files.reports.join("junit_01.xml").display());
    Ok(report)
}

/// What no line of a spec tells: a suite that broke before, or that is not the one we know.
fn check(suite: &Suite, focus: Option<&str>, status: ExitStatus, report: &Report) -> Result<()> {
    ensure!(
        status.success() || report.failed() > 0,
        "the suite {} ended with {status}, and no spec failed: see its log",
        suite.name
    );
    let planned = report.planned();
    match focus {
        Some(focus) => ensure!(planned > 0, "no spec of the suite {} matches {focus:?}", suite.name),
        None => {
            ensure!(
                planned == suite.specs,
                "the suite {} has {planned} specs and not {}: its label filter or Kubernetes has changed",
                suite.name,
                suite.specs
            );
        }
    }
    Ok(())
}

fn start(
    suite: &Suite,
    focus: Option<&str>,
    programs: &Programs,
    lab: &Lab,
    files: &Files,
) -> Result<KilledOnDrop> {
    let cluster = lab.plan().clusters.first().context("the lab has no cluster")?.id;
    let kubeconfig = state::kubeconfig(&lab.plan().name, cluster);
    let mut ginkgo = programs.ginkgo();
    ginkgo.args(["-v", "--no-color", LIMIT_OF_GINKGO]).arg(format!("--procs={PROCESSES}"));
    ginkgo.arg(format!("--label-filter={}", suite.labels));
    ginkgo.args(focus.map(|focus| format!("--focus={focus}")));
    ginkgo.arg(programs.specs()).arg("--");
    ginkgo.args(["--provider=skeleton", "--disable-log-dump", "--delete-namespace-on-failure=false"]);
    for (flag, path) in [
        ("--kubeconfig", &kubeconfig),
        ("--kubectl-path", &lab.programs().path("kubectl")?),
        ("--results", &files.results),
        ("--report-dir", &files.reports),
        ("--e2e-output-dir", &files.reports),
    ] {
        ginkgo.arg(format!("{flag}={}", path.display()));
    }
    let log = File::create(&files.log).with_context(|| format!("cannot write {}", files.log.display()))?;
    let errors = log.try_clone().context("cannot write the log of the suite")?;
    // With the mark, what is left of a killed run is removed with the lab.
    ginkgo.env("NO_PROXY", "*").env(MARK, lab.plan().name.as_str()).current_dir(&files.reports);
    KilledOnDrop::spawn(ginkgo.stdout(log).stderr(errors))
}

impl Files {
    fn of(suite: &Suite) -> Result<Self> {
        let folder = project::test_logs()?;
        let path = |end: &str| folder.join(format!("conformance-{}{end}", suite.name));
        let files = Self { log: path(".log"), results: path(".jsonl"), reports: path("") };
        fs::create_dir_all(&files.reports)
            .and_then(|()| fs::write(&files.results, ""))
            .with_context(|| format!("cannot write to {}", folder.display()))?;
        Ok(files)
    }
}

/// A file of results, read as it grows.
#[derive(Debug, Default)]
struct Followed {
    report: Report,
    read: usize,
    /// Whether it was told that a spec has failed.
    is_failure_told: bool,
}

impl Followed {
    fn read(&mut self, path: &Path) -> Result<()> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        self.take(&text).map(|lines| lines.iter().for_each(|line| println!("{line}")))
    }

    /// Whether a spec has failed, the first time that this is asked since.
    fn take_first_failure(&mut self) -> bool {
        let told = std::mem::replace(&mut self.is_failure_told, self.report.has_failed_spec());
        self.is_failure_told && !told
    }

    /// The lines to print for what is new and whole.
    fn take(&mut self, text: &str) -> Result<Vec<String>> {
        let new = text.get(self.read..).unwrap_or_default();
        let whole = new.rfind('\n').map_or(0, |last| last + 1);
        self.read += whole;
        let lines = new.get(..whole).unwrap_or_default().lines();
        lines.filter_map(|line| self.report.take(line).transpose()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    const TWO: &str = "{\"planned\":2}\n{\"spec\":\"a\",\"state\":\"passed\"}\n";

    #[test]
    fn a_line_is_read_once_and_when_it_is_whole() {
        let mut followed = Followed::default();
        let mut count = |text: &str| followed.take(text).unwrap().len();
        assert_eq!(count(&TWO[..20]), 0);
        assert_eq!(count(TWO), 1);
        assert_eq!(count(TWO), 0);
        assert_eq!(count(&format!("{TWO}{{\"spec\":\"b\",\"state\":\"failed\"}}\n")), 1);
        assert_eq!((followed.report.passed(), followed.report.failed()), (1, 1));
    }

    #[test]
    fn the_first_spec_that_fails_is_told_of_once() {
        let mut followed = Followed::default();
        let mut text = String::new();
        let mut check = |line: &str| {
            text.push_str(line);
            followed.take(&text).unwrap();
            followed.take_first_failure()
        };
        assert!(!check("{\"planned\":4}\n"));
        assert!(!check("{\"spec\":\"a\",\"state\":\"passed\"}\n"));
        assert!(check("{\"spec\":\"b\",\"state\":\"failed\"}\n"));
        assert!(!check("{\"spec\":\"c\",\"state\":\"failed\"}\n"));
    }

    #[test]
    fn a_suite_that_breaks_before_its_specs_is_an_error() {
        let suite = Suite::of_name("services").unwrap();
        let check = |focus, code, text: &str| {
            let mut followed = Followed::default();
            followed.take(text).unwrap();
            check(suite, focus, ExitStatus::from_raw(code << 8), &followed.report)
                .map_err(|error| error.to_string())
        };
        assert_eq!(check(Some("a"), 0, TWO), Ok(()));
        let error = check(Some("a"), 0, "").unwrap_err();
        assert_eq!(error, "no spec of the suite services matches \"a\"");
        let error = check(None, 0, TWO).unwrap_err();
        assert_eq!(
            error,
            "the suite services has 2 specs and not 47: its label filter or Kubernetes has changed"
        );
        let error = check(None, 1, "").unwrap_err();
        assert!(error.starts_with("the suite services ended with exit status: 1"), "{error}");
    }
}
