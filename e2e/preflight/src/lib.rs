//! What must hold before anything is changed on the machine. Everything that is missing is said at once, and within a
//! second: so this has no dependencies, and starts no more than `go env` and `stat`.

pub mod cache;
pub mod cgroups;
pub mod go;
mod needs;
pub mod room;

use std::ffi::OsString;
use std::fmt;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use cgroups::Cgroups;

/// What a machine is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// Labs with the products.
    Labs,
    /// Labs, and Kubernetes' conformance specs on them.
    Conformance,
    /// What `cargo xtask test` runs.
    Tests,
    /// That and everything long: `cargo xtask test --all`.
    AllTests,
}

impl Purpose {
    /// What a command of `cargo xtask` needs the machine for; none for one that makes no lab, or checks by itself.
    pub fn of_command(arguments: &[String]) -> Option<Self> {
        let word = |number: usize| arguments.get(number).map(String::as_str);
        let is_help = arguments.iter().any(|argument| argument == "--help" || argument == "-h");
        match (word(0), word(1)) {
            _ if is_help => None,
            (Some("demo"), _) if arguments.iter().any(|argument| argument == "--down") => None,
            (Some("demo"), _) | (Some("lab"), Some("up")) => Some(Self::Labs),
            (Some("conformance"), _) => Some(Self::Conformance),
            (Some("test"), _) if arguments.iter().any(|argument| argument == "--all") => Some(Self::AllTests),
            (Some("test"), _) => Some(Self::Tests),
            _ => None,
        }
    }
}

/// What a machine lacks, a sentence each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing(Vec<String>);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [problem] => f.write_str(problem),
            several => {
                write!(
                    f,
                    "{} problems have to be solved first:\n  - {}",
                    several.len(),
                    several.join("\n  - ")
                )
            }
        }
    }
}

impl std::error::Error for Missing {}

impl From<String> for Missing {
    fn from(problem: String) -> Self {
        Self(vec![problem])
    }
}

/// Checks everything that does not depend on which lab or test is wanted.
///
/// # Errors
/// All that is missing, and what to do about it.
pub fn check(purpose: Purpose) -> Result<(), Missing> {
    missing([
        check_root(),
        check_architecture(std::env::consts::ARCH),
        check_program(
            "/usr/bin/apt-get",
            "labs install what they need from Debian's packages: this has to be Debian 12, or a system like it",
        ),
        check_program(
            "/dev/net/tun",
            "Open vSwitch needs it: `modprobe tun`, or else `mkdir -p /dev/net && mknod /dev/net/tun c 10 200`",
        ),
        Cgroups::of_this_machine().map(drop),
        check_patience(std::env::var(PATIENCE).ok().as_deref()),
        room::check(&needs::of(purpose)),
    ])
}

fn missing(checks: impl IntoIterator<Item = Result<(), Missing>>) -> Result<(), Missing> {
    let problems: Vec<String> =
        checks.into_iter().filter_map(Result::err).flat_map(|Missing(all)| all).collect();
    if problems.is_empty() { Ok(()) } else { Err(Missing(problems)) }
}

/// Checks for root.
///
/// # Errors
/// When this is somebody else.
pub fn check_root() -> Result<(), Missing> {
    // The owner of a process' folder is the user that it runs as.
    let user = Path::new("/proc/self").metadata().map(|metadata| metadata.uid());
    match user {
        Ok(0) => Ok(()),
        _ => Err("this must run as root: it makes network namespaces and mounts".to_owned().into()),
    }
}

fn check_architecture(machine: &str) -> Result<(), Missing> {
    match machine {
        "x86_64" => Ok(()),
        other => Err(format!("this machine is {other}: images and labs are made for x86_64 alone").into()),
    }
}

/// By how much every time limit of labs is stretched: a whole number.
pub const PATIENCE: &str = "ANTREA_LAB_PATIENCE";

fn check_patience(variable: Option<&str>) -> Result<(), Missing> {
    match variable {
        Some(text) if !text.parse().is_ok_and(|number: u32| number > 0) => {
            Err(format!("{PATIENCE}={text}: it has to be a whole number, 1 or more").into())
        }
        _ => Ok(()),
    }
}

fn check_program(path: &str, reason: &str) -> Result<(), Missing> {
    if Path::new(path).exists() { Ok(()) } else { Err(format!("{path} is missing: {reason}").into()) }
}

/// The folder of the workspace.
pub fn root() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own)
}

/// Cargo's target folder, which `.ci/run` keeps outside the checkout.
pub fn target() -> PathBuf {
    target_of(std::env::var_os("CARGO_TARGET_DIR"))
}

/// Every cargo that is started here runs in the root, and a relative folder is relative to that.
fn target_of(variable: Option<OsString>) -> PathBuf {
    root().join(variable.filter(|folder| !folder.is_empty()).unwrap_or_else(|| "target".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(problems: &[Option<&str>]) -> Option<String> {
        let check = |problem: &Option<&str>| problem.map_or(Ok(()), |problem| Err(problem.to_owned().into()));
        missing(problems.iter().map(check)).err().map(|missing| missing.to_string())
    }

    #[test]
    fn everything_that_is_missing_is_said_at_once() {
        assert_eq!(said(&[None, None]), None);
        assert_eq!(said(&[None, Some("no root")]).unwrap(), "no root");
        let both = said(&[Some("no root"), None, Some("no tun")]).unwrap();
        assert_eq!(both, "2 problems have to be solved first:\n  - no root\n  - no tun");
    }

    #[test]
    fn a_machine_of_another_architecture_is_refused() {
        assert!(check_architecture("x86_64").is_ok());
        let error = check_architecture("aarch64").unwrap_err().to_string();
        assert_eq!(error, "this machine is aarch64: images and labs are made for x86_64 alone");
    }

    #[test]
    fn time_limits_are_stretched_by_whole_numbers() {
        assert!(check_patience(None).is_ok() && check_patience(Some("15")).is_ok());
        for refused in ["1.5", "0", "much", ""] {
            assert!(check_patience(Some(refused)).is_err(), "{refused}");
        }
    }

    #[test]
    fn the_target_folder_is_where_cargo_looks_for_it() {
        assert_eq!(target_of(None), root().join("target"));
        assert_eq!(target_of(Some("".into())), root().join("target"));
        assert_eq!(target_of(Some("build".into())), root().join("build"));
        assert_eq!(target_of(Some("/var/cache/x".into())), Path::new("/var/cache/x"));
    }

    #[test]
    fn commands_that_make_labs_need_a_machine_for_them() {
        let purpose = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            Purpose::of_command(&words)
        };
        assert_eq!(purpose("demo --multicluster"), Some(Purpose::Labs));
        assert_eq!(purpose("lab up --nodes 1"), Some(Purpose::Labs));
        assert_eq!(purpose("test --part 2"), Some(Purpose::Tests));
        assert_eq!(purpose("test --all"), Some(Purpose::AllTests));
        for line in ["", "tidy", "lab down --name a", "demo --down", "test --help"] {
            assert_eq!(purpose(line), None, "{line}");
        }
    }
}
