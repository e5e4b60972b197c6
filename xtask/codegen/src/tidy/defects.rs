//! docs/multicluster/differences.md has every known defect of upstream's Multi-cluster, each with the tests that fail when
//! what prevents it here is taken out; all of these tests exist.

use std::fs;

use anyhow::{Context, Result};

use super::test_names;
use xtask::project;

const PAGE: &str = "docs/multicluster/differences.md";

/// How links of the page begin: from its folder to that of the project.
const ROOT: &str = "../../";

/// Defects that may be answered with a sentence: nothing of this project can have them.
const ARGUED: [&str; 7] = ["B12", "B17", "B18", "B19", "B20", "B23", "B24"];

pub(crate) fn problems() -> Result<Vec<String>> {
    let root = project::root();
    let page = fs::read_to_string(root.join(PAGE)).with_context(|| format!("cannot read {PAGE}"))?;
    Ok(check(&page, |path| fs::read_to_string(root.join(path)).ok()))
}

/// The defects: those that were found by reading, and those that were found by trying.
fn defects() -> Vec<String> {
    let read = (0..=31).map(|number| format!("B{number}"));
    read.chain((1..=6).map(|number| format!("N{number}"))).collect()
}

/// A row of a table: the defect, and what stands in the last column.
type Row<'a> = (&'a str, &'a str);

fn check(page: &str, read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let (rows, defects) = (rows(page), defects());
    let mut problems = Vec::new();
    for defect in &defects {
        let of: Vec<&Row<'_>> = rows.iter().filter(|(name, _)| name == defect).collect();
        match of.as_slice() {
            [row] => problems.extend(check_row(row, &read)),
            [] => problems.push(format!("{PAGE}: says nothing of defect {defect}")),
            _ => problems.push(format!("{PAGE}: has defect {defect} {} times", of.len())),
        }
    }
    let unknown = rows.iter().filter(|(name, _)| !defects.iter().any(|defect| defect == name));
    problems.extend(unknown.map(|(name, _)| format!("{PAGE}: there is no defect {name}")));
    problems
}

/// The rows whose first column is a letter with a number.
fn rows(page: &str) -> Vec<Row<'_>> {
    let row = |line| {
        let (name, rest) = str::strip_prefix(line, "| ")?.split_once(" | ")?;
        let number = name.strip_prefix(['B', 'N'])?;
        let is_defect = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let last = rest.trim_end_matches('|').rsplit(" | ").next()?.trim();
        is_defect.then_some((name, last))
    };
    page.lines().filter_map(row).collect()
}

fn check_row(&(defect, answer): &Row<'_>, read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let tests = tests(answer);
    if tests.is_empty() && (answer.is_empty() || !ARGUED.contains(&defect)) {
        return vec![format!("{PAGE}: defect {defect} has no test")];
    }
    let problem = |(name, link): (&str, &str)| {
        let text = link.strip_prefix(ROOT).and_then(&read);
        match text {
            None => Some(format!("{PAGE}: {link}, where {name} of defect {defect} is to be, cannot be read")),
            Some(text) if !test_names::in_source(&text).contains(name) => {
                Some(format!("{PAGE}: {link} has no test {name}, which defect {defect} names"))
            }
            Some(_) => None,
        }
    };
    tests.into_iter().filter_map(problem).collect()
}

/// The tests that are linked, with their files: ``[`NAME`](FILE)``.
fn tests(answer: &str) -> Vec<(&str, &str)> {
    let links = answer.split("[`").skip(1).filter_map(|text| text.split_once("`]("));
    links.filter_map(|(name, rest)| Some((name, rest.split_once(')')?.0))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "#[test]\n#[ignore = \"slow\"]\nfn one() {}\n\nproptest! {\n    #[test]\n    fn law(x in y()) {}\n}\n\n\
        #[tokio::test]\nasync fn wire() {}\n\nfn helper() {}\n";

    /// A page that is as it should be, with another row instead of that of the same defect.
    fn problems_of(row: &str) -> Vec<String> {
        let (own, _) = row.trim_start_matches("| ").split_once(" | ").unwrap();
        let others = defects().into_iter().filter(|defect| defect != own);
        let others = others.map(|defect| format!("| {defect} | it is so | [`one`](../../a.rs) |\n"));
        let page =
            format!("# Page\n\n| # | x | test |\n|---|---|---|\n{row}\n{}", others.collect::<String>());
        check(&page, |path| (path == "a.rs").then(|| SOURCE.to_owned()))
    }

    #[track_caller]
    fn check_row(row: &str, expected: &[&str]) {
        let expected: Vec<String> = expected.iter().map(|problem| format!("{PAGE}: {problem}")).collect();
        assert_eq!(problems_of(row), expected, "{row}");
    }

    #[test]
    fn every_defect_has_a_test_that_exists() {
        check_row("| B3 | x | [`one`](../../a.rs), [`law`](../../a.rs), [`wire`](../../a.rs) |", &[]);
        check_row(
            "| B3 | x | [`one`](../../a.rs), [`helper`](../../a.rs) |",
            &["../../a.rs has no test helper, which defect B3 names"],
        );
        check_row("| B3 | x | [`on`](../../a.rs) |", &["../../a.rs has no test on, which defect B3 names"]);
        check_row(
            "| N2 | x | [`one`](../../b.rs) |",
            &["../../b.rs, where one of defect N2 is to be, cannot be read"],
        );
    }

    #[test]
    fn only_some_may_be_argued_away() {
        check_row("| B12 | x | there are no such flows |", &[]);
        check_row("| B12 | x |  |", &["defect B12 has no test"]);
        check_row("| B13 | x | nobody does that |", &["defect B13 has no test"]);
    }

    #[test]
    fn no_defect_is_left_out_or_made_up() {
        check_row("| B32 | x | [`one`](../../a.rs) |", &["there is no defect B32"]);
        check_row("| Bx | x | y |", &[]);
        check_row(
            "| B4 | x | [`one`](../../a.rs) |\n| B4 | x | [`one`](../../a.rs) |",
            &["has defect B4 2 times"],
        );
        check_row("| B5 and more | x | [`one`](../../a.rs) |", &[]);
        assert_eq!(check("", |_| None).len(), 38);
    }
}
