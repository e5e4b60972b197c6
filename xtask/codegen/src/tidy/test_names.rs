//! Tests that documents name. Each test in a column `test` or `tests` of a table exists, and each row names one, or says why it
//! needs none.

use std::collections::BTreeSet;
use std::fs;

use anyhow::Result;

use super::files;
use xtask::project;

pub(crate) fn problems() -> Result<Vec<String>> {
    let files = files::tracked_files()?;
    // One that git knows and that is not there any more has nothing to say.
    let read = |path: &String| Some((path.clone(), fs::read_to_string(project::root().join(path)).ok()?));
    let named = |ending: &str| files.iter().filter(|path| path.ends_with(ending)).filter_map(read).collect();
    let (sources, pages): (Vec<_>, Vec<_>) = (named(".rs"), named(".md"));
    let tests: BTreeSet<&str> = sources.iter().flat_map(|(_, source)| in_source(source)).collect();
    Ok(pages.iter().flat_map(|(path, page)| check(path, page, &tests)).collect())
}

/// The functions of a source that are tests.
pub(super) fn in_source(source: &str) -> BTreeSet<&str> {
    let mut tests = BTreeSet::new();
    let mut is_test = false;
    for line in source.lines().map(str::trim_start) {
        if line.starts_with("#[") {
            is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        } else {
            tests.extend(function(line).filter(|_| is_test));
            is_test = false;
        }
    }
    tests
}

/// The name of the function that begins in a line.
fn function(line: &str) -> Option<&str> {
    let signature = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ")?;
    Some(signature.split_once('(')?.0)
}

fn check(path: &str, page: &str, tests: &BTreeSet<&str>) -> Vec<String> {
    let check_row = |row: Row<'_>| -> Vec<String> {
        let problem = |what: String| format!("{path}:{}: {what}", row.line);
        if row.answer.is_empty() {
            return vec![problem("the row names no test, and does not say why it needs none".to_owned())];
        }
        let unknown = names(row.answer).filter(|name| !tests.contains(name));
        unknown.map(|name| problem(format!("there is no test {name}"))).collect()
    };
    rows(page).into_iter().flat_map(check_row).collect()
}

/// A row of a table with a column of tests.
struct Row<'a> {
    line: usize,
    /// What stands in the column of tests.
    answer: &'a str,
}

/// The rows of all tables whose last column is `test` or `tests`.
fn rows(page: &str) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    let mut is_of_tests = false;
    let mut is_in_a_table = false;
    for (number, line) in page.lines().enumerate() {
        let Some(last) = last_cell(line) else {
            is_in_a_table = false;
            continue;
        };
        if !is_in_a_table {
            is_of_tests = matches!(last, "test" | "tests");
        } else if is_of_tests && !last.starts_with("---") {
            rows.push(Row { line: number + 1, answer: last });
        }
        is_in_a_table = true;
    }
    rows
}

/// The last cell of a row that has several.
fn last_cell(line: &str) -> Option<&str> {
    let cells = line.strip_prefix('|')?.trim_end().strip_suffix('|')?;
    Some(cells.rsplit_once('|')?.1.trim())
}

/// What is between backquotes and can be the name of a test: words joined by `_`.
fn names(answer: &str) -> impl Iterator<Item = &str> {
    let is_of_a_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let is_name = move |text: &&str| text.contains('_') && text.bytes().all(is_of_a_name);
    answer.split('`').skip(1).step_by(2).filter(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "#[test]\n#[ignore = \"slow\"]\nfn it_is_so() {}\n\nproptest! {\n    #[test]\n    fn a_law(x in y()) {}\n}\n\n\
        #[tokio::test(flavor = \"multi_thread\")]\nasync fn on_the_wire() {}\n\n#[inline]\nfn a_helper() {}\n";

    #[test]
    fn tests_are_functions_with_their_attribute() {
        assert_eq!(in_source(SOURCE), ["it_is_so", "a_law", "on_the_wire"].into());
    }

    #[track_caller]
    fn check_page(page: &str, expected: &[&str]) {
        assert_eq!(check("a.md", page, &in_source(SOURCE)), expected, "{page}");
    }

    #[test]
    fn every_test_that_a_table_names_exists() {
        let table = "| what | test |\n|---|---|\n| x | `it_is_so`, `a_law` and `on_the_wire` (lab) |\n";
        check_page(table, &[]);
        check_page(
            &format!("{table}| y | `it_is_so`, `it_was_so` |\n"),
            &["a.md:4: there is no test it_was_so"],
        );
        check_page(&format!("{table}| y | `a_helper` |\n"), &["a.md:4: there is no test a_helper"]);
        check_page(
            "| # | what | tests |\n|---|---|---|\n| 1 | x | [`it_was_so`](a.rs) |\n",
            &["a.md:3: there is no test it_was_so"],
        );
    }

    #[test]
    fn what_stands_elsewhere_is_no_test() {
        check_page("| what | file |\n|---|---|\n| `it_was_so` | `it_was_so` |\n\n`it_was_so`\n", &[]);
        check_page("| what | test |\n|---|---|\n| `it_was_so` | by the ClusterRole `antctl` |\n", &[]);
    }

    #[test]
    fn each_row_has_a_test_or_a_reason() {
        let table = "| | what | test |\n|---|---|---|\n";
        check_page(&format!("{table}| can | x | `a_law` |\n| cannot | x | by its role |\n"), &[]);
        for row in ["can", "cannot"] {
            check_page(
                &format!("{table}| {row} | x | |\n"),
                &["a.md:3: the row names no test, and does not say why it needs none"],
            );
        }
    }
}
