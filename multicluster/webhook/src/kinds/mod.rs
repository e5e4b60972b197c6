//! What may become of the objects of each kind, and by whom.

pub(crate) mod announce;
pub(crate) mod by_field;
pub(crate) mod cluster_set;
pub(crate) mod export;
mod export_networks;
pub(crate) mod gateway;
pub(crate) mod import;
mod owners;
pub(crate) mod token_request;
