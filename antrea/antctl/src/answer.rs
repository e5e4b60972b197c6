//! Parts of answers, which are JSON.

use serde_json::Value;

/// The text of a field of a field; empty where there is none.
pub(crate) fn inner(value: &Value, outer: &str, name: &str) -> String {
    value.get(outer).map(|value| field(value, name)).unwrap_or_default()
}

/// The text of a field; empty where there is none.
pub(crate) fn field(value: &Value, name: &str) -> String {
    match value.get(name) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// The texts of a list.
pub(crate) fn list(value: &Value, name: &str) -> Vec<String> {
    let items = value.get(name).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// What stands in a list, or the one that is not in any.
pub(crate) fn items(answer: &Value) -> Vec<&Value> {
    match answer {
        Value::Array(items) => items.iter().collect(),
        Value::Null => Vec::new(),
        one => vec![one],
    }
}
