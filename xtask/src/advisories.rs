//! `cargo xtask advisories`: whether crates that the project is built with have known vulnerabilities, by cargo-deny and the
//! advisories of RustSec. They are fetched where there is Internet; else the copy that was fetched last is read, and how old
//! it is said.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use xtask::project;

/// What cargo-deny is to look at, and which advisories are no concern of ours.
const CONFIGURATION: &str = "xtask/advisories.toml";

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Whether the advisories of today could be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fetch {
    Done,
    Failed,
}

/// What is there to check with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Advisories {
    Current,
    /// A copy, and its age.
    Copy(Duration),
}

pub(crate) fn run() -> Result<ExitCode> {
    let copy = copy_age(&copies(), SystemTime::now());
    if !is_installed() {
        bail!("{}", missing(copy));
    }
    // Its own messages say why it cannot.
    let fetch = if cargo_deny("fetch", &["db"])? { Fetch::Done } else { Fetch::Failed };
    let advisories = choose(fetch, copy)?;
    println!("{}", heading(advisories));
    let good = cargo_deny("check", &["--disable-fetch", "advisories"])?;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Where cargo looks for its subcommands.
fn is_installed() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path).chain([cargo_home().join("bin")]);
    folders.any(|folder| folder.join("cargo-deny").is_file())
}

/// Whether it succeeds.
fn cargo_deny(command: &str, arguments: &[&str]) -> Result<bool> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["deny", command, "--config", CONFIGURATION]).args(arguments);
    let status = cargo.current_dir(project::root()).status().context("cannot run cargo deny")?;
    Ok(status.success())
}

fn choose(fetch: Fetch, copy: Option<Duration>) -> Result<Advisories> {
    match (fetch, copy) {
        (Fetch::Done, _) => Ok(Advisories::Current),
        (Fetch::Failed, Some(age)) => Ok(Advisories::Copy(age)),
        (Fetch::Failed, None) => bail!(
            "the advisories of RustSec cannot be fetched, and there is no earlier copy of them below {}: run this where \
             there is Internet, or copy that folder from a machine that has it",
            copies().display()
        ),
    }
}

fn heading(advisories: Advisories) -> String {
    match advisories {
        Advisories::Current => "Advisories of RustSec as of now".to_owned(),
        Advisories::Copy(age) => {
            format!("Advisories of RustSec, a copy fetched {}: newer ones are not known", ago(age))
        }
    }
}

fn missing(copy: Option<Duration>) -> String {
    let copy = match copy {
        Some(age) => format!("A copy of the advisories is there, fetched {}", ago(age)),
        None => "There is no copy of the advisories either".to_owned(),
    };
    format!(
        "cargo-deny is not installed, so nothing was checked: `cargo install --locked cargo-deny`, then try again. {copy}."
    )
}

fn ago(age: Duration) -> String {
    match age.as_secs() / DAY.as_secs() {
        0 => "less than a day ago".to_owned(),
        1 => "1 day ago".to_owned(),
        days => format!("{days} days ago"),
    }
}

/// Where cargo-deny keeps what it fetched: a clone for each database.
fn copies() -> PathBuf {
    cargo_home().join("advisory-dbs")
}

fn cargo_home() -> PathBuf {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo"))).unwrap_or_default()
}

/// How long ago the newest clone was fetched.
fn copy_age(folder: &Path, now: SystemTime) -> Option<Duration> {
    let clones = fs::read_dir(folder).ok()?.filter_map(Result::ok).map(|entry| entry.path());
    let fetched = clones.filter_map(|clone| {
        let time =
            |name: &str| fs::metadata(clone.join(".git").join(name)).and_then(|file| file.modified()).ok();
        time("FETCH_HEAD").or_else(|| time("HEAD"))
    });
    // A clock that was set back makes it no older.
    fetched.max().map(|time| now.duration_since(time).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_with_what_to_do_and_how_old_the_copy_is() {
        let said = missing(Some(DAY * 40));
        assert!(said.contains("nothing was checked: `cargo install --locked cargo-deny`"), "{said}");
        assert!(said.ends_with("A copy of the advisories is there, fetched 40 days ago."), "{said}");
        assert!(missing(None).ends_with("There is no copy of the advisories either."));
    }

    #[test]
    fn a_copy_is_read_only_where_nothing_could_be_fetched_and_its_age_is_said() {
        assert_eq!(choose(Fetch::Done, Some(DAY)).unwrap(), Advisories::Current);
        let copy = choose(Fetch::Failed, Some(DAY)).unwrap();
        assert_eq!(
            heading(copy),
            "Advisories of RustSec, a copy fetched 1 day ago: newer ones are not known"
        );
        let error = choose(Fetch::Failed, None).unwrap_err().to_string();
        assert!(error.contains("cannot be fetched") && error.contains("advisory-dbs"), "{error}");
    }

    #[test]
    fn the_age_of_copies_is_that_of_the_newest() {
        let folder = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        assert_eq!(copy_age(folder.path(), now), None);
        for (name, file, age) in [("old", "FETCH_HEAD", 30), ("new", "HEAD", 2), ("new", "FETCH_HEAD", 3)] {
            let git = folder.path().join(name).join(".git");
            fs::create_dir_all(&git).unwrap();
            let file = fs::File::create(git.join(file)).unwrap();
            file.set_modified(now - DAY * age).unwrap();
        }
        assert_eq!(copy_age(folder.path(), now).map(ago).as_deref(), Some("3 days ago"));
        assert_eq!(ago(copy_age(folder.path(), now - DAY * 9).unwrap()), "less than a day ago");
    }
}
