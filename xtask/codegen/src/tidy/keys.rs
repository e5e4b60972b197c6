//! docs/configuration.md has every key of both configuration files, and no other.

use std::collections::BTreeSet;
use std::fs;

use antrea_config::{AgentConfig, ControllerConfig};
use anyhow::{Context, Result};

use xtask::project;

const PAGE: &str = "docs/configuration.md";

/// The feature gates have a chapter of their own.
const GATES: &str = "featureGates";

pub(crate) fn problems() -> Result<Vec<String>> {
    let page =
        fs::read_to_string(project::root().join(PAGE)).with_context(|| format!("cannot read {PAGE}"))?;
    let files =
        [("antrea-agent.conf", AgentConfig::keys()), ("antrea-controller.conf", ControllerConfig::keys())];
    let check_file = |(file, keys): (&str, Vec<antrea_config::Key>)| {
        let keys = keys.into_iter().map(|key| key.path).filter(|key| key != GATES).collect();
        check(file, chapter(&page, file), &keys)
    };
    Ok(files.into_iter().flat_map(check_file).collect())
}

fn check(file: &str, chapter: &str, keys: &BTreeSet<String>) -> Vec<String> {
    let documented = documented(chapter);
    let mut problems = Vec::new();
    for key in keys.iter().filter(|key| !documented.iter().any(|shown| covers(shown, key))) {
        problems.push(format!("{PAGE}: says nothing of {key} of {file}"));
    }
    for shown in documented.iter().filter(|shown| !keys.iter().any(|key| covers(shown, key))) {
        problems.push(format!("{PAGE}: {file} has no {shown}"));
    }
    problems
}

/// From its heading to the next of the same level.
fn chapter<'a>(page: &'a str, title: &str) -> &'a str {
    let start = page.split_once(&format!("\n## {title}\n")).map_or("", |(_, text)| text);
    start.split_once("\n## ").map_or(start, |(chapter, _)| chapter)
}

/// The keys in the first column of every table. `.b` after `a.x` is `a.b`.
fn documented(chapter: &str) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    let cells = chapter.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    for cell in cells {
        let mut section = "";
        for word in cell.split('`').step_by(2).filter(|word| !word.is_empty()) {
            match word.strip_prefix('.') {
                Some(key) => keys.insert(format!("{section}.{key}")),
                None => {
                    section = word.rsplit_once('.').map_or("", |(section, _)| section);
                    keys.insert(word.to_owned())
                }
            };
        }
    }
    keys
}

/// Whether what is shown is the key, or `SECTION.*` that it is in.
fn covers(shown: &str, key: &str) -> bool {
    let section = shown.strip_suffix('*');
    section.map_or(shown == key, |section| key.starts_with(section))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# P\n\n## a.conf\n\n### One\n\n| key | default |\n|---|---|\n| `x` | `1` |\n\
                        | `s.a`, `.b.c` (both) | `y`, `.d` |\n| `t.*` | |\n\n## b.conf\n\n| `q` | |\n";

    fn check_keys(keys: &[&str]) -> Vec<String> {
        check("a.conf", chapter(PAGE, "a.conf"), &keys.iter().map(|key| (*key).to_owned()).collect())
    }

    #[test]
    fn keys_that_are_left_out_are_named() {
        assert_eq!(
            check_keys(&["x", "s.a", "s.b.c", "t.u", "t.v", "q"]),
            ["docs/configuration.md: says nothing of q of a.conf"]
        );
    }

    #[test]
    fn keys_that_are_gone_are_named() {
        assert_eq!(check_keys(&["x", "s.a", "s.b.c"]), ["docs/configuration.md: a.conf has no t.*"]);
    }
}
