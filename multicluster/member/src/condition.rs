//! Conditions: their time changes when their status does, and only then.

use antrea_mc_core::conflict::{cut, shortened};
use antrea_shared_api::multicluster::ConditionStatus;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::objects::{at, text};

/// The longest message of a leader that is written into objects of users: it may have another one for each of them, as often as
/// it likes.
const LONGEST: usize = 1024;
/// The longest reason that API servers take, and what stands in the place of one that they do not.
const LONGEST_REASON: usize = 1024;
const UNSPECIFIED: &str = "Unspecified";

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

    /// A condition that a leader has, in words that an API server takes: otherwise nothing of the status would be written. The
    /// message says whose it is, as it may ask its reader to do something. It is as long as those of leaders are: half of a
    /// command would do something else.
    pub fn of_leader(condition_type: &'static str, status: &str, reason: &str, message: &str) -> Self {
        let status = if ConditionStatus::KNOWN.contains(&status) { status } else { "Unknown" };
        let message = match message {
            "" => String::new(),
            message => format!("the leader says: {}", shortened(message.to_owned())),
        };
        Self::new(condition_type, status, reason_said(reason), message)
    }
}

/// What a leader says, cut where it is too long.
pub fn said(message: &str) -> String {
    cut(message, LONGEST)
}

/// The reason that a leader gives, or another one where an API server would refuse that.
pub fn reason_said(reason: &str) -> &str {
    if is_reason(reason) { reason } else { UNSPECIFIED }
}

/// Whether a text is a reason as Kubernetes has them in conditions.
fn is_reason(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    bytes.len() <= LONGEST_REASON
        && bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.last().is_some_and(is_word)
        && bytes.iter().all(|byte| is_word(byte) || b",:".contains(byte))
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
