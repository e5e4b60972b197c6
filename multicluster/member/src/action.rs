//! Requests that bring objects about, and what has to change in one that is there.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::kind::Kind;
use crate::objects::{Key, at, text};

/// One request. Written for an operator, it is `create Service shop/antrea-mc-web` and the like.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// The object is not there.
    Create(Key, Value),
    /// It is there, and differs in this (JSON Merge Patch, RFC 7396).
    Patch(Key, Value),
    /// Its status differs in this.
    PatchStatus(Key, Value),
    /// It is there, and is not wanted; the UID that it had is checked, so that nobody else's object is deleted.
    Delete(Key, String),
}

impl Action {
    /// The object.
    pub const fn key(&self) -> &Key {
        match self {
            Self::Create(key, _) | Self::Patch(key, _) | Self::PatchStatus(key, _) | Self::Delete(key, _) => {
                key
            }
        }
    }

    /// What is missing still after this patch, which the API server has answered with the object. Whoever wants the same
    /// as before would send that next. Of what was to be created somebody else's object may be there.
    pub fn missing_from(&self, answer: &Value) -> Option<Self> {
        match self {
            Self::Patch(key, patch) => Some(Self::Patch(key.clone(), bound_difference(answer, patch)?)),
            Self::PatchStatus(key, patch) => {
                Some(Self::PatchStatus(key.clone(), bound_difference(answer, &unversioned(patch))?))
            }
            Self::Create(..) | Self::Delete(..) => None,
        }
    }

    /// Whether both ask for the same, be it over different versions of the object or at different times.
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::PatchStatus(key, patch), Self::PatchStatus(other, others)) => {
                key == other && timeless(unversioned(patch)) == timeless(unversioned(others))
            }
            _ => self == other,
        }
    }

    /// Deletes an object that is there.
    pub fn delete(key: &Key, object: &Value) -> Self {
        Self::Delete(key.clone(), text(object, "/metadata/uid").to_owned())
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create(key, object) => write!(f, "create {key}{}", Shown(object)),
            Self::Patch(key, patch) => write!(f, "patch {key}{}", Shown(patch)),
            Self::PatchStatus(key, patch) => write!(f, "patch status of {key}{}", Shown(patch)),
            Self::Delete(key, _) => write!(f, "delete {key}"),
        }
    }
}

/// An object without what its key says already, one field a line.
struct Shown<'a>(&'a Value);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = ["/apiVersion", "/kind", "/metadata/name", "/metadata/namespace", "/metadata/uid"];
        show(f, "", self.0, &known)
    }
}

fn show(f: &mut fmt::Formatter<'_>, path: &str, value: &Value, known: &[&str]) -> fmt::Result {
    match value {
        _ if known.contains(&path) => Ok(()),
        Value::Object(fields) if path.matches('/').count() < 2 => {
            fields.iter().try_for_each(|(name, value)| show(f, &format!("{path}/{name}"), value, known))
        }
        value => write!(f, "\n  {}: {value}", path.trim_start_matches('/').replace('/', ".")),
    }
}

/// Brings an object about: creates it where it is not there, patches it where it differs. `wanted` has the fields that
/// are owned; `null` stands for one that must not be there. All others are left to whoever owns them.
pub fn ensure(kind: Kind, actual: Option<&Value>, wanted: &Value) -> Option<Action> {
    let key = Key::of(kind, wanted);
    let Some(actual) = actual else {
        return Some(Action::Create(key, without_nulls(wanted)));
    };
    let mut wanted = wanted.clone();
    if let Some(fields) = wanted.as_object_mut() {
        // What the key says already. Items of lists come without it.
        fields.retain(|name, _| name != "apiVersion" && name != "kind");
    }
    Some(Action::Patch(key, bound_difference(actual, &wanted)?))
}

/// Brings the status of an object about that is there. A list of conditions that others write to is written over the
/// version that was read: what they say meanwhile is not lost.
pub fn ensure_status(key: &Key, actual: &Value, status: &Value) -> Option<Action> {
    let mut patch = bound_difference(actual, &json!({ "status": status }))?;
    let is_shared = matches!(key.kind, Kind::ServiceExport | Kind::ServiceImport);
    if is_shared && at(&patch, "/status/conditions").is_some() {
        let version = text(actual, "/metadata/resourceVersion");
        if !version.is_empty() {
            patch["metadata"]["resourceVersion"] = version.into();
        }
    }
    Some(Action::PatchStatus(key.clone(), patch))
}

/// A patch of whichever version of the object is there.
fn unversioned(patch: &Value) -> Value {
    let mut patch = patch.clone();
    if let Some(metadata) = patch.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.shift_remove("resourceVersion");
    }
    patch
}

/// Conditions without the times at which they changed.
fn timeless(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(name, _)| name != "lastTransitionTime")
            .map(|(name, value)| (name, timeless(value)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) => items.into_iter().map(timeless).collect::<Vec<_>>().into(),
        value => value,
    }
}

/// A patch that names the UID is refused where the object was deleted and made anew by somebody else.
fn bound_difference(actual: &Value, wanted: &Value) -> Option<Value> {
    let mut patch = difference(actual, wanted)?;
    if let Some(uid) = at(actual, "/metadata/uid") {
        patch["metadata"]["uid"] = uid.clone();
    }
    Some(patch)
}

