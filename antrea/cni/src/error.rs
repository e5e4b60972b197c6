//! Errors as the container runtime reads them: CNI specification, section 5 "Result Types", "Error".

use serde_json::{Value, json};

use crate::proto::{CniCmdResponse, Error, ErrorCode};
use crate::version::CniVersion;

/// Why a CNI command failed: a code for the runtime, and a sentence for the user who reads the Pod's events.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CniError {
    /// What kind of failure it is.
    pub code: ErrorCode,
    /// What failed, where, and what to do about it.
    pub message: String,
}

impl CniError {
    /// An error of the given code.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// An error whose message is `error` with its causes, outermost first. A cause that says the same as what it causes
    /// is told once.
    pub fn from_chain(code: ErrorCode, error: &dyn std::error::Error) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !message.ends_with(&text) {
                message.push_str(": ");
                message.push_str(&text);
            }
            cause = error.source();
        }
        Self { code, message }
    }

    /// The error object that a plugin prints.
    pub fn to_json(&self, version: CniVersion) -> Value {
        json!({ "cniVersion": version.as_str(), "code": self.code as i32, "msg": self.message })
    }
}

impl From<CniError> for CniCmdResponse {
    fn from(error: CniError) -> Self {
        let error = Error { code: error.code.into(), message: error.message };
        Self { cni_result: Vec::new(), error: Some(error) }
    }
}

impl From<Error> for CniError {
    fn from(error: Error) -> Self {
        Self { code: error.code(), message: error.message }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot reserve 10.0.0.2")]
    struct Outer(#[source] io::Error);

    #[test]
    fn an_error_is_printed_as_the_specification_says() {
        let error = CniError::new(ErrorCode::TryAgainLater, "not ready");
        let expected = r#"{"cniVersion":"0.4.0","code":11,"msg":"not ready"}"#;
        assert_eq!(error.to_json(CniVersion::V0_4_0).to_string(), expected);
    }

    #[test]
    fn causes_are_part_of_the_message() {
        let error = CniError::from_chain(ErrorCode::IpamFailure, &Outer(io::Error::other("disk full")));
        assert_eq!(error.message, "cannot reserve 10.0.0.2: disk full");
        let twice = io::Error::other(Outer(io::Error::other("disk full")));
        let error = CniError::from_chain(ErrorCode::IpamFailure, &twice);
        assert_eq!(error.message, "cannot reserve 10.0.0.2: disk full");
    }
}
