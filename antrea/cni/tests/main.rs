//! The binary as container runtimes and the init container run it, against an agent that answers from a script.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod agent;
mod install;
mod plugin;
mod specification;
