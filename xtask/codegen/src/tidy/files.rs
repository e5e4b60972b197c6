//! Rules of single files: a first line that says what the file is for, a bounded length, no machine's paths.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use xtask::project;

/// No file of ours comes near a thousand lines; one above this is more than one idea.
const LONGEST: usize = 450;

/// Text that speaks of a machine or of where packages come from, written in pieces so that this file passes.
const FOREIGN: [&str; 5] = [
    concat!("/", "root/"),
    concat!("/", "work/"),
    concat!("proxy.", "golang.org"),
    concat!("deb.", "debian.org"),
    concat!("static.", "crates.io"),
];

pub(crate) fn problems() -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for path in tracked_files()? {
        let Ok(text) = std::fs::read_to_string(project::root().join(&path)) else { continue };
        problems.extend(check(&path, &text));
    }
    Ok(problems)
}

/// The files that git tracks or would track, sorted.
pub(super) fn tracked_files() -> Result<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(project::root())
        .output()
        .context("cannot run git")?;
    ensure!(output.status.success(), "git ls-files failed: {}", String::from_utf8_lossy(&output.stderr));
    let mut paths: Vec<String> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    paths.sort();
    Ok(paths)
}

fn check(path: &str, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if Path::new(path).extension().is_some_and(|extension| extension == "rs") {
        if !text.starts_with("//! ") {
            problems.push(format!("{path}:1: the first line must be a `//!` that says what the file is for"));
        }
        let lines = text.lines().count();
        if lines > LONGEST {
            problems.push(format!("{path}: {lines} lines, more than {LONGEST}: split it by idea"));
        }
    }
    let is_recorded = ["/golden/", "/corpus/"].iter().any(|folder| path.contains(folder));
    let generated = path.ends_with("Cargo.lock") || path.ends_with("go.sum") || is_recorded;
    if !generated {
        for (number, line) in text.lines().enumerate() {
            problems.extend(line_problems(path, number + 1, line));
        }
    }
    problems
}

fn line_problems(path: &str, number: usize, line: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if let Some(foreign) = FOREIGN.iter().find(|foreign| line.contains(*foreign)) {
        problems.push(format!("{path}:{number}: {foreign:?} does not belong into the project"));
    }
    if line.ends_with(' ') && !path.ends_with(".snap") {
        problems.push(format!("{path}:{number}: white space at the end of the line"));
    }
    if says_skipped_otherwise(path, line) {
        problems.push(format!(
            "{path}:{number}: a test is skipped by println!(\"SKIPPED {{test}}: {{reason}}\")"
        ));
    }
    problems
}

/// Whether a test says in another way than `cargo xtask test` understands that it was skipped: it would count as
/// passed.
fn says_skipped_otherwise(path: &str, line: &str) -> bool {
    let in_a_test = path.ends_with(".rs") && !path.starts_with("xtask/");
    in_a_test && line.contains("\"SKIPPED") && !line.contains("println!(\"SKIPPED {")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_it_is_for() {
        assert!(check("a.rs", "//! What it is for.\n").is_empty());
        assert_eq!(
            check("a.rs", "use std::fmt;\n"),
            ["a.rs:1: the first line must be a `//!` that says what the file is for"]
        );
    }

    #[test]
    fn a_long_file_is_named() {
        let text = format!("//! Long.\n{}", "\n".repeat(LONGEST));
        assert_eq!(check("a.rs", &text), ["a.rs: 451 lines, more than 450: split it by idea"]);
    }

    #[test]
    fn a_test_is_skipped_in_one_way() {
        let says = |path: &str, line: &str| says_skipped_otherwise(path, line);
        assert!(says("a/tests/a.rs", "println!(\"SKIPPED: {reason}\");"));
        assert!(says("a/tests/a.rs", "err.write_all(format!(\"SKIPPED {name}: {reason}\"));"));
        assert!(!says("a/tests/a.rs", "    println!(\"SKIPPED {}: {reason}\", name);"));
        assert!(!says("xtask/src/test/libtest.rs", "const SKIPPED: &str = \"SKIPPED \";"));
    }

    #[test]
    fn paths_of_a_machine_are_named_with_their_line() {
        let text = format!("fine\n{}x\n", FOREIGN[0]);
        assert_eq!(
            check("a.md", &text),
            [format!("a.md:2: {:?} does not belong into the project", FOREIGN[0])]
        );
    }
}
