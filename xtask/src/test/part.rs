//! Which third of the long tests runs without `--all`: the number of commits picks it, so that three commits in a row
//! run all of them.

use std::process::Command;

use xtask::project;

/// The third, from 1 to 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part(u8);

impl Part {
    /// The one asked for, else that of the commit that is checked out.
    pub(crate) fn choose(asked: Option<u8>) -> Self {
        asked.map_or_else(|| Self::of(number_of_commit()), Self)
    }

    fn of(commits: u64) -> Self {
        Self(u8::try_from(commits % 3).unwrap_or_default() + 1)
    }

    pub(crate) fn number(self) -> u8 {
        self.0
    }
}

/// The number of commits up to this one. Where history is cut off, its name as a number, which picks as evenly; 0 in a copy
/// without Git.
fn number_of_commit() -> u64 {
    let is_shallow = git(&["rev-parse", "--is-shallow-repository"]) == "true";
    let number = if is_shallow {
        let name = git(&["rev-parse", "HEAD"]);
        u64::from_str_radix(name.get(..8).unwrap_or_default(), 16).ok()
    } else {
        git(&["rev-list", "--count", "HEAD"]).parse().ok()
    };
    number.unwrap_or(0)
}

fn git(arguments: &[&str]) -> String {
    let output = Command::new("git").args(arguments).current_dir(project::root()).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_commits_in_a_row_run_all_parts() {
        assert_eq!([540, 541, 542, 543].map(|commits| Part::of(commits).number()), [1, 2, 3, 1]);
        assert_eq!(Part::choose(Some(3)).number(), 3);
    }
}
