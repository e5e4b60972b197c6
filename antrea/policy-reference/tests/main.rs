//! Tests of the reference: cases from the API documentation, what is drawn at random, shrinking.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod cases;
mod choices;
mod random;
mod shrinking;
