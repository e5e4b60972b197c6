//! The difference between what an object says and what it should say, as a JSON Merge Patch (RFC 7396).
//!
//! The leader is the only writer of these parts, so a patch needs no version: a member that reports a status at the same
//! time does not get in its way. What is written down of a member that nobody gives back names the version that it was
//! decided on: a leader that was held up may not know yet that another one leads, and a list is replaced as a whole. A
//! field that is not there any more has to be named, or else it would stay.

use serde::Serialize;
use serde_json::{Map, Value};

/// Part of an object that is to be changed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Change<T> {
    /// The name of the object.
    pub(crate) name: String,
    /// What the part should say.
    pub(crate) wanted: T,
    /// What makes it say so.
    pub(crate) patch: Value,
    /// The only version of the object that it may be made to, where there is one.
    pub(crate) version: Option<String>,
}

impl<T: Serialize> Change<T> {
    /// From `present` to `wanted`; none for what JSON cannot say.
    pub(crate) fn new(name: &str, present: &T, wanted: T) -> Option<Self> {
        let (Ok(from), Ok(to)) = (serde_json::to_value(present), serde_json::to_value(&wanted)) else {
            return None;
        };
        Some(Self { name: name.to_owned(), wanted, patch: difference(&from, &to), version: None })
    }
}

fn difference(from: &Value, to: &Value) -> Value {
    let (Value::Object(from), Value::Object(to)) = (from, to) else { return to.clone() };
    let gone = from.keys().filter(|name| !to.contains_key(*name)).map(|name| (name.clone(), Value::Null));
    let changed = to.iter().filter(|(name, value)| from.get(*name) != Some(value)).map(|(name, value)| {
        let before = from.get(name).unwrap_or(&Value::Null);
        (name.clone(), difference(before, value))
    });
    Value::Object(changed.chain(gone).collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_names_what_changes_and_what_goes() {
        let from = json!({"ready": 2, "total": 2, "list": [1, 2], "inner": {"a": 1, "b": 2}});
        let to = json!({"total": 2, "list": [2], "inner": {"a": 1, "c": 3}, "new": {"d": 4}});
        assert_eq!(
            difference(&from, &to),
            json!({"list": [2], "inner": {"c": 3, "b": null}, "new": {"d": 4}, "ready": null})
        );
        assert_eq!(difference(&to, &to), json!({}));
    }
}
