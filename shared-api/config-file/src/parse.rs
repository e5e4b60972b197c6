//! YAML text into the raw struct of a file. What does not fit is told with place, key and what is allowed.

use serde::de::DeserializeOwned;
use serde_saphyr::Error;

use crate::error::{ConfigError, Problem};

/// Reads `text`, the content of `file`. A file that holds nothing but comments is one without keys.
pub fn parse<T: DeserializeOwned + Default>(file: &str, text: &str) -> Result<T, ConfigError> {
    serde_saphyr::from_str::<Option<T>>(text)
        .map(Option::unwrap_or_default)
        .map_err(|error| ConfigError { file: file.to_owned(), problems: vec![problem(&error, text)] })
}

fn problem(error: &Error, text: &str) -> Problem {
    let error = error.without_snippet();
    let (line, column) = error.location().map_or((0, 0), |location| (location.line(), location.column()));
    Problem { line, column, message: message(error, &key_on_line(text, line)) }
}

fn message(error: &Error, key: &str) -> String {
    match error {
        Error::SerdeUnknownField { field, expected, .. } => unknown_key(field, expected),
        Error::DuplicateMappingKey { key: duplicate, .. } => {
            let duplicate = duplicate.as_deref().unwrap_or(key);
            format!("{duplicate}: the key is there twice; remove one of them")
        }
        Error::InvalidScalar { ty, .. } => format!("{key}: {} is wanted here", kind(ty)),
        Error::SerdeInvalidType { unexpected, expected, .. } => {
            format!("{key}: {expected} is wanted here, not {unexpected}")
        }
        Error::Unexpected { expected, .. } => format!("{key}: {} is wanted here", kind(expected)),
        Error::MultipleDocuments { .. } => "---: one document is wanted, not several".to_owned(),
        other => format!("{key}: {}", first_line(&other.render())),
    }
}

/// The words for what a value should have been.
fn kind(name: &str) -> &str {
    match name {
        "bool" | "boolean" => "true or false",
        "i64" | "integer" => "a whole number",
        "f64" | "float" => "a number",
        "string scalar" => "a single value",
        "mapping start" => "a section with keys",
        "sequence start" => "a list",
        other => other,
    }
}

fn unknown_key(field: &str, expected: &[&str]) -> String {
    let nearest = expected.iter().map(|key| (distance(field, key), *key)).min();
    let allowed = expected.join(", ");
    match nearest {
        Some((distance, key)) if distance <= 2 || distance * 4 <= field.len() => {
            format!("{field}: there is no such key, did you mean {key}? Allowed here: {allowed}")
        }
        _ => format!("{field}: there is no such key. Allowed here: {allowed}"),
    }
}

/// How many characters have to be changed, added or removed to get from one word to the other, case aside.
fn distance(from: &str, to: &str) -> usize {
    let (from, to) = (from.to_lowercase(), to.to_lowercase());
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for (index, left) in from.chars().enumerate() {
        let mut diagonal = index;
        let mut previous = index + 1;
        let mut next = vec![previous];
        for (above, right) in row.iter().skip(1).zip(to.chars()) {
            let value = (diagonal + usize::from(left != right)).min(previous + 1).min(above + 1);
            diagonal = *above;
            previous = value;
            next.push(value);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

/// The key that a line of YAML sets: the parser knows the place of a bad value, not its name.
fn key_on_line(text: &str, line: u64) -> String {
    let index = usize::try_from(line).ok().and_then(|line| line.checked_sub(1));
    let content = index.and_then(|index| text.lines().nth(index)).unwrap_or_default();
    let name = content.split(':').next().unwrap_or_default().trim().trim_start_matches("- ");
    if name.is_empty() { "YAML".to_owned() } else { name.to_owned() }
}

/// The first line without the place at its end, which is told already.
fn first_line(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    line.split_once(" at line ").map_or(line, |(message, _)| message)
}
