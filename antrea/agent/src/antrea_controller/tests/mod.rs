//! The way to the controller against controllers that run, over TLS: as they are, as they fail, and as they lie.

mod agent;
mod api;
mod enforced;
mod faults;
mod moves;
mod recorded;
mod reports;
mod scripted;
mod watches;
