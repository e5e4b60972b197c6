//! What of antrea-controller is measured for itself, without its process.

pub mod endpoint_query;
