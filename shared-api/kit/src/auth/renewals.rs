//! Which tokens of a connection count as renewals: none before one was good, one at a time afterwards, and none any more once one
//! was refused. So an admitted connection has one made-up token at a time in the queue that is for good ones.

use super::loopback::TokenHash;

/// What is known of the tokens of a connection.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Renewals {
    #[default]
    BeforeTheFirst,
    Awaited,
    /// The requests that came with it wait for the same review.
    UnderReview {
        token: TokenHash,
        requests: usize,
    },
    Refused,
}

impl Renewals {
    /// The client was allowed something.
    pub(crate) fn admit(&mut self) {
        if *self == Self::BeforeTheFirst {
            *self = Self::Awaited;
        }
    }

    /// Whether an unknown token counts as a renewal; its review begins then.
    pub(crate) fn begin(&mut self, of: TokenHash) -> bool {
        match self {
            Self::Awaited => *self = Self::UnderReview { token: of, requests: 1 },
            Self::UnderReview { token, requests } if *token == of => *requests += 1,
            _ => return false,
        }
        true
    }

    /// A request no longer waits for the review.
    pub(crate) fn end(&mut self) {
        match self {
            Self::UnderReview { requests: 1, .. } => *self = Self::Awaited,
            Self::UnderReview { requests, .. } => *requests -= 1,
            _ => {}
        }
    }

    /// The token under review is not valid.
    pub(crate) fn refuse(&mut self) {
        *self = Self::Refused;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs steps such as `admit`, `begin a`, `end`, `refuse`; says of each token whether it counted as a renewal.
    fn check(script: &str, expected: &str) {
        let mut renewals = Renewals::default();
        let mut counted = Vec::new();
        for step in script.split(", ") {
            match step.split_once(' ').unwrap_or((step, "")) {
                ("admit", _) => renewals.admit(),
                ("begin", token) => {
                    counted.push(if renewals.begin(TokenHash::of(token)) { "yes" } else { "no" });
                }
                ("end", _) => renewals.end(),
                ("refuse", _) => renewals.refuse(),
                _ => panic!("{step}"),
            }
        }
        assert_eq!(counted.join(" "), expected, "{script}");
    }

    #[test]
    fn tokens_are_renewed_one_after_the_other_until_one_is_refused() {
        check("begin a", "no");
        check("admit, begin a, end, begin b, end, admit, begin c", "yes yes yes");
        check("admit, begin a, begin b, begin a, end, begin b, end, begin b", "yes no yes no yes");
        check("admit, begin a, refuse, end, begin b, admit, begin b", "yes no no");
    }
}
