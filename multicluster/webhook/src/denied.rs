//! Why something may not be done.

use antrea_shared_api::validation::FieldError;

/// Why something may not be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// The caller may not do it.
    #[error("{0}")]
    Forbidden(String),
    /// Something else has to be there, or to be gone, first.
    #[error("{0}")]
    TooEarly(String),
    /// The object is wrong.
    #[error("{}", list(.0))]
    Invalid(Vec<FieldError>),
    /// The object, or the request, cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// Not enough is known yet to say who may do what.
    #[error("the Multi-cluster controller has not read the {0} of this Namespace yet: try again")]
    Unknown(&'static str),
    /// Nobody knows yet how old the API server is.
    #[error("the Multi-cluster controller does not know the version of the API server yet: try again")]
    UnknownApiServer,
}

impl Denied {
    /// The HTTP status, as upstream has it for those refusals that it knows.
    pub const fn code(&self) -> u16 {
        match self {
            Self::Forbidden(_) => 403,
            Self::TooEarly(_) => 412,
            Self::Invalid(_) => 422,
            Self::Unreadable(_) => 400,
            Self::Unknown(_) | Self::UnknownApiServer => 503,
        }
    }

    /// The word for it among the `StatusReason`s of Kubernetes.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Forbidden(_) => "Forbidden",
            // Kubernetes has no word of its own for it; upstream leaves it out as well.
            Self::TooEarly(_) => "",
            Self::Invalid(_) => "Invalid",
            Self::Unreadable(_) => "BadRequest",
            Self::Unknown(_) | Self::UnknownApiServer => "ServiceUnavailable",
        }
    }

    pub(crate) fn invalid(errors: Vec<FieldError>) -> Result<(), Self> {
        if errors.is_empty() { Ok(()) } else { Err(Self::Invalid(errors)) }
    }
}

/// Refuses what the caller may not do.
pub(crate) fn forbid<T>(why: impl Into<String>) -> Result<T, Denied> {
    Err(Denied::Forbidden(why.into()))
}

fn list(errors: &[FieldError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
