//! The objects that tell how Antrea itself is.

pub(crate) mod agents;
pub(crate) mod controller;
