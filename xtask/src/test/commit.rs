//! The commit that is checked out, as git tells.

use std::process::Command;

use xtask::project;

/// Its name, if no file differs from it.
pub(crate) fn clean() -> Option<String> {
    git(&["status", "--porcelain"]).filter(String::is_empty)?;
    git(&["rev-parse", "HEAD"])
}

/// The number of commits up to it, or in a shallow clone its name as a number. None in a copy without git.
pub(crate) fn number() -> Option<u64> {
    let is_shallow = git(&["rev-parse", "--is-shallow-repository"]).is_some_and(|text| text == "true");
    if is_shallow {
        git(&["rev-parse", "HEAD"]).and_then(|name| u64::from_str_radix(name.get(..8)?, 16).ok())
    } else {
        git(&["rev-list", "--count", "HEAD"]).and_then(|count| count.parse().ok())
    }
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).current_dir(project::root()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
