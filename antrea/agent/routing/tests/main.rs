//! What a Node with some peers is routed to be: Nodes as lines in, routes and problems as lines out.

#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod peers;
mod problems;
mod text;
