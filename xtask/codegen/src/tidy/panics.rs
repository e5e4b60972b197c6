//! A program that panics ends. Tasks that nobody waits for rest on that, and so does docs/security.md.

use std::fs;

use anyhow::{Context, Result};

use xtask::project;

const MANIFEST: &str = "Cargo.toml";

pub(crate) fn problems() -> Result<Vec<String>> {
    let path = project::root().join(MANIFEST);
    let manifest = fs::read_to_string(path).with_context(|| format!("cannot read {MANIFEST}"))?;
    Ok(check(&manifest))
}

/// Of the profile alone: those of packages have no such key.
fn check(manifest: &str) -> Vec<String> {
    let mut tables = manifest.split("\n[");
    let release = tables.find_map(|table| table.strip_prefix("profile.release]"));
    let ends = release.is_some_and(|table| table.lines().any(|line| line == "panic = \"abort\""));
    let problem = || {
        format!(
            "{MANIFEST}: profile.release lacks panic = \"abort\": a task that panicked would just be gone"
        )
    };
    if ends { Vec::new() } else { vec![problem()] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_the_program() {
        assert_eq!(problems().unwrap(), Vec::<String>::new());
        let elsewhere =
            "[workspace]\n\n[profile.release]\nstrip = \"symbols\"\n\n[profile.dev]\npanic = \"abort\"\n";
        assert_eq!(check(elsewhere).len(), 1);
        assert_eq!(check(&elsewhere.replace("strip = \"symbols\"", "panic = \"abort\"")).len(), 0);
    }
}
