//! `antctl mc` as users run it, for one cluster.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::Run as _;
use crate::kubectl::Kubectl;

/// `antctl mc` for one cluster.
#[derive(Debug, Clone)]
pub struct Antctl {
    programs: PathBuf,
    kubeconfig: PathBuf,
}

impl Antctl {
    /// The programs in a folder, with the kubeconfig of a kubectl.
    pub fn new(programs: &Path, kubectl: &Kubectl) -> Self {
        Self { programs: programs.to_owned(), kubeconfig: kubectl.kubeconfig().to_owned() }
    }

    /// A command with these arguments; the folder of programs is first on its PATH.
    ///
    /// # Errors
    /// When the folder cannot be a part of PATH.
    pub fn command(&self, arguments: &[&str]) -> Result<Command> {
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let folders = [self.programs.clone()].into_iter().chain(std::env::split_paths(&inherited));
        let path = std::env::join_paths(folders).context("PATH has a folder with ':' in its name")?;
        let mut command = Command::new(self.programs.join("antctl"));
        command.arg("mc").args(arguments).arg("--kubeconfig").arg(&self.kubeconfig);
        command.env("PATH", path).env("NO_PROXY", "*");
        Ok(command)
    }

    /// What it prints.
    ///
    /// # Errors
    /// When it ends with another code than 0.
    pub fn text(&self, arguments: &[&str]) -> Result<String> {
        self.command(arguments)?.text()
    }
}
