//! Refusals byte by byte, and what is not answered.

#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod damage;
mod refusal;
mod request;
