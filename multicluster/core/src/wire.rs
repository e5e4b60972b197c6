//! Between the objects of the Common Area and what the rest of this crate works with.

mod cluster_info;
mod endpoints;
mod export;
mod port;
mod problem;
mod service;
mod status;

pub use cluster_info::{claim_of_announce, claim_of_cluster_info};
pub(crate) use endpoints::read_endpoint;
pub use endpoints::{export_endpoints, import_endpoints};
pub use export::{ParsedExport, Payload, parse_export, resource_of};
pub(crate) use port::read_port;
pub use problem::Problem;
pub(crate) use service::properties_of;
pub use service::{export_service, import_service};
pub use status::{export_conditions, progress};
