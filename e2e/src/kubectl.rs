//! kubectl for one cluster of a lab.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::command::Run as _;
use crate::patience;

/// Runs kubectl against one cluster as its administrator.
#[derive(Debug, Clone)]
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
}

impl Kubectl {
    /// kubectl at `program`, with a kubeconfig.
    pub fn new(program: PathBuf, kubeconfig: PathBuf) -> Self {
        Self { program, kubeconfig }
    }

    /// The kubeconfig it uses.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// A command with these arguments. No proxy stands between the host and a lab.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--kubeconfig").arg(&self.kubeconfig).args(arguments).env("NO_PROXY", "*");
        command
    }

    /// What kubectl prints.
    ///
    /// # Errors
    /// When it fails; the error shows the command and what it said.
    pub fn text(&self, arguments: &[&str]) -> Result<String> {
        self.command(arguments).text()
    }

    /// What kubectl prints with `-o json`.
    ///
    /// # Errors
    /// As [`Kubectl::text`].
    pub fn json(&self, arguments: &[&str]) -> Result<Value> {
        let text = self.command(arguments).args(["-o", "json"]).text()?;
        serde_json::from_str(&text)
            .with_context(|| format!("kubectl {} printed no JSON", arguments.join(" ")))
    }

    /// Applies manifests.
    ///
    /// # Errors
    /// As [`Kubectl::text`].
    pub fn apply(&self, manifests: &str) -> Result<()> {
        self.command(&["apply", "-f", "-"]).feed(manifests).map(|_| ())
    }

    /// Runs a command in a Pod and returns its output.
    ///
    /// # Errors
    /// When it cannot run or ends with another code than 0.
    pub fn exec(&self, namespace: &str, pod: &str, command: &[&str]) -> Result<String> {
        self.command(&["exec", "-n", namespace, pod, "--"]).args(command).text()
    }

    /// Waits until everything that a selector or name matches has a condition, as `kubectl wait` does.
    ///
    /// # Errors
    /// When it has not after `seconds`.
    pub fn wait(&self, condition: &str, seconds: u32, what: &[&str]) -> Result<()> {
        let (condition, timeout) = (format!("--for={condition}"), timeout_flag(seconds));
        self.command(&["wait", &condition, &timeout]).args(what).run()
    }

    /// Waits for a rollout (`daemonset/NAME`, `deployment/NAME`).
    ///
    /// # Errors
    /// When it is not done after `seconds`.
    pub fn rollout(&self, namespace: &str, workload: &str, seconds: u32) -> Result<()> {
        let timeout = timeout_flag(seconds);
        self.command(&["rollout", "status", "-n", namespace, workload, &timeout]).run()
    }
}

/// kubectl measures no speed, so it gets twice the time that an idle machine needs.
fn timeout_flag(seconds: u32) -> String {
    let limit = patience::stretched(Duration::from_secs(u64::from(seconds))).saturating_mul(2);
    format!("--timeout={}s", limit.as_secs())
}
