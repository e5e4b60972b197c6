//! Of which crates the project's programs are made: `cargo tree` says which are built, `cargo metadata` what is known of
//! each. The latter alone names more than are built, since it knows of features and not of what they are for.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::project;

/// The platform that images are for.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// So that what the fuzzer alone needs is among them.
const FUZZER: [&str; 2] = ["--features", "xtask-fuzz/fuzzer"];

/// What cargo knows of crates, by name and version.
#[derive(Debug)]
pub struct Crates(BTreeMap<(String, String), Crate>);

/// A version of a crate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Crate {
    pub name: String,
    pub version: String,
    /// An SPDX expression, as its author wrote it.
    pub licence: Option<String>,
    pub origin: Origin,
}

/// Where the sources of a crate are.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// In the project.
    Project,
    /// In a folder outside of it.
    Folder,
    /// Where this URL of cargo's leads.
    Source(String),
}

#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_members: BTreeSet<String>,
}

#[derive(Debug, Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
}

impl Crates {
    /// Asks cargo.
    ///
    /// # Errors
    /// What cargo says, or when it answers otherwise than expected.
    pub fn read() -> Result<Self> {
        let metadata = ["metadata", "--format-version", "1", "--filter-platform", PLATFORM];
        Self::parse(&cargo(&[metadata.as_slice(), &FUZZER].concat())?)
    }

    /// What `cargo metadata --format-version 1` prints.
    fn parse(json: &str) -> Result<Self> {
        let metadata: Metadata =
            serde_json::from_str(json).context("cannot read what cargo metadata says")?;
        let known = metadata.packages.into_iter().map(|package| {
            let origin = match package.source {
                Some(source) => Origin::Source(source),
                None if metadata.workspace_members.contains(&package.id) => Origin::Project,
                None => Origin::Folder,
            };
            let key = (package.name.clone(), package.version.clone());
            (key, Crate { name: package.name, version: package.version, licence: package.license, origin })
        });
        Ok(Self(known.collect()))
    }

    /// Every crate of others that anything of the project is built or tested with, sorted.
    ///
    /// # Errors
    /// What cargo says.
    pub fn foreign(&self) -> Result<Vec<&Crate>> {
        let workspace = ["--workspace", "--edges", "normal,build,dev"];
        let all = self.select(&tree(&[workspace.as_slice(), &FUZZER].concat())?)?;
        Ok(all.into_iter().filter(|one| one.origin != Origin::Project).collect())
    }

    /// The crates that are linked into the programs of these packages of the project, sorted; the packages among them.
    ///
    /// # Errors
    /// What cargo says.
    pub fn linked_into(&self, packages: &[&str]) -> Result<Vec<&Crate>> {
        let mut arguments = vec!["--edges", "normal,no-proc-macro"];
        arguments.extend(packages.iter().flat_map(|package| ["--package", package]));
        self.select(&tree(&arguments)?)
    }

    /// The crates of a tree whose lines begin with `NAME vVERSION`, each once.
    fn select(&self, tree: &str) -> Result<Vec<&Crate>> {
        let lines = tree.lines().filter(|line| !line.is_empty());
        let crates = lines.map(|line| {
            let mut words = line.split_whitespace();
            let (name, version) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            let key = (name.to_owned(), version.trim_start_matches('v').to_owned());
            self.0.get(&key).with_context(|| format!("cargo metadata does not know {line}"))
        });
        Ok(crates.collect::<Result<BTreeSet<_>>>()?.into_iter().collect())
    }
}

fn tree(arguments: &[&str]) -> Result<String> {
    cargo(
        &[["tree", "--target", PLATFORM, "--prefix", "none", "--format", "{p}"].as_slice(), arguments]
            .concat(),
    )
}

fn cargo(arguments: &[&str]) -> Result<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(arguments).arg("--locked").current_dir(project::root());
    let output = cargo.output().context("cannot run cargo")?;
    let problem = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo {} failed: {}", arguments.join(" "), problem.trim());
    String::from_utf8(output.stdout).context("cargo prints what is no text")
}

#[cfg(test)]
mod tests {
    use super::*;

    const METADATA: &str = r#"{
        "workspace_members": ["own"],
        "packages": [
            {"id": "own", "name": "antrea-agent", "version": "0.1.0", "license": "Apache-2.0", "source": null},
            {"id": "beside", "name": "beside", "version": "0.0.0", "license": null, "source": null},
            {"id": "syn1", "name": "syn", "version": "1.0.0", "license": "MIT", "source": "registry"},
            {"id": "syn2", "name": "syn", "version": "2.0.1", "license": "MIT", "source": "registry"},
            {"id": "ring", "name": "ring", "version": "0.17.0", "license": "ISC", "source": "registry"}
        ]
    }"#;

    #[test]
    fn crates_are_those_of_the_tree_each_once_with_what_metadata_says_of_them() {
        let crates = Crates::parse(METADATA).unwrap();
        let tree = "antrea-agent v0.1.0 (/project/antrea/agent)\nsyn v2.0.1\nbeside v0.0.0 (/elsewhere)\n\
                    syn v1.0.0 (proc-macro)\n\nsyn v2.0.1 (*)\n";
        let line = |one: &&Crate| format!("{} {} {:?} {:?}", one.name, one.version, one.licence, one.origin);
        let selected: Vec<_> = crates.select(tree).unwrap().iter().map(line).collect();
        let expected = [
            "antrea-agent 0.1.0 Some(\"Apache-2.0\") Project",
            "beside 0.0.0 None Folder",
            "syn 1.0.0 Some(\"MIT\") Source(\"registry\")",
            "syn 2.0.1 Some(\"MIT\") Source(\"registry\")",
        ];
        assert_eq!(selected, expected);
        assert!(crates.select("other v1.0.0\n").unwrap_err().to_string().contains("other v1.0.0"));
    }

    #[test]
    fn what_the_fuzzer_alone_is_built_with_is_looked_at_too() {
        let crates = Crates::read().unwrap();
        assert!(crates.foreign().unwrap().iter().any(|one| one.name == "libfuzzer-sys"));
    }

    #[test]
    fn the_agent_is_linked_with_neither_macros_nor_what_tests_and_builds_need() {
        let crates = Crates::read().unwrap();
        let linked = crates.linked_into(&["antrea-agent"]).unwrap();
        let has = |name: &str| linked.iter().any(|one| one.name == name);
        for name in ["antrea-agent", "antrea-ovs", "aws-lc-sys", "tokio"] {
            assert!(has(name), "{name} is missing");
        }
        for name in ["insta", "syn", "tonic-prost-build", "antrea-controller"] {
            assert!(!has(name), "{name} is not part of the agent");
        }
    }
}