/// The merge patch that brings `wanted` about; nothing where `actual` has it all.
pub fn difference(actual: &Value, wanted: &Value) -> Option<Value> {
    let (Value::Object(actual), Value::Object(wanted)) = (actual, wanted) else {
        return (!covers(actual, wanted)).then(|| without_nulls(wanted));
    };
    let mut patch = Map::new();
    for (name, wanted) in wanted {
        match actual.get(name) {
            None | Some(Value::Null) if is_nothing(wanted) => {}
            None | Some(Value::Null) => {
                patch.insert(name.clone(), without_nulls(wanted));
            }
            Some(actual) => {
                patch.extend(difference(actual, wanted).map(|difference| (name.clone(), difference)));
            }
        }
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

/// Whether `actual` has everything that is wanted; items of a list are compared one by one.
fn covers(actual: &Value, wanted: &Value) -> bool {
    match (actual, wanted) {
        (Value::Object(_), Value::Object(_)) => difference(actual, wanted).is_none(),
        (Value::Array(actual), Value::Array(wanted)) => {
            actual.len() == wanted.len()
                && actual.iter().zip(wanted).all(|(actual, wanted)| covers(actual, wanted))
        }
        (actual, wanted) => actual == wanted || is_nothing(actual) && is_nothing(wanted),
    }
}

/// API servers leave empty values out.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_nothing),
        _ => false,
    }
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.clone(), without_nulls(value)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(without_nulls).collect::<Vec<_>>().into(),
        value => value.clone(),
    }
}

/// A value of which everything is owned, at every depth.
pub fn exactly(actual: Option<&Value>, wanted: &Value) -> Value {
    match (actual, wanted) {
        (Some(Value::Object(actual)), Value::Object(wanted)) => {
            let mut exact: Map<String, Value> = wanted
                .iter()
                .map(|(name, wanted)| (name.clone(), exactly(actual.get(name), wanted)))
                .collect();
            for name in actual.keys() {
                exact.entry(name.clone()).or_insert(Value::Null);
            }
            exact.into()
        }
        (Some(Value::Array(actual)), Value::Array(wanted)) if actual.len() == wanted.len() => {
            let items = actual.iter().zip(wanted);
            items.map(|(actual, wanted)| exactly(Some(actual), wanted)).collect::<Vec<_>>().into()
        }
        (_, wanted) => wanted.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(actual: &Value, wanted: &Value, patch: &Value) {
        let difference = difference(actual, wanted);
        assert_eq!(difference.as_ref().unwrap_or(&Value::Null), patch);
    }

    #[test]
    fn fields_of_others_are_left_alone() {
        check(&json!({"a": 1, "b": {"c": 2, "d": 3}}), &json!({"b": {"c": 2}}), &Value::Null);
        check(&json!({"a": 1, "b": {"c": 2, "d": 3}}), &json!({"b": {"c": 4}}), &json!({"b": {"c": 4}}));
    }

    #[test]
    fn what_must_not_be_there_is_removed() {
        check(&json!({"a": 1, "b": 2}), &json!({"a": null, "c": null}), &json!({"a": null}));
    }

    #[test]
    fn lists_are_replaced_as_a_whole_and_compared_by_what_is_owned() {
        let actual = json!({"ports": [{"port": 80, "nodePort": 30000}]});
        check(&actual, &json!({"ports": [{"port": 80}]}), &Value::Null);
        check(&actual, &json!({"ports": [{"port": 81}]}), &json!({"ports": [{"port": 81}]}));
        check(
            &actual,
            &json!({"ports": [{"port": 80, "nodePort": null}]}),
            &json!({"ports": [{"port": 80}]}),
        );
    }

    #[test]
    fn nothing_is_as_good_as_empty() {
        check(&json!({}), &json!({"a": [], "b": {"c": null}, "d": null}), &Value::Null);
        check(&json!({"a": [], "b": {}}), &json!({"a": null, "b": null}), &Value::Null);
        check(&json!({"a": [1]}), &json!({"a": []}), &json!({"a": []}));
    }

    #[test]
    fn a_list_of_conditions_is_written_over_the_version_that_was_read() {
        let actual = json!({ "metadata": { "uid": "one", "resourceVersion": "7" } });
        let version =
            |kind, status: &Value| match ensure_status(&Key::new(kind, "shop", "web"), &actual, status) {
                Some(Action::PatchStatus(_, patch)) => text(&patch, "/metadata/resourceVersion").to_owned(),
                other => panic!("{other:?}"),
            };
        let conditions = json!({ "conditions": [{ "type": "Ready" }] });
        assert_eq!(version(Kind::ServiceExport, &conditions), "7");
        assert_eq!(version(Kind::ServiceImport, &conditions), "7");
        assert_eq!(version(Kind::ServiceImport, &json!({ "clusters": [{ "cluster": "east" }] })), "");
        assert_eq!(version(Kind::ClusterSet, &conditions), "", "nobody else writes it");
    }

    #[test]
    fn what_is_owned_at_every_depth_loses_what_is_not_wanted() {
        let actual = json!({"a": "0", "b": "2", "c": [{"d": 1, "e": 2}]});
        let wanted = json!({"a": "1", "c": [{"d": 1}]});
        let exact = exactly(Some(&actual), &wanted);
        check(&actual, &exact, &json!({"a": "1", "b": null, "c": [{"d": 1}]}));
        check(&wanted, &exact, &Value::Null);
    }
}
