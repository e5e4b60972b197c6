//! OpenFlow, as a switch sends it.

#[path = "../../../antrea/openflow/tests/any_bytes.rs"]
mod any_bytes;

pub(crate) use any_bytes::check as read;
