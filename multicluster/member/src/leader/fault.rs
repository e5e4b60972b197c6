//! What is in the way of the leader, in words that stay the same for as long as the cause does.

use std::fmt;

use antrea_kit::kube_client::{TlsTrouble, Trouble};
use antrea_kit::logging::chain;
use anyhow::Error;

/// Why the leader cannot be asked, as users are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Class {
    /// Its API server does not answer as it should.
    Trouble(Trouble),
    /// There is no use in asking before this is mended.
    NoWay(String),
}

impl Class {
    /// Whether it lasts until somebody mends it. Whatever else is in the way comes and goes, and may show in several ways
    /// that take turns.
    pub const fn lasts(&self) -> bool {
        match self {
            Self::NoWay(_) => true,
            Self::Trouble(trouble) => {
                matches!(trouble, Trouble::Unauthorized | Trouble::Refused(_) | Trouble::NotServed)
            }
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let trouble = match self {
            Self::Trouble(trouble) => trouble,
            Self::NoWay(why) => return f.write_str(why),
        };
        f.write_str(match trouble {
            Trouble::Unreachable => "the leader's API server cannot be reached",
            Trouble::Silent => "the leader's API server did not answer in time",
            Trouble::Tls(tls) => of_tls(*tls),
            Trouble::Unauthorized => "the leader's API server does not accept the token",
            Trouble::Refused(words) => words,
            Trouble::NotServed => {
                "the leader has no such Common Area, or lacks the CustomResourceDefinitions of Multi-cluster"
            }
            Trouble::Failing(code) => {
                return write!(f, "the leader's API server cannot take heartbeats now (HTTP status {code})");
            }
            Trouble::Other => "the answer of the leader's API server cannot be read",
        })
    }
}

const fn of_tls(trouble: TlsTrouble) -> &'static str {
    match trouble {
        TlsTrouble::Expired => "TLS: the certificate of the leader's API server has expired",
        TlsTrouble::NotYetValid => {
            "TLS: the certificate of the leader's API server is not valid yet, by the clock of this cluster"
        }
        TlsTrouble::UnknownIssuer => {
            "TLS: no authority in ca.crt of the Secret has issued the certificate of the leader's API server"
        }
        TlsTrouble::WrongName => {
            "TLS: the certificate of the leader's API server is not for what spec.leaders[0].server names"
        }
        TlsTrouble::Other => "TLS: this cluster and the leader's API server do not agree on a connection",
    }
}

/// What happened to a heartbeat. Two faults of one class are the same, whatever their texts say.
#[derive(Clone, Debug)]
pub struct Fault {
    class: Class,
    text: String,
}

impl Fault {
    /// Of a class, with the text for the log.
    pub const fn new(class: Class, text: String) -> Self {
        Self { class, text }
    }

    /// What an error of a request to the leader tells of.
    pub fn of(error: &Error) -> Self {
        Self::new(Class::Trouble(Trouble::of(error)), chain(error.as_ref()))
    }

    /// There is no use in asking the leader before this is mended.
    pub fn no_way(why: String) -> Self {
        Self::new(Class::NoWay(why.clone()), why)
    }

    /// What users are told.
    pub const fn class(&self) -> &Class {
        &self.class
    }

    /// What the log says.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Fault {
    fn eq(&self, other: &Self) -> bool {
        self.class == other.class
    }
}

impl Eq for Fault {}

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};
    use kube::core::Status;

    use super::*;

    fn answered(code: u16, words: &str) -> Fault {
        let status = Status::failure(words, "Reason").with_code(code).boxed();
        Fault::of(&Err::<(), _>(kube::Error::Api(status)).context("cannot send").unwrap_err())
    }

    #[test]
    fn users_are_told_what_lasts_and_the_log_what_was_said() {
        let (first, second) = (answered(500, "since 10:07"), answered(500, "since 10:08"));
        assert_eq!(first, second);
        assert!(first.text().contains("since 10:07") && second.text().contains("since 10:08"));
        assert_eq!(
            first.class().to_string(),
            "the leader's API server cannot take heartbeats now (HTTP status 500)"
        );
        assert_ne!(first, answered(503, "since 10:08"));
    }

    #[test]
    fn the_words_of_a_refusal_are_told() {
        let refused = answered(403, "10.2.0.0/24 is of cluster east");
        assert_eq!(refused.class().to_string(), "10.2.0.0/24 is of cluster east");
        assert_ne!(refused, answered(403, "10.3.0.0/24 is of cluster east"));
        assert_ne!(refused, Fault::of(&anyhow!("10.2.0.0/24 is of cluster east")));
    }
}
