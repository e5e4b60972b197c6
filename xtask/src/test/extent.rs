//! How much of the tests runs. Without `--all` the commit picks a third of the long ones.

use antrea_e2e::scenario::{self, Part};
use anyhow::{Context, Result};

use super::commit;

/// How much is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// What `.ci/run` runs: everything short, and a third of the long lab tests.
    Standard(Part),
    /// Also the other thirds, repeated faults, the demos, a lab with cgroup v2 alone, and Kubernetes' own specs.
    All,
}

impl Extent {
    /// That third, or else the one that the checked out commit picks.
    ///
    /// # Errors
    /// When git does not know the commit.
    pub(crate) fn standard(asked: Option<Part>) -> Result<Self> {
        let picked = || commit::number().map(of);
        let part = asked.or_else(picked);
        part.map(Self::Standard).context("git does not tell the number of commits: choose a part with --part")
    }

    /// Whether a test runs that needs two versions of the Multi-cluster controller.
    pub(crate) fn has_two_versions(self) -> bool {
        match self {
            Self::Standard(part) => part == scenario::PART_OF_TWO_VERSIONS,
            Self::All => true,
        }
    }

    /// The value of `ANTREA_E2E` for the lab tests.
    pub(crate) fn variable(self) -> String {
        match self {
            Self::Standard(part) => format!("part-{}", part.number()),
            Self::All => "all".to_owned(),
        }
    }
}

/// Three commits in a row run all parts.
fn of(commits: u64) -> Part {
    let [first, second, third] = Part::ALL;
    match commits % 3 {
        0 => first,
        1 => second,
        _ => third,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_commits_in_a_row_run_all_parts() {
        assert_eq!([540, 541, 542, 543].map(|commits| of(commits).number()), [1, 2, 3, 1]);
    }

    #[test]
    fn the_lab_tests_are_told_the_extent_in_their_own_terms() {
        let extent = Extent::standard(Some(Part::Three)).unwrap();
        assert_eq!(extent.variable(), "part-3");
        assert!(extent.has_two_versions() && !Extent::Standard(Part::One).has_two_versions());
    }
}
