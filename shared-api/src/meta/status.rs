//! Status: the answer when there is no object to answer with, and the last event of a watch that failed.

use serde::{Deserialize, Serialize};

use super::ListMeta;
use crate::api::api_object;
use crate::object::is_default;
use crate::protobuf::message;
use crate::word::closed_word;

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Empty.
    #[serde(default)]
    pub metadata: ListMeta,
    /// Whether it was done.
    pub status: StatusOutcome,
    /// Why not, in a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Why not, in a word, as `NotFound`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What it was about.
    #[serde(default, skip_serializing_if = "is_default")]
    pub details: Option<StatusDetails>,
    /// The HTTP status.
    #[serde(default, skip_serializing_if = "is_default")]
    pub code: i32,
}

closed_word!(
    /// Whether a request was done.
    StatusOutcome "status" {
        /// It was.
        Success = "Success",
        /// It was not.
        Failure = "Failure",
    }
);

/// What a failed request was about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct StatusDetails {
    /// The name of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its API group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Its kind, or what URLs call it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// How long to wait before asking again, in seconds.
    #[serde(skip_serializing_if = "is_default")]
    pub retry_after_seconds: i32,
    /// Its UID.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

message!(Status { 1 metadata, 2 status, 3 message, 4 reason, 5 details, 6 code });
message!(StatusDetails { 1 name, 2 group, 3 kind, 5 retry_after_seconds, 6 uid });
api_object!(Status in "v1");
