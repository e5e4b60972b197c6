//! Packets as bytes: reads those that the switch hands to the agent, writes the answers that refuse a
//! connection, and asks whether others are there.
//! Pure: no socket. Input may be damaged or hostile.

mod checksum;
mod echo;
mod frame;
mod ip;
mod refusal;
mod reset;
mod unreachable;

pub use echo::{Echo, echo_reply, echo_reply_in_frame, echo_request, echo_request_frame};
pub use frame::Unreadable;
pub use refusal::{Unanswered, refusal};
