//! YAML as upstream's library writes it: keys in order, lists indented by two, quotes only where they are needed.

use std::fmt::Write;

use serde_json::Value;

/// Words that YAML 1.1 or 1.2 reads as something else than text.
const WORDS: [&str; 24] = [
    "", "~", "null", "Null", "NULL", "true", "True", "TRUE", "false", "False", "FALSE", "yes", "Yes", "YES",
    "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF", "<<",
];

/// What may not stand at the beginning of text without quotes.
const INDICATORS: &str = "-?:,[]{}#&*!|>'\"%@` ";

pub(super) fn text(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value, 0, Place::Top);
    out
}

/// What a value follows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Top,
    Key,
    Dash,
}

/// Writing to a String cannot fail.
fn write_value(out: &mut String, value: &Value, indent: usize, place: Place) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            begin(out, place, Place::Key);
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            for (index, (name, value)) in fields.into_iter().enumerate() {
                // The first field stands behind the dash of its list.
                let indent_now = if index == 0 && place == Place::Dash { 0 } else { indent };
                let _ = write!(out, "{:indent_now$}{}:", "", scalar(name));
                write_value(out, value, indent + 2, Place::Key);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            begin(out, place, Place::Key);
            for (index, item) in items.iter().enumerate() {
                let indent_now = if index == 0 && place == Place::Dash { 0 } else { indent };
                let _ = write!(out, "{:indent_now$}-", "");
                write_value(out, item, indent + 2, Place::Dash);
            }
        }
        Value::String(text) if text.trim_end_matches('\n').contains('\n') => {
            write_block(out, text, indent, place);
        }
        plain => {
            let blank = if place == Place::Top { "" } else { " " };
            let _ = writeln!(out, "{blank}{}", plain_text(plain));
        }
    }
}

/// A map or a list begins on a line of its own, but for one in a list.
fn begin(out: &mut String, place: Place, own_line: Place) {
    if place == own_line {
        out.push('\n');
    } else if place == Place::Dash {
        out.push(' ');
    }
}

/// Text of several lines as it is, below `|`; the sign behind it says how it ends.
fn write_block(out: &mut String, text: &str, indent: usize, place: Place) {
    let blank = if place == Place::Top { "" } else { " " };
    let body = text.trim_end_matches('\n');
    let end = match text.len() - body.len() {
        0 => "-",
        1 => "",
        _ => "+",
    };
    let shift = if text.starts_with(' ') { "2" } else { "" };
    let _ = writeln!(out, "{blank}|{shift}{end}");
    let lines = if end == "+" { text.strip_suffix('\n').unwrap_or(text) } else { body };
    for line in lines.split('\n') {
        let width = if line.is_empty() { 0 } else { indent };
        let _ = writeln!(out, "{:width$}{line}", "");
    }
}

fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        other => other.to_string(),
    }
}

/// Double quotes for what would be no text, or has no letters of its own; single ones for what would be no value.
fn scalar(text: &str) -> String {
    if is_something_else(text) || text.chars().any(char::is_control) {
        return Value::from(text).to_string();
    }
    if is_broken(text) { format!("'{}'", text.replace('\'', "''")) } else { text.to_owned() }
}

fn is_something_else(text: &str) -> bool {
    WORDS.contains(&text) || is_number(text) || is_time(text)
}

fn is_broken(text: &str) -> bool {
    text.starts_with(|first| INDICATORS.contains(first))
        || text.ends_with([' ', ':'])
        || text.contains(": ")
        || text.contains(" #")
}

/// Also in bases 2, 8, 16 and, as YAML 1.1 has it, 60.
fn is_number(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-']);
    let is_based = |prefix: &str| {
        digits.strip_prefix(prefix).is_some_and(|rest| {
            !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'_')
        })
    };
    let is_decimal = digits.starts_with(|first: char| first.is_ascii_digit() || first == '.')
        && digits.replace('_', "").parse::<f64>().is_ok();
    let is_sexagesimal = digits.contains(':')
        && digits.split(':').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
        && digits.split(':').skip(1).all(|part| part.parse::<u8>().is_ok_and(|part| part < 60));
    let is_word = [".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"].contains(&digits);
    is_decimal || is_sexagesimal || is_word || ["0x", "0o", "0b"].into_iter().any(is_based)
}

/// `2026-11-21`, and whatever follows.
fn is_time(text: &str) -> bool {
    let date: Vec<u8> = text.bytes().take(10).collect();
    let is_date = date.len() == 10
        && date.iter().enumerate().all(|(index, byte)| match index {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    is_date && matches!(text.as_bytes().get(10), None | Some(b'T' | b't' | b' '))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_upstream_prints_is_printed_alike() {
        for (value, upstream) in [
            (
                include_str!("../../tests/golden/upstream/podinterface.json"),
                include_str!("../../tests/golden/upstream/podinterface.yaml"),
            ),
            (
                include_str!("../../tests/golden/upstream/agentinfo.json"),
                include_str!("../../tests/golden/upstream/agentinfo.yaml"),
            ),
        ] {
            assert_eq!(text(&serde_json::from_str(value).unwrap()), upstream);
        }
    }

    #[test]
    fn flows_need_no_quotes() {
        let upstream = include_str!("../../tests/golden/upstream/ovsflows.yaml");
        let flows = upstream.lines().map(|line| json!({"flow": line.strip_prefix("- flow: ").unwrap()}));
        assert_eq!(text(&flows.collect()), upstream);
    }

    #[test]
    fn text_that_would_be_something_else_is_quoted() {
        for word in ["", "true", "12", "1e3", "0x1f", "1:30", "2026-11-21T09:51:04Z"] {
            assert_eq!(text(&json!(word)), format!("\"{word}\"\n"));
        }
        for word in ["- a", "a: b", "a #b", "*.example.com"] {
            assert_eq!(text(&json!(word)), format!("'{word}'\n"));
        }
        assert_eq!(text(&json!("it's: a")), "'it''s: a'\n");
        assert_eq!(text(&json!("- a\t")), "\"- a\\t\"\n");
        for word in ["a", "10.11.0.0/24", "f6:f3:e5:36:f9:32", "3.1.0", "24898ffbbb0d", "a:b", "v1"] {
            assert_eq!(text(&json!(word)), format!("{word}\n"));
        }
    }

    #[test]
    fn several_lines_are_a_block_and_what_is_empty_stands_in_brackets() {
        let value =
            json!({"result": "Flow: ip\n\n  a\n", "none": [], "nothing": {}, "deep": [{"b": [1], "a": 2}]});
        assert_eq!(
            text(&value),
            "deep:\n  - a: 2\n    b:\n      - 1\nnone: []\nnothing: {}\nresult: |\n  Flow: ip\n\n    a\n"
        );
    }
}
