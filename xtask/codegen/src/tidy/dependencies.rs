//! The crates that the project is built with are those that `dependencies.yaml` admits: by source, licence and name, and in
//! one version each but where it says why not.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde::Deserialize;
use xtask::crates::{Crate, Crates, Origin};

use super::licences;

const TABLE: &str = "xtask/codegen/dependencies.yaml";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    sources: BTreeSet<String>,
    licences: BTreeSet<String>,
    /// The reason of each.
    banned: BTreeMap<String, String>,
    duplicates: BTreeMap<String, Duplicate>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Duplicate {
    versions: BTreeSet<String>,
    because: String,
}

pub(crate) fn problems() -> Result<Vec<String>> {
    let rules = Rules::parse(include_str!("../../dependencies.yaml"))?;
    Ok(rules.check(&Crates::read()?.foreign()?))
}

impl Rules {
    fn parse(text: &str) -> Result<Self> {
        serde_saphyr::from_str(text).with_context(|| format!("cannot read {TABLE}"))
    }

    fn check(&self, crates: &[&Crate]) -> Vec<String> {
        let mut problems: Vec<String> = crates.iter().flat_map(|one| self.check_one(one)).collect();
        problems.extend(self.check_versions(crates));
        problems
    }

    fn check_one(&self, one: &Crate) -> Vec<String> {
        let Crate { name, version, .. } = one;
        let mut problems = Vec::new();
        if let Some(because) = self.banned.get(name) {
            problems.push(format!(
                "{TABLE}: {name} {version} is banned: {because}; see who asks for it with `cargo tree --invert {name}`, \
                 and turn that off by features"
            ));
        }
        let source = match &one.origin {
            Origin::Source(source) => source,
            Origin::Folder => "a folder outside of the project",
            Origin::Project => return problems,
        };
        if !self.sources.contains(source) {
            problems.push(format!(
                "{TABLE}: {name} {version} comes from {source}; take a version that crates.io has"
            ));
        }
        problems.extend(self.check_licence(one));
        problems
    }

    fn check_licence(&self, one: &Crate) -> Option<String> {
        let Crate { name, version, .. } = one;
        let Some(licence) = &one.licence else {
            return Some(format!("{TABLE}: {name} {version} names no licence; take another crate"));
        };
        match licences::are_met(licence, &self.licences) {
            Ok(true) => None,
            Ok(false) => Some(format!(
                "{TABLE}: {name} {version} has the licence {licence}, which is not met by those that are listed; take \
                 another crate, or list a licence that allows what Apache-2.0 does"
            )),
            Err(error) => Some(format!("{TABLE}: the licence of {name} {version} cannot be read: {error}")),
        }
    }

    /// Versions are listed as far as they are incompatible: 1.2.3 is 1, and 0.2.3 is 0.2.
    fn check_versions(&self, crates: &[&Crate]) -> Vec<String> {
        let mut found: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for one in crates {
            found.entry(&one.name).or_default().insert(series(&one.version));
        }
        let listed = |name: &str| self.duplicates.get(name).map(|duplicate| &duplicate.versions);
        let join = |versions: &BTreeSet<String>| versions.iter().cloned().collect::<Vec<_>>().join(", ");
        let several =
            found.iter().filter(|(name, versions)| versions.len() > 1 && listed(name) != Some(*versions));
        let mut problems: Vec<String> = several
            .map(|(name, versions)| {
                format!(
                    "{TABLE}: {name} is there in the versions {}; see who asks for them with `cargo tree --duplicates`, \
                     and have one, or list them with the reason",
                    join(versions)
                )
            })
            .collect();
        let gone =
            self.duplicates.keys().filter(|name| found.get(name.as_str()).is_none_or(|all| all.len() < 2));
        problems.extend(gone.map(|name| {
            format!(
                "{TABLE}: {name} is not there in several versions any longer; remove it from the duplicates"
            )
        }));
        let unexplained = self.duplicates.iter().filter(|(_, duplicate)| duplicate.because.is_empty());
        problems.extend(
            unexplained.map(|(name, _)| format!("{TABLE}: say why {name} is there in several versions")),
        );
        problems
    }
}

/// The part of a version that tells incompatible ones apart (Cargo's reading of Semantic Versioning).
fn series(version: &str) -> String {
    let mut numbers = version.split(['.', '-', '+']);
    match (numbers.next(), numbers.next()) {
        (Some("0"), Some(minor)) => format!("0.{minor}"),
        (major, _) => major.unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = r#"
sources: [registry]
licences: [MIT]
banned: {ring: aws-lc-rs is the one provider}
duplicates:
  syn: {versions: ["1", "2"], because: macros of a take 1}
"#;

    /// What is said of crates `NAME VERSION LICENCE SOURCE`.
    fn check(crates: &[&str]) -> Vec<String> {
        let read = |one: &&str| {
            let words: Vec<String> = one.split_whitespace().map(str::to_owned).collect();
            let [name, version, licence, source] = <[String; 4]>::try_from(words).unwrap();
            Crate { name, version, licence: Some(licence), origin: Origin::Source(source) }
        };
        let crates: Vec<Crate> = crates.iter().map(read).collect();
        let problems = Rules::parse(RULES).unwrap().check(&crates.iter().collect::<Vec<_>>());
        problems.into_iter().map(|problem| problem.replace(&format!("{TABLE}: "), "")).collect()
    }

    const SYN: [&str; 2] = ["syn 1.0.1 MIT registry", "syn 2.0.1 MIT registry"];

    #[track_caller]
    fn finds(one: &str, expected: &str) {
        let problems = check(&[one, SYN[0], SYN[1]]);
        assert!(problems.len() == 1 && problems[0].starts_with(expected), "{problems:#?}");
    }

    #[test]
    fn crates_that_the_table_admits_are_no_problem() {
        assert_eq!(check(&SYN), Vec::<String>::new());
        // Compatible versions are one for cargo; and what is banned goes by the whole name.
        assert_eq!(check(&["ring-io 0.1.0 MIT registry", SYN[0], SYN[1]]), Vec::<String>::new());
    }

    #[test]
    fn a_banned_crate_is_named_with_the_reason_and_what_to_do() {
        finds(
            "ring 0.17.14 MIT registry",
            "ring 0.17.14 is banned: aws-lc-rs is the one provider; see who asks for it with `cargo tree --invert ring`",
        );
    }

    #[test]
    fn a_crate_from_elsewhere_is_named_with_its_source() {
        finds("a 1.0.0 MIT git+https://example.org/a", "a 1.0.0 comes from git+https://example.org/a; take");
    }

    #[test]
    fn a_crate_with_another_licence_is_named_with_it() {
        finds("a 1.0.0 GPL-3.0-only registry", "a 1.0.0 has the licence GPL-3.0-only, which is not met");
        finds("a 1.0.0 (MIT registry", "the licence of a 1.0.0 cannot be read: ");
    }

    #[test]
    fn several_versions_of_a_crate_are_listed_with_a_reason_or_refused() {
        finds("syn 3.0.0 MIT registry", "syn is there in the versions 1, 2, 3; see who asks for them");
        let problems = check(&["a 0.1.5 MIT registry", "a 0.2.0 MIT registry", SYN[0], SYN[1]]);
        assert!(problems[0].starts_with("a is there in the versions 0.1, 0.2; "), "{problems:?}");
        assert!(check(&SYN[1..])[0].starts_with("syn is not there in several versions any longer; remove"));
    }
}
