//! Packets as bytes: reads those that the switch hands to the agent, and writes the answers that refuse a connection.
//! Pure: no socket. Input may be damaged or hostile.

mod checksum;
mod frame;
mod ip;
mod refusal;
mod reset;
mod unreachable;

pub use frame::Unreadable;
pub use refusal::{Unanswered, refusal};
