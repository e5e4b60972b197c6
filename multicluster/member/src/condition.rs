//! Conditions: their time changes when their status does, and only then.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::objects::{at, text};

/// A condition that is to be in an object's status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// What holds or does not.
    pub condition_type: &'static str,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, in one word.
    pub reason: String,
    /// Why, in a sentence.
    pub message: String,
}

impl Condition {
    /// A condition.
    pub fn new(
        condition_type: &'static str,
        status: impl Into<String>,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self { condition_type, status: status.into(), reason: reason.into(), message: message.into() }
    }
}

/// The conditions of `object` as they should be, those of others included. `now` is when a status changed.
pub fn conditions(object: &Value, wanted: &[Condition], now: Timestamp) -> Value {
    let generation = at(object, "/metadata/generation").cloned();
    let existing = at(object, "/status/conditions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let foreign = existing
        .iter()
        .filter(|there| !wanted.iter().any(|condition| condition.condition_type == text(there, "/type")))
        .cloned();
    let own = wanted.iter().map(|condition| {
        let mut value = written(existing, condition, now);
        value["observedGeneration"] = generation.clone().unwrap_or_default();
        value
    });
    own.chain(foreign).collect::<Vec<_>>().into()
}

/// A condition as it is written beside those that are there.
pub fn written(existing: &[Value], condition: &Condition, now: Timestamp) -> Value {
    let before = existing.iter().find(|there| text(there, "/type") == condition.condition_type);
    let since = before
        .filter(|before| text(before, "/status") == condition.status)
        .map(|before| text(before, "/lastTransitionTime"))
        .filter(|time| !time.is_empty());
    json!({
        "type": condition.condition_type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": since.map_or_else(|| time(now), str::to_owned),
    })
}

/// A time as Kubernetes writes it, to the second.
pub fn time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
