//! What Pods ask the network and what they say of the answers. Both sides are this program: antctl writes the questions
//! into a Pod's manifest and reads its log.

pub(in crate::check) mod ask;
pub(in crate::check) mod serve;

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where Pods answer.
pub(in crate::check) const PORT: u16 = 8080;

/// One question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::check) struct Question {
    /// `ADDRESS:PORT`, `[ADDRESS]:PORT` or `NAME:PORT`.
    pub(in crate::check) target: String,
    pub(in crate::check) wanted: Wanted,
}

/// What is wanted of who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::check) enum Wanted {
    /// A connection to one of our servers, and back all that is sent to it, in packets as large as may be.
    Echo,
    /// A connection, or a refusal: either shows that packets come and go.
    Contact,
    /// A connection.
    Connection,
}

/// What is printed of a question: a line of JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::check) struct Answer {
    /// Which question, counted from 0.
    pub(in crate::check) index: usize,
    /// None when it was answered as wanted.
    pub(in crate::check) failure: Option<Failure>,
}

/// Why a question was not answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::check) enum Failure {
    /// Nothing came back.
    NoAnswer,
    /// Somebody is there, and nobody listens.
    Refused,
    /// The connection was made, then what was sent did not come back.
    Stalled,
    /// The name is not known.
    UnknownName(String),
    /// Anything else, in the words of the kernel.
    Other(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAnswer => f.write_str("no answer"),
            Self::Refused => f.write_str("the connection is refused"),
            Self::Stalled => f.write_str("connected, but large packets do not come back"),
            Self::UnknownName(error) => write!(f, "the name cannot be resolved ({error})"),
            Self::Other(error) => f.write_str(error),
        }
    }
}

/// Reads the log of a Pod that was given `asked` questions. A question that it does not mention was not answered, and
/// neither is one asked by a Pod that was never heard of.
pub(in crate::check) fn read(log: &str, asked: usize) -> Vec<Option<Failure>> {
    let answers: Vec<Answer> = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let told = |index| answers.iter().find(|answer| answer.index == index);
    let silent = || Some(Failure::Other("the Pod that was to ask said nothing".to_owned()));
    (0..asked).map(|index| told(index).map_or_else(silent, |answer| answer.failure.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_without_a_line_has_failed() {
        let log = "{\"index\":1,\"failure\":null}\nnoise\n{\"index\":0,\"failure\":\"NoAnswer\"}\n";
        let answers = read(log, 3);
        assert_eq!(answers[0], Some(Failure::NoAnswer));
        assert_eq!(answers[1], None);
        assert_eq!(answers[2].as_ref().unwrap().to_string(), "the Pod that was to ask said nothing");
    }
}
