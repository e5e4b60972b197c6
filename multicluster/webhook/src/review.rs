//! AdmissionReview as the API server sends it, and what it is answered (`admission.k8s.io/v1`).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::authentication::v1::UserInfo;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::denied::Denied;

/// The version of AdmissionReviews that are answered.
pub(crate) const API_VERSION: &str = "admission.k8s.io/v1";

/// What somebody wants to do.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// Tells requests apart.
    pub uid: String,
    /// As `status`; empty for the object itself.
    #[serde(default)]
    pub sub_resource: String,
    /// The name of the object.
    #[serde(default)]
    pub name: String,
    /// The Namespace of the object.
    #[serde(default)]
    pub namespace: String,
    /// What is to be done.
    pub operation: Operation,
    /// Who wants it.
    #[serde(default)]
    pub user_info: UserInfo,
    /// What the object is to become; `null` when it is to be deleted.
    #[serde(default)]
    pub object: Value,
    /// What it is; `null` when it is to be created.
    #[serde(default)]
    pub old_object: Value,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// There is no object yet.
    Create,
    /// Something of it changes.
    Update,
    /// It goes.
    Delete,
    /// Something is asked of it that changes nothing.
    Connect,
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It may be done.
    Allowed,
    /// It may be done, with these changes (JSON Patch, RFC 6902).
    Patched(Vec<Value>),
    /// It may not.
    Denied(Denied),
}

impl From<Result<(), Denied>> for Verdict {
    fn from(result: Result<(), Denied>) -> Self {
        result.map_or_else(Self::Denied, |()| Self::Allowed)
    }
}

impl Verdict {
    /// The AdmissionReview that answers the request `uid`.
    pub(crate) fn answer(&self, uid: &str) -> Value {
        let response = match self {
            Self::Allowed => json!({ "uid": uid, "allowed": true }),
            Self::Patched(patch) => json!({
                "uid": uid,
                "allowed": true,
                "patchType": "JSONPatch",
                "patch": STANDARD.encode(json!(patch).to_string()),
            }),
            Self::Denied(denied) => json!({
                "uid": uid,
                "allowed": false,
                "status": {
                    "status": "Failure",
                    "code": denied.code(),
                    "reason": denied.reason(),
                    "message": denied.to_string(),
                },
            }),
        };
        json!({ "apiVersion": API_VERSION, "kind": "AdmissionReview", "response": response })
    }
}
