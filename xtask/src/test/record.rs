//! The suites that have passed at a commit, so that a run that was cut short can be resumed.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::commit;
use xtask::project;

/// The file of the record, in cargo's target folder: `.ci/run` keeps one, and a clone by hand has another.
#[derive(Debug, Default, Serialize, Deserialize)]
struct File {
    commit: String,
    /// How much of the tests runs: a suite that has passed in part has not passed as a whole.
    extent: String,
    passed: BTreeSet<String>,
}

/// What is known of a commit.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// None where files differ from the commit: then nothing is known, and nothing is written.
    commit: Option<String>,
    extent: String,
    known: BTreeSet<String>,
    /// What has passed since the record began, this run included.
    passed: BTreeSet<String>,
}

/// Whether suites that have passed run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begin {
    Anew,
    Resume,
}

impl Record {
    /// The record of the commit that is checked out.
    ///
    /// # Errors
    /// When a run cannot be resumed, because files differ from the commit.
    pub(crate) fn open(begin: Begin, extent: &str) -> Result<Self> {
        let (commit, extent) = (commit::clean(), extent.to_owned());
        match begin {
            Begin::Anew => Ok(Self { commit, extent, ..Self::default() }),
            Begin::Resume => {
                ensure!(commit.is_some(), "--resume needs a checkout without changes: commit or stash them");
                let text = fs::read_to_string(path()).unwrap_or_default();
                let file: File = serde_json::from_str(&text).unwrap_or_default();
                let is_of_this_run = Some(&file.commit) == commit.as_ref() && file.extent == extent;
                let known = if is_of_this_run { file.passed } else { BTreeSet::new() };
                Ok(Self { commit, extent, passed: known.clone(), known })
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn of_passed(names: &[&str]) -> Self {
        let known: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Self { commit: None, extent: String::new(), passed: known.clone(), known }
    }

    pub(crate) fn has_passed(&self, suite: &str) -> bool {
        self.known.contains(suite)
    }

    /// Writes down whether a suite has passed.
    pub(crate) fn add(&mut self, suite: &str, has_passed: bool) -> Result<()> {
        let Some(commit) = &self.commit else { return Ok(()) };
        // Files that were changed during the run may be what has passed.
        if commit::clean().as_ref() != Some(commit) {
            self.commit = None;
            return Ok(());
        }
        if has_passed {
            self.passed.insert(suite.to_owned());
        } else {
            self.passed.remove(suite);
        }
        let file = File { commit: commit.clone(), extent: self.extent.clone(), passed: self.passed.clone() };
        let path = path();
        fs::create_dir_all(project::target())?;
        fs::write(&path, serde_json::to_vec(&file)?)
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

fn path() -> PathBuf {
    project::target().join("passed-suites.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_that_passed_before_is_known_and_one_of_this_run_is_not() {
        let mut record = Record::of_passed(&["unit"]);
        assert!(record.has_passed("unit") && !record.has_passed("kernel"));
        record.add("kernel", true).unwrap();
        assert!(!record.has_passed("kernel"), "a run does not pass over its own suites");
    }
}
