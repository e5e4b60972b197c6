//! The leader as a whole, with a folder of object files in the place of an API server.
#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod cluster;
mod converge;
mod leader;
