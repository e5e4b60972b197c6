//! The test binaries of the workspace, built by one cargo invocation with one feature set.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use xtask::project;

/// A test binary and the folder its tests run in.
#[derive(Debug, Clone)]
pub(crate) struct TestBinary {
    pub(crate) package: String,
    pub(crate) executable: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) kind: Kind,
}

/// What tests need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing: they are beside the code.
    Unit,
    /// Real programs and namespaces, for one crate.
    Integration,
    /// Whole clusters.
    Lab,
    /// A guest.
    Kernel,
}

impl Kind {
    fn of(package: &str, target: &Target) -> Self {
        let is_integration = target.kind.iter().any(|kind| kind == "test");
        match (is_integration, package, target.name.as_str()) {
            (false, _, _) => Self::Unit,
            (true, "antrea-e2e", "kernel") => Self::Kernel,
            (true, "antrea-e2e", _) => Self::Lab,
            (true, _, _) => Self::Integration,
        }
    }
}

/// One line of cargo's `--message-format=json`; only artifacts have these fields.
#[derive(Debug, Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    executable: Option<PathBuf>,
    #[serde(default)]
    manifest_path: Option<PathBuf>,
    #[serde(default)]
    target: Option<Target>,
    #[serde(default)]
    profile: Option<Profile>,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Profile {
    test: bool,
}

/// Builds every test of the workspace.
pub(crate) fn build() -> Result<Vec<TestBinary>> {
    let output = Command::new(env!("CARGO"))
        .args(["test", "--workspace", "--locked", "--no-run", "--message-format=json-render-diagnostics"])
        .current_dir(project::root())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run cargo")?;
    ensure!(output.status.success(), "cargo could not build the tests; see its output above");
    let text = String::from_utf8_lossy(&output.stdout);
    let mut binaries: Vec<TestBinary> = text.lines().filter_map(parse).collect();
    binaries.sort_by(|a, b| a.executable.cmp(&b.executable));
    Ok(binaries)
}

fn parse(line: &str) -> Option<TestBinary> {
    let message: Message = serde_json::from_str(line).ok()?;
    if message.reason != "compiler-artifact" || !message.profile?.test {
        return None;
    }
    let folder = message.manifest_path?.parent()?.to_owned();
    let target = message.target?;
    let package = package_name(&folder)?;
    let kind = Kind::of(&package, &target);
    // Unit tests of one package may be in several binaries.
    let package = if kind == Kind::Unit { target.name } else { package };
    Some(TestBinary { package, executable: message.executable?, folder, kind })
}

fn package_name(folder: &std::path::Path) -> Option<String> {
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).ok()?;
    let line = manifest.lines().find(|line| line.starts_with("name = "))?;
    Some(line.trim_start_matches("name = ").trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_artifact_without_tests_is_passed_over() {
        let line = r#"{"reason":"compiler-artifact","executable":"/t/a","manifest_path":"/w/a/Cargo.toml","target":{"name":"a","kind":["bin"]},"profile":{"test":false}}"#;
        assert!(parse(line).is_none());
    }

    #[test]
    fn kinds_of_tests_are_told_by_package_and_target() {
        let kind = |package, name: &str, kind: &str| {
            Kind::of(package, &Target { name: name.to_owned(), kind: vec![kind.to_owned()] })
        };
        assert_eq!(kind("antrea-e2e", "antrea_e2e", "lib"), Kind::Unit);
        assert_eq!(kind("antrea-ovs", "server", "test"), Kind::Integration);
        assert_eq!(kind("antrea-e2e", "main", "test"), Kind::Lab);
        assert_eq!(kind("antrea-e2e", "kernel", "test"), Kind::Kernel);
    }
}
