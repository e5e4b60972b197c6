//! Values of columns: from OVSDB's JSON (RFC 7047 §5.1) to Rust, whole or as the difference an update carries.

use std::collections::{BTreeMap, BTreeSet};

use antrea_types::MacAddr;
use serde_json::Value;

use super::uuid::Uuid;

/// What a server says about a column.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Change<'a> {
    /// The column holds this now.
    Whole(&'a Value),
    /// What to do to the old value (ovsdb-server(7) §4.1.14): a scalar is replaced, of a set the elements are toggled,
    /// of a map the pairs are toggled, or replaced where the value differs.
    Difference(&'a Value),
}

/// A value that does not have the column's type.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{value} is not {wanted}")]
pub(crate) struct BadValue {
    value: String,
    wanted: &'static str,
}

impl BadValue {
    pub(crate) fn new(value: &Value, wanted: &'static str) -> Self {
        Self { value: value.to_string(), wanted }
    }
}

/// The type of a column.
pub(crate) trait Column {
    /// Takes over what the server says.
    fn apply(&mut self, change: Change<'_>) -> Result<(), BadValue>;
}

/// A single value (RFC 7047 `<atom>`).
pub(crate) trait Atom: Sized {
    const NAME: &'static str;
    fn from_json(value: &Value) -> Option<Self>;
}

impl Atom for String {
    const NAME: &'static str = "a string";
    fn from_json(value: &Value) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }
}

impl Atom for i64 {
    const NAME: &'static str = "an integer";
    fn from_json(value: &Value) -> Option<Self> {
        value.as_i64()
    }
}

impl Atom for Uuid {
    const NAME: &'static str = "a UUID";
    fn from_json(value: &Value) -> Option<Self> {
        match value.as_array()?.as_slice() {
            [tag, text] if tag == "uuid" => text.as_str()?.parse().ok(),
            _ => None,
        }
    }
}

fn atom<T: Atom>(value: &Value) -> Result<T, BadValue> {
    T::from_json(value).ok_or_else(|| BadValue::new(value, T::NAME))
}

/// The elements of a set, which is written as the bare atom when it has one.
fn elements(value: &Value) -> &[Value] {
    match value.as_array().map(Vec::as_slice) {
        Some([tag, Value::Array(items)]) if tag == "set" => items,
        _ => std::slice::from_ref(value),
    }
}

fn pairs(value: &Value) -> Result<Vec<(String, String)>, BadValue> {
    let bad = || BadValue::new(value, "a map of strings");
    let items = match value.as_array().map(Vec::as_slice) {
        Some([tag, Value::Array(items)]) if tag == "map" => items,
        _ => return Err(bad()),
    };
    let pair = |item: &Value| match item.as_array().map(Vec::as_slice) {
        Some([key, value]) => Ok((atom(key)?, atom(value)?)),
        _ => Err(bad()),
    };
    items.iter().map(pair).collect()
}

impl Column for String {
    fn apply(&mut self, change: Change<'_>) -> Result<(), BadValue> {
        let (Change::Whole(value) | Change::Difference(value)) = change;
        *self = atom(value)?;
        Ok(())
    }
}

impl Column for i64 {
    fn apply(&mut self, change: Change<'_>) -> Result<(), BadValue> {
        let (Change::Whole(value) | Change::Difference(value)) = change;
        *self = atom(value)?;
        Ok(())
    }
}

/// A set of at most one value is a scalar to the server: a difference is the new value.
impl<T: Atom> Column for Option<T> {
    fn apply(&mut self, change: Change<'_>) -> Result<(), BadValue> {
        let (Change::Whole(value) | Change::Difference(value)) = change;
        *self = elements(value).first().map(atom).transpose()?;
        Ok(())
    }
}

/// The schema lets anybody write any text here. What is no address counts as none, and so is put right by the writer.
impl Column for Option<MacAddr> {
    fn apply(&mut self, change: Change<'_>) -> Result<(), BadValue> {
        let mut text = None::<String>;
        text.apply(change)?;
        *self = text.and_then(|text| text.parse().ok());
        Ok(())
    }
}

impl<T: Atom + Ord> Column for BTreeSet<T> {
    fn apply(&mut self, change: Change<'_>) -> Result<(), BadValue> {
        let new = |value| elements(value).iter().map(atom).collect::<Result<Self, _>>();
        match change {
            Change::Whole(value) => *self = new(value)?,
            Change::Difference(value) => {
                for element in new(value)? {
                    if !self.remove(&element) {
                        self.insert(element);
                    }
                }
            }
        }
        Ok(())
    }
}

impl Column for BTreeMap<String, String> {
    fn apply(&mut self, change: Change<'_>) -> Result<(), BadValue> {
        match change {
            Change::Whole(value) => *self = pairs(value)?.into_iter().collect(),
            Change::Difference(value) => {
                for (key, value) in pairs(value)? {
                    if self.get(&key) == Some(&value) {
                        self.remove(&key);
                    } else {
                        self.insert(key, value);
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use serde_json::json;

    use super::*;

    /// Reads `whole`, applies `difference` to it, and compares both with what is expected.
    #[track_caller]
    fn check<T: Column + Default + Debug>(whole: &Value, expected: &str, difference: &Value, then: &str) {
        let mut column = T::default();
        column.apply(Change::Whole(whole)).unwrap();
        assert_eq!(format!("{column:?}"), expected);
        column.apply(Change::Difference(difference)).unwrap();
        assert_eq!(format!("{column:?}"), then);
    }

    #[test]
    fn scalars_are_replaced() {
        check::<String>(&json!("a"), r#""a""#, &json!("b"), r#""b""#);
        check::<i64>(&json!(1), "1", &json!(-1), "-1");
    }

    #[test]
    fn optional_values_are_replaced_too() {
        check::<Option<i64>>(&json!(["set", []]), "None", &json!(7), "Some(7)");
        check::<Option<i64>>(&json!(["set", [7]]), "Some(7)", &json!(["set", []]), "None");
    }

    #[test]
    fn elements_of_sets_are_toggled() {
        check::<BTreeSet<String>>(&json!("a"), r#"{"a"}"#, &json!(["set", ["a", "b"]]), r#"{"b"}"#);
        check::<BTreeSet<String>>(&json!(["set", []]), "{}", &json!(["set", ["a", "b"]]), r#"{"a", "b"}"#);
    }

    #[test]
    fn pairs_of_maps_are_added_replaced_and_taken_away() {
        check::<BTreeMap<String, String>>(
            &json!(["map", [["a", "1"], ["b", "2"]]]),
            r#"{"a": "1", "b": "2"}"#,
            &json!(["map", [["a", "1"], ["b", "3"], ["c", "4"]]]),
            r#"{"b": "3", "c": "4"}"#,
        );
    }

    #[test]
    fn text_that_is_no_address_counts_as_none() {
        let garbage = json!("not a mac");
        check::<Option<MacAddr>>(&json!("0a:00:00:00:00:01"), "Some(0a:00:00:00:00:01)", &garbage, "None");
    }

    #[test]
    fn values_of_another_type_are_named() {
        let error = String::new().apply(Change::Whole(&json!(1))).unwrap_err();
        assert_eq!(error.to_string(), "1 is not a string");
    }
}
