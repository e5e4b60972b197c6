//! Errors as Kubernetes answers them: a Status, in the encoding that the client asked for.

use antrea_kit::auth::{COME_AGAIN, Refusal};
use antrea_kit::status::shortened;
use antrea_shared_api::meta::{ListMeta, Status, StatusDetails, StatusOutcome};
use hyper::StatusCode;
use hyper::header::RETRY_AFTER;

use super::accept::Format;
use super::answer::{self, Answer};
use super::request::ResourcePath;

/// How long the name of an object can be.
const LONGEST_NAME: usize = 253;

/// Why there is no other answer.
#[derive(Debug)]
pub(crate) struct Failure {
    code: StatusCode,
    message: String,
    details: Option<Box<StatusDetails>>,
}

impl Failure {
    fn new(code: StatusCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: None }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// The text says who may not do what, and why.
    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, message)
    }

    pub(crate) fn no_such_path() -> Self {
        Self::new(StatusCode::NOT_FOUND, "the server could not find the requested resource")
    }

    /// There is no object of that name.
    pub(crate) fn no_such_object(path: &ResourcePath) -> Self {
        let ResourcePath { group, resource, name, .. } = path;
        let details = StatusDetails {
            name: name.clone(),
            group: group.clone(),
            kind: resource.clone(),
            ..StatusDetails::default()
        };
        let message = format!("{resource}.{group} {name:?} not found");
        Self { details: Some(Box::new(details)), ..Self::new(StatusCode::NOT_FOUND, message) }
    }

    pub(crate) fn no_such_method() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, message)
    }

    pub(crate) fn not_acceptable() -> Self {
        let message = "only the following media types are accepted: application/json, \
            application/vnd.kubernetes.protobuf, and application/json;as=Table;v=v1;g=meta.k8s.io where there is a table";
        Self::new(StatusCode::NOT_ACCEPTABLE, message)
    }

    pub(crate) fn unknown_content() -> Self {
        let message = "the body of the request was in an unknown format - accepted media types include: \
            application/json, application/vnd.kubernetes.protobuf";
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message)
    }

    pub(crate) fn target_too_long() -> Self {
        Self::new(
            StatusCode::URI_TOO_LONG,
            "path or query of the request are longer than those of any object",
        )
    }

    pub(crate) fn too_large(most: usize) -> Self {
        let message = format!("Request entity too large: limit is {most}");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    }

    pub(crate) fn body_too_slow() -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "the body of the request did not come in time")
    }

    /// Half of what there is is worse than nothing.
    pub(crate) fn still_filling() -> Self {
        let message =
            "antrea-controller does not know all Nodes, Namespaces, Pods and NetworkPolicies yet; try again";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }

    /// What a token has to say depends on who made it.
    pub(crate) fn unknown_api_server() -> Self {
        let message = "antrea-controller does not know the version of the Kubernetes API server yet, and so not whether \
            tokens name Nodes; try again";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }

    /// Whoever it is has enough.
    pub(crate) fn too_many_watches() -> Self {
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "this client has too many watches at the same time; end some",
        )
    }

    /// A client has too many requests other than watches.
    pub(crate) fn too_many_requests() -> Self {
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "this client has too many requests at the same time; wait for the answer to one",
        )
    }

    pub(crate) fn not_encoded() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "the answer could not be encoded")
    }

    /// The answer. What has no protobuf is JSON.
    pub(crate) fn answer(self, format: Option<Format>) -> Answer {
        let status = Status {
            metadata: ListMeta::default(),
            status: StatusOutcome::Failure,
            message: shortened(&self.message).to_owned(),
            reason: reason(self.code).to_owned(),
            details: self
                .details
                .map(|details| *details)
                .filter(|details| details.name.len() <= LONGEST_NAME),
            code: self.code.as_u16().into(),
        };
        let mut answer = answer::object(self.code, &status, format.unwrap_or(Format::Json));
        if self.code == StatusCode::TOO_MANY_REQUESTS {
            answer.headers_mut().insert(RETRY_AFTER, COME_AGAIN);
        }
        answer
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let (code, message) = refusal.into_parts();
        Self::new(code, message)
    }
}

/// The words of `StatusReason` in Kubernetes.
const fn reason(code: StatusCode) -> &'static str {
    match code {
        StatusCode::BAD_REQUEST => "BadRequest",
        StatusCode::UNAUTHORIZED => "Unauthorized",
        StatusCode::FORBIDDEN => "Forbidden",
        StatusCode::NOT_FOUND => "NotFound",
        StatusCode::METHOD_NOT_ALLOWED => "MethodNotAllowed",
        StatusCode::NOT_ACCEPTABLE => "NotAcceptable",
        StatusCode::REQUEST_TIMEOUT => "Timeout",
        StatusCode::PAYLOAD_TOO_LARGE => "RequestEntityTooLarge",
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "UnsupportedMediaType",
        StatusCode::TOO_MANY_REQUESTS => "TooManyRequests",
        StatusCode::INTERNAL_SERVER_ERROR => "InternalError",
        StatusCode::SERVICE_UNAVAILABLE => "ServiceUnavailable",
        _ => "Unknown",
    }
}
