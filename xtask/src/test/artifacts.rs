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
    integration: bool,
    /// What Cargo.toml calls it.
    target: String,
}

impl TestBinary {
    /// Tests beside the code.
    pub(crate) fn is_unit(&self) -> bool {
        !self.integration
    }

    /// Tests of one crate against real programs and namespaces.
    pub(crate) fn is_integration(&self) -> bool {
        self.integration && self.package != "antrea-e2e"
    }

    /// Tests on whole clusters.
    pub(crate) fn is_lab(&self) -> bool {
        self.integration && self.package == "antrea-e2e" && !self.is_kernel()
    }

    /// Tests for a guest.
    pub(crate) fn is_kernel(&self) -> bool {
        self.integration && self.package == "antrea-e2e" && self.target == "kernel"
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
    let integration = target.kind.iter().any(|kind| kind == "test");
    let package = if integration { package_name(&folder)? } else { target.name.clone() };
    Some(TestBinary { package, executable: message.executable?, folder, integration, target: target.name })
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
    fn a_unit_test_binary_is_told_from_an_integration_test() {
        let line = r#"{"reason":"compiler-artifact","executable":"/t/a","manifest_path":"/w/a/Cargo.toml","target":{"name":"a","kind":["lib"]},"profile":{"test":true}}"#;
        let binary = parse(line).unwrap();
        assert!(binary.is_unit() && !binary.is_integration() && !binary.is_lab());
    }
}
