//! The files of the chart have every key there is, also those that the chart never sets: these as comments.

use std::collections::BTreeSet;

use antrea_config::{AgentConfig, ControllerConfig, Key};

use crate::helm::Chart;

/// The paths of all keys that are no sections, those behind a `#` included. Explanations begin with `# `.
fn keys_in(file: &str) -> BTreeSet<String> {
    let mut path: Vec<&str> = Vec::new();
    let mut keys = BTreeSet::new();
    for line in file.lines() {
        let text = line.strip_prefix('#').unwrap_or(line);
        let indentation = text.len() - text.trim_start().len();
        let Some((key, _)) = text.trim_start().split_once(':') else { continue };
        if indentation % 2 == 1 || !key.chars().all(|letter| letter.is_ascii_alphanumeric()) {
            continue;
        }
        path.truncate(indentation / 2);
        keys.remove(&path.join("."));
        path.push(key);
        keys.insert(path.join("."));
    }
    keys
}

fn paths(keys: Vec<Key>) -> BTreeSet<String> {
    keys.into_iter().map(|key| key.path).collect()
}

#[test]
fn keys_are_found_in_values_sections_and_comments() {
    let file =
        "# Explained: here.\na: 1\nb:\n  c: []\n  d:\n    e: f\n#g: 1\n#h:\n#  i: x\n#  j: \"\"\n- k\n";
    let expected = ["a", "b.c", "b.d.e", "g", "h.i", "h.j"].map(str::to_owned);
    assert_eq!(keys_in(file), BTreeSet::from(expected));
}

#[test]
fn the_agents_file_has_every_key() {
    let Some(chart) = Chart::open() else { return };
    assert_eq!(keys_in(&chart.files("").unwrap().agent), paths(AgentConfig::keys()));
}

#[test]
fn the_controllers_file_has_every_key() {
    let Some(chart) = Chart::open() else { return };
    assert_eq!(keys_in(&chart.files("").unwrap().controller), paths(ControllerConfig::keys()));
}

/// A comment is a default only if it says what the program does without it.
#[test]
fn keys_in_comments_say_their_defaults() {
    let Some(chart) = Chart::open() else { return };
    let files = chart.files("").unwrap();
    let uncommented = |file: &str| -> String {
        let lines = file.lines().filter(|line| !line.starts_with("# "));
        lines.map(|line| format!("{}\n", line.strip_prefix('#').unwrap_or(line))).collect()
    };
    assert_eq!(crate::agent(&uncommented(&files.agent)), crate::agent(&files.agent));
    assert_eq!(crate::controller(&uncommented(&files.controller)), crate::controller(&files.controller));
}
