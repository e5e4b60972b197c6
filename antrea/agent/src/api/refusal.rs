//! Why a question is not answered.

use antrea_kit::server::Answer;
use antrea_kit::status::status;
use hyper::StatusCode;

/// Why a question is not answered, and whose fault that is.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("{0}")]
    BadRequest(String),
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    Unavailable(String),
}

impl Refusal {
    /// The Pod network is being set up.
    pub(super) fn starting() -> Self {
        Self::Unavailable("the agent is starting: its log says what it waits for".to_owned())
    }

    pub(super) fn into_answer(self) -> Answer {
        let code = match self {
            Self::BadRequest(_) => StatusCode::BAD_REQUEST,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        status(code, &self.to_string())
    }
}
